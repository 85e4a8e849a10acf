//go:build !failpoint

// Package failpoint lets a test end a program at a named point, as kill -9 would, and
// change what a test cannot wait for. In a program built without the tag "failpoint" it
// does nothing and costs nothing: what is shipped has no such points.
package failpoint

// Hit marks that the program passes the point called name.
func Hit(name string) {}

// Setting returns what a test set for home under name, or nothing.
func Setting(home, name string) string { return "" }
