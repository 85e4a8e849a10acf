package awpcmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/render"
	"github.com/awp-suite/awp/ipc"
)

func statusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "status [flags]",
		Long: `Show this agent's identity, its addresses and its peers, with unread messages and
notices counted apart. It does not start the daemon: when none runs, the exit code is 3.`,
		Example: `awp status
			awp status --json`,
		Args: positionals(0, 0),
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		conn, err := a.attach(c.Context())
		if awp.CodeOf(err) == awp.Unreachable {
			return a.notRunning()
		}
		if err != nil {
			return err
		}
		status, err := ipc.Status.Call(c.Context(), conn, ipc.None{})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(status)
		}
		return a.write(render.Status(nil, status, time.Now()))
	}
	return c
}

func (a *app) notRunning() error {
	var err error
	if a.json {
		err = a.printJSON(struct {
			Running bool `json:"running"`
		}{})
	} else {
		err = a.printf("awp daemon is not running; awp up starts it\n")
	}
	if err != nil {
		return err
	}
	return exit(exitNotRunning)
}

func addressCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "address [flags]",
		Long: `Print the address to share: tailcat's when there is one, else the first listener's.
Who has it can knock; share it like a password.`,
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
		switch {
		case address == "" && status.TailcatError != "":
			return &awp.Error{Code: awp.NotFound, Message: "no address: tailcat: " + status.TailcatError, Hint: "awp up --listen tcp:HOST:PORT listens elsewhere, after awp down"}
		case address == "" && status.TailcatEnabled:
			return &awp.Error{Code: awp.NotFound, Message: "no address yet: tailcat is starting", Hint: "awp up waits for it"}
		case address == "":
			return &awp.Error{Code: awp.NotFound, Message: "no address: nothing is listened on", Hint: "awp down, then awp up --listen ADDR"}
		case a.json:
			return a.printJSON(struct {
				Address   string   `json:"address"`
				Addresses []string `json:"addresses"`
			}{address, status.Addresses})
		}
		return a.printf("%s\n", render.Line(address))
	}
	return c
}
