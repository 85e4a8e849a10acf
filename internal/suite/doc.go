// Package suite tests the suite as a whole: the real programs, started as a person starts
// them, in homes of their own, and killed at random moments and at named points. It has
// no code but tests, and it looks into no database: it asks the store.
//
// The programs are built with the tag failpoint, see that package. By default the tests
// are short; AWP_SUITE_ROUNDS=n makes the kill tests kill n times each, and
// AWP_SUITE_SEED=n repeats a run's random choices.
package suite
