package awpcmd

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/config"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

// completeWithin bounds the whole of a completion: somebody waits at a prompt.
const completeWithin = 500 * time.Millisecond

func completionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "completion [flags] bash|zsh|fish|powershell",
		Long: `Print a script that completes awp's commands and flags in a shell, and the names of
peers, threads and states as a running daemon knows them. The script for bash needs the
package bash-completion.`,
		Example: `source <(awp completion bash)
			awp completion zsh > "${fpath[1]}/_awp"
			awp completion fish > ~/.config/fish/completions/awp.fish`,
		Args:      positionals(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		script := map[string]func(*cobra.Command, io.Writer) error{
			"bash":       bashScript,
			"zsh":        (*cobra.Command).GenZshCompletion,
			"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
			"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
		}[args[0]]
		if script == nil {
			return usagef("no completion for %q", args[0])
		}
		var out bytes.Buffer
		if err := script(a.tree(), &out); err != nil {
			return err
		}
		return a.write(out.Bytes())
	}
	return c
}

// bashScript is cobra's script, made to keep words with an @ in one piece: most peers'
// names have one, and bash takes such words apart as it does those with : and =.
func bashScript(root *cobra.Command, w io.Writer) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const special = `__awp_handle_special_char "$cur" :`
	_, err := strings.NewReplacer(
		`-n =:`, `-n =:@`,
		special, special+"\n    "+strings.TrimSuffix(special, ":")+"@",
	).WriteString(w, script.String())
	return err
}

// complete answers the shell's script. It asks a running daemon and starts none.
func (a *app) complete(ctx context.Context, request string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	root := a.tree()
	root.SetArgs(append([]string{request}, args...))
	return root.ExecuteContext(ctx)
}

type completions = []cobra.Completion

// completePeer completes the first positional, a peer.
func (a *app) completePeer(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.peerNames(c), cobra.ShellCompDirectiveNoFileComp
}

// completeThread completes the first positional, a thread.
func (a *app) completeThread(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.threadIDs(c), cobra.ShellCompDirectiveNoFileComp
}

// completeState completes the positionals of state: [peer] thread state.
func (a *app) completeState(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	var words completions
	switch len(args) {
	case 0:
		words = append(a.threadIDs(c), a.peerNames(c)...)
	case 1:
		words = append(states(), a.threadIDs(c)...)
	case 2:
		words = states()
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeFlags completes the values of these flags, by what their names say they take.
func (a *app) completeFlags(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, typed string) (completions, cobra.ShellCompDirective) { //nolint:errcheck // the flag is there
			return a.flagWords(c, name, typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func (a *app) flagWords(c *cobra.Command, name, typed string) completions {
	switch name {
	case "thread":
		return a.threadIDs(c)
	case "state":
		return listed(states(), typed)
	case "harness":
		return config.Harnesses()
	case "accept":
		return completions{config.AcceptAny, config.AcceptAllowlist}
	}
	return a.peerNames(c)
}

// listed completes the last of several words with commas between them.
func listed(words completions, typed string) completions {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var all completions
	for _, w := range words {
		if !slices.Contains(strings.Split(before, ","), w) {
			all = append(all, before+w)
		}
	}
	return all
}

func (a *app) peerNames(c *cobra.Command) completions {
	var words completions
	for _, p := range fetch(c.Context(), a, ipc.Peers, ipc.None{}) {
		word := p.Label()
		if !harmless(word) {
			word = p.Short
		}
		words = append(words, cobra.CompletionWithDesc(word, render.PeerState(p)))
	}
	return words
}

func (a *app) threadIDs(c *cobra.Command) completions {
	var words completions
	for _, th := range fetch(c.Context(), a, ipc.Threads, ipc.ThreadsParams{}) {
		if harmless(string(th.Th)) {
			words = append(words, cobra.CompletionWithDesc(string(th.Th), render.Clip(render.Line(th.Subject), 48)))
		}
	}
	return words
}

func states() completions {
	return completions{wire.StateOpen, wire.StateWorking, wire.StateWaiting, wire.StateDone, wire.StateFailed, wire.StateClosed}
}

// harmless reports whether a word that a peer chose may stand on a command line as it
// is. The shell puts completions there unquoted: a name like $(…) must not get that far.
func harmless(word string) bool {
	return render.Arg(word) == word && !strings.HasPrefix(word, "-")
}

// fetch lists what a running daemon knows, and nothing if there is none.
func fetch[P, E any](ctx context.Context, a *app, m ipc.Stream[P, []E, ipc.None], params P) []E {
	c, err := a.attach(ctx)
	if err != nil {
		return nil
	}
	all, err := collect(ctx, c, m, params)
	if err != nil && awp.CodeOf(err) != "" {
		return nil
	}
	return all
}
