//go:build !darwin

package transport

// maxPath is the longest path of a Unix socket, in bytes: sun_path has 108 with its
// closing zero.
const maxPath = 107
