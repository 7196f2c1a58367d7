// Leads posts leads to the Lead Intake Service from the command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"leads.example/leads-cli/internal/cli"
	"leads.example/leads-cli/internal/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the command in order, a second one at once.
	context.AfterFunc(ctx, stop)
	deps := cli.Deps{
		StdinIsTerminal:  terminal.Is(os.Stdin),
		StdoutIsTerminal: terminal.Is(os.Stdout),
		StderrIsTerminal: terminal.Is(os.Stderr),
	}
	if deps.StdinIsTerminal && deps.StderrIsTerminal {
		deps.ReadSecret = func(ctx context.Context) (string, error) { return terminal.ReadSecret(ctx, os.Stdin) }
	}
	os.Exit(cli.Run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr, deps))
}
