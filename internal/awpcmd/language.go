package awpcmd

import (
	"path/filepath"
	"strings"
)

// language guesses the language of a code file as Markdown fences call it. An extension
// that says nothing else is the best guess itself.
func language(path string) string {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	switch base := filepath.Base(path); {
	case base == "Makefile" || base == "GNUmakefile":
		return "make"
	case base == "Dockerfile" || base == "Containerfile":
		return "dockerfile"
	}
	switch ext {
	case "patch":
		return "diff"
	case "py", "pyi":
		return "python"
	case "js", "mjs", "cjs":
		return "javascript"
	case "ts", "mts", "cts":
		return "typescript"
	case "rb":
		return "ruby"
	case "rs":
		return "rust"
	case "sh", "bash", "zsh":
		return "sh"
	case "h":
		return "c"
	case "cc", "cxx", "hpp", "hh":
		return "cpp"
	case "cs":
		return "csharp"
	case "kt", "kts":
		return "kotlin"
	case "pl", "pm":
		return "perl"
	case "ex", "exs":
		return "elixir"
	case "hs":
		return "haskell"
	case "md":
		return "markdown"
	case "yml":
		return "yaml"
	case "htm":
		return "html"
	case "mk":
		return "make"
	case "txt", "log":
		return ""
	}
	for _, r := range ext {
		if (r < 'a' || 'z' < r) && (r < '0' || '9' < r) {
			return ""
		}
	}
	return ext
}
