package awpcmd

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/grant"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
	"github.com/awp-suite/awp/wire"
)

func grantCommand(a *app) *cobra.Command {
	var ttl time.Duration
	c := &cobra.Command{
		Use: "grant [flags] <peer> <capability>...",
		Long: `Give a peer capabilities for a time: exec, fs:read, fs:write, introduce or admin. The peer
gets the grant at once, or when it is next connected; it need not have been met yet, if
its whole key is given.

exec and fs:write let the other agent run code on this machine. Grant them only when your
user agrees, and for a short time.`,
		Example: `awp grant builder fs:read --ttl 2h
			awp grant builder exec --ttl 30m
			awp grant coordinator introduce fs:read`,
		Args:              positionals(2, 1+len(grant.Capabilities())),
		ValidArgsFunction: a.completeGrant,
	}
	c.Flags().DurationVar(&ttl, "ttl", wire.GrantTTL, "how long it lasts: `DURATION`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if ttl < time.Second {
			return usagef("--ttl must be a second or more")
		}
		g, err := repeat(c.Context(), a, ipc.Grant, ipc.GrantParams{Token: newToken(), Who: args[0], Caps: args[1:], TTL: ttl.Milliseconds()})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(g)
		}
		return a.printf("granted %s to %s until %s (grant %s)\n", render.Line(strings.Join(g.Caps, ", ")), g.Sub.Short(), render.Until(g.Exp, time.Now()), g.Hash)
	}
	return c
}

func grantsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "grants [flags]",
		Long: `List grants: issued (by you), held (given to you) and presented (shown to you by peers,
about themselves). A grant that names whom it is for counts there only. Expired and revoked
ones, which no longer count, are listed for a while.`,
		Example: `awp grants
			awp grants --json`,
		Args: positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		grants, err := list(c.Context(), a, ipc.Grants, ipc.None{})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(grants)
		}
		return a.write(render.Grants(nil, grants, time.Now()))
	}
	return c
}

func revokeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "revoke [flags] <hash>",
		Long: `Stop honoring a grant, by the hash that awp grants shows; its first 4 characters do if no
other begins so. What the peer asks for from now on is denied, also when it presents its
copy again. Other peers that trust you honor the copy until it expires. A grant that you
hold is presented no more.`,
		Example: `awp revoke 3f9a1c2e
			awp revoke 3f9a1c2e --json`,
		Args:              positionals(1, 1),
		ValidArgsFunction: a.completeRevoke,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := ask(c.Context(), a, ipc.Revoke, ipc.RevokeParams{Hash: args[0]}) // twice is once
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(r.Grants)
		}
		for _, g := range r.Grants[:min(1, len(r.Grants))] {
			args[0] = g.Hash
		}
		return a.printf("revoked %s\n", render.Line(args[0]))
	}
	return c
}

func introduceCommand(a *app) *cobra.Command {
	params := ipc.IntroduceParams{}
	var thread string
	var ttl time.Duration
	c := &cobra.Command{
		Use: "introduce [flags] <to> <peer> [<capability>...]",
		Long: `Send TO the key and an address of PEER, with a grant that PEER honors if it granted you
introduce: TO is let in there, with those of the capabilities that you may pass on. The
grant says nothing to anybody else, you included. Nobody connects by itself: TO is told,
and decides.

TO must be connected. With --thread the introduction is queued like a message.`,
		Example: `awp introduce worker-1 worker-2
			awp introduce worker-1 worker-2 fs:read --ttl 1h
			awp introduce worker-1 worker-2 --thread thr_9k2abcd`,
		Args:              positionals(2, 2+len(grant.Capabilities())),
		ValidArgsFunction: a.completeIntroduce,
	}
	c.Flags().StringVarP(&thread, "thread", "t", "", "`THREAD` with TO to say it in")
	c.Flags().DurationVar(&ttl, "ttl", wire.GrantTTL, "how long the grant lasts: `DURATION`")
	a.completeFlags(c, "thread")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := notEmpty(c, "thread"); err != nil {
			return err
		}
		if ttl < time.Second {
			return usagef("--ttl must be a second or more")
		}
		params.Token, params.To, params.Who, params.Caps = newToken(), args[0], args[1], args[2:]
		params.Thread, params.TTL = awp.ThreadID(thread), ttl.Milliseconds()
		sent, err := repeat(c.Context(), a, ipc.Introduce, params)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(sent.Sent)
		}
		a.noteUnread(sent)
		return a.printf("introduced %s to %s\n", render.Line(args[1]), render.Line(sent.Label))
	}
	return c
}

// completeGrant completes a peer, then capabilities.
func (a *app) completeGrant(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.peerNames(c), cobra.ShellCompDirectiveNoFileComp
	}
	return left(grant.Capabilities(), args[1:]), cobra.ShellCompDirectiveNoFileComp
}

// completeIntroduce completes two peers, then capabilities.
func (a *app) completeIntroduce(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	if len(args) < 2 {
		return left(a.peerNames(c), args), cobra.ShellCompDirectiveNoFileComp
	}
	return left(grant.Capabilities(), append([]string{grant.Introduce}, args[2:]...)), cobra.ShellCompDirectiveNoFileComp
}

// completeRevoke completes the hash of a grant that counts.
func (a *app) completeRevoke(c *cobra.Command, args []string, _ string) (completions, cobra.ShellCompDirective) {
	var words completions
	if len(args) == 0 {
		for _, g := range fetch(c.Context(), a, ipc.Grants, ipc.None{}) {
			if g.Revoked.IsZero() && time.Now().Before(g.Exp) {
				words = append(words, cobra.CompletionWithDesc(g.Hash, g.Role+" "+render.Line(strings.Join(g.Caps, ","))))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// left returns the words that were not used yet.
func left(words, used []string) (rest completions) {
	for _, w := range words {
		word, _, _ := strings.Cut(w, "\t")
		if !slices.Contains(used, word) {
			rest = append(rest, w)
		}
	}
	return rest
}
