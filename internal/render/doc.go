// Package render turns the suite's records into text for people: events, tables, ages,
// sizes. It is pure: it reads no clock and no environment and writes nowhere; the time,
// the zone and the text to show are arguments.
//
// Names, subjects, notes and messages come from peers, and what is shown here ends on a
// terminal or in a model's context. So every string passes [Line] or [Body] on its way
// out: what could move the cursor, reorder what is read or hide text is spelled out. And
// a body is indented, so that no line of it can pass for one of ours.
package render
