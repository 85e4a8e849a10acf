// Package awp is the vocabulary of the Agent Wire Protocol suite: the nouns that
// every program of the suite shares, with their spellings.
//
// A home is a directory that holds one agent's identity and everything it must not
// lose. An agent's identity is its [Key]. Other agents are peers. Two agents talk in
// threads, each a conversation about one piece of work, made of lines: messages,
// states, grants. A line that must arrive is reliable: it stays in the outbox on disk
// until the peer acknowledged it, and the peer acknowledges only what it has stored.
//
// The package imports the standard library only. It opens nothing, keeps nothing and
// knows no protocol: how lines look between hosts is package wire, how programs of one
// host talk is package ipc.
package awp
