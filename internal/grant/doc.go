// Package grant holds the rules of grants (PROTOCOL.md section 13), as pure code: what a
// valid one is, and what a peer may do by those that a home knows of.
//
//	[Decode]      a stranger's bytes → a Grant whose signature is good
//	[New]         the owner's will → a signed Grant
//	[Book.Allows] what a peer holds on us now: attenuated, for us, one level deep
//	[Request]     which capability a part of a message asks to use
//
// A grant is valid until it expires or is revoked. Time is an argument everywhere: a mark
// that a message got stands, whatever its grant becomes later.
//
// It stores nothing, sends nothing, and believes nothing that is not signed.
package grant
