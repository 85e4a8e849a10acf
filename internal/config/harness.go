package config

import (
	"errors"
	"slices"
)

// harnesses are the programs that agents run in: the id of each, then the other names it
// goes by.
var harnesses = [][]string{
	{"claude", "claude-code", "claudecode", "claude_code"},
	{"opencode", "open-code"},
	{"codex", "codex-cli", "openai-codex"},
	{"cursor", "cursor-agent", "cursor-cli"},
	{"gemini", "gemini-cli", "geminicli"},
	{"copilot", "copilot-cli", "github-copilot", "gh-copilot"},
	{"grok", "grok-cli"},
	{"pi", "pi-agent", "pi-coding-agent"},
}

// Harnesses returns the ids of the harnesses.
func Harnesses() []string {
	ids := make([]string, len(harnesses))
	for i, names := range harnesses {
		ids[i] = names[0]
	}
	return ids
}

// parseHarness returns the id of the harness that goes by that name.
func parseHarness(name string) (string, error) {
	for _, names := range harnesses {
		if slices.Contains(names, name) {
			return names[0], nil
		}
	}
	return "", errors.New("unknown harness")
}
