package awpcmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

func addressCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "address [flags]",
		Long: `Print the address to share: tailcat's when there is one, else a listener's. Who has it can
knock; share it like a password.`,
		Example: `awp address
			ssh box awp connect "$(awp address)"`,
		Args: positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		status, err := ask(c.Context(), a, ipc.Status, ipc.None{})
		if err != nil {
			return err
		}
		address := render.Address(status)
		if address == "" {
			return noAddress(status)
		}
		a.noteAddress(status)
		if a.json {
			return a.printJSON(struct {
				Address   string   `json:"address"`
				Addresses []string `json:"addresses"`
			}{address, status.Addresses})
		}
		return a.printf("%s\n", render.Line(address))
	}
	return c
}

// noteAddress warns where the address to share is none, or says nothing to others.
func (a *app) noteAddress(s awp.Status) {
	address := render.Address(s)
	if address == "" {
		a.note("note: %v", noAddress(s))
	} else if instead := render.Wildcard(address); instead != "" {
		a.note("note: %s", instead)
	}
}

// noAddress says why a home has nothing to share, and what to do about it.
func noAddress(s awp.Status) error {
	e := &awp.Error{
		Code:    awp.NotFound,
		Message: "no address: " + strings.Join(render.NoAddress(s), "; "),
		Hint:    "awp down, then awp up --listen ADDR listens elsewhere",
	}
	if s.WireAway {
		e.Hint = "ask again in a moment; awp doctor says what keeps it away"
	} else if s.TailcatEnabled && s.TailcatError == "" {
		e.Hint = "awp up waits for tailcat"
	}
	return e
}
