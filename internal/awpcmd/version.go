package awpcmd

import (
	"github.com/spf13/cobra"

	"github.com/awp-suite/awp"
)

func versionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "version [flags]",
		Long:    `Print the release of the suite and the version of the protocol it speaks.`,
		Example: `awp version`,
		Args:    positionals(0, 0),
	}
	c.RunE = func(*cobra.Command, []string) error {
		if a.json {
			return a.printJSON(struct {
				Version  string `json:"version"`
				Protocol string `json:"protocol"`
			}{awp.Release, awp.Protocol})
		}
		return a.printf("awp %s (protocol %s)\n", awp.Release, awp.Protocol)
	}
	return c
}
