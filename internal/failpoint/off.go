//go:build !failpoint

// Package failpoint lets a test end a program at a named point, as kill -9 would. In a
// program built without the tag "failpoint" it does nothing and costs nothing: what is
// shipped has no such points.
package failpoint

// Hit marks that the program passes the point called name.
func Hit(name string) {}
