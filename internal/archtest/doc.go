// Package archtest holds the laws of the tree as tests: who may import whom, what a
// program may link, how a package and a program introduce themselves. Each law says why.
// The package has no code of its own and nothing imports it.
//
// A law that stands in the way is changed together with DESIGN.md, by a page in doc/adr;
// it is never given an exception that only the code knows.
package archtest
