// Package nettest tests what needs a network of its own: homes that meet over tailcat,
// through a relay, as real programs. It has no code besides its tests.
//
// The test binary starts itself again in a network namespace where only loopback is,
// made by the kernel for this run and gone with it: nothing leaves the machine, ports
// cannot collide, and a network may be cut. Root is not needed where user namespaces are
// allowed. `make test-net` runs it; elsewhere its tests skip.
package nettest
