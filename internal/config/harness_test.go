package config

import "testing"

func TestHarness(t *testing.T) {
	for name, want := range map[string]string{
		"claude": "claude", "claude-code": "claude", "claudecode": "claude", "claude_code": "claude",
		"opencode": "opencode", "open-code": "opencode",
		"codex": "codex", "codex-cli": "codex", "openai-codex": "codex",
		"cursor": "cursor", "cursor-agent": "cursor", "cursor-cli": "cursor",
		"gemini": "gemini", "gemini-cli": "gemini", "geminicli": "gemini",
		"copilot": "copilot", "copilot-cli": "copilot", "github-copilot": "copilot", "gh-copilot": "copilot",
		"grok": "grok", "grok-cli": "grok",
		"pi": "pi", "pi-agent": "pi", "pi-coding-agent": "pi",
	} {
		if got, err := parseHarness(name); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"emacs", "", "claude code", "Codex", "pi@box"} {
		if got, err := parseHarness(name); err == nil {
			t.Errorf("%q: got %q", name, got)
		}
	}
}
