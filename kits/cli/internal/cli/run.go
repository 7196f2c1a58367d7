// Package cli is the command leads: its arguments, what it says, and its exit codes.
package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"leads.example/leads-go"
)

const (
	// Version is the version of leads-cli, as it stands in the User-Agent.
	Version = "0.1.0"
	// product names the program in the User-Agent and in request ids.
	product = "leads-cli"
)

// The exit codes.
const (
	ExitDone    = 0
	ExitRefused = 1
	ExitUsage   = 2
	// ExitLater is EX_TEMPFAIL of sysexits.h: the same command may do later. A command
	// that a signal has stopped is of this kind, too.
	ExitLater = 75
)

// Deps is what a command takes from the world beside its arguments. Its zero value
// is an ordinary process without a terminal.
type Deps struct {
	// NewClient makes a client, [leads.New] when nil.
	NewClient func(options ...leads.Option) (*leads.Client, error)
	// Clock and Random replace time and jitter when they are not nil.
	Clock  leads.Clock
	Random func() float64

	StdinIsTerminal  bool
	StdoutIsTerminal bool
	StderrIsTerminal bool
	// ReadSecret reads a line from the terminal without showing it; nil where there is
	// no terminal to ask on.
	ReadSecret func(ctx context.Context) (string, error)
}

// An invocation is one run of one command.
type invocation struct {
	ctx     context.Context
	command *command
	options options
	args    []string
	lookup  func(string) (string, bool)
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	deps    Deps
}

// Run runs the command that args name, without the program's own name, and returns
// its exit code. lookup gives variables of the environment.
func Run(
	ctx context.Context, args []string, lookup func(string) (string, bool),
	stdin io.Reader, stdout, stderr io.Writer, deps Deps,
) int {
	if deps.NewClient == nil {
		deps.NewClient = leads.New
	}
	out := &output{Writer: stdout}
	in := &invocation{ctx: ctx, lookup: lookup, stdin: stdin, stdout: out, stderr: stderr, deps: deps}
	// Before the arguments are understood, too, a failure is told in the form asked for.
	in.options.json = slices.Contains(args, "--json")
	code := ExitDone
	if err := in.run(args); err != nil {
		code = in.fail(err)
	}
	if out.failed {
		fmt.Fprintln(stderr, "leads: Standard output cannot be written, and not all was told. To repeat the command under the same idempotency keys is safe, and tells.")
		if code == ExitDone {
			code = ExitLater
		}
	}
	return code
}

// keyInText finds what looks like a key, of any prefix that keys of the service have.
var keyInText = regexp.MustCompile(`(?:lead|form)_(?:live|test)_[0-9A-Za-z]{16,}`)

func (in *invocation) run(args []string) error {
	if slices.ContainsFunc(args, keyInText.MatchString) {
		return usageError("An argument holds an API key, and arguments are seen by everybody on this machine and kept in the shell's history. " +
			"Give the key by LEADS_API_KEY, --key-file FILE, or at the prompt. If others could have seen it, have it replaced.")
	}
	if len(args) == 0 {
		fmt.Fprint(in.stderr, overview())
		return silent(ExitUsage)
	}
	name := args[0]
	switch name {
	case "-h", "--help":
		name = "help"
	case "--version":
		name = "version"
	}
	if in.command = findCommand(name); in.command == nil {
		return usageError("There is no command " + shown(name) + ". leads help lists them.")
	}
	var err error
	if in.args, err = in.options.parse(in.command, args[1:]); err != nil {
		return err
	}
	if in.options.help {
		fmt.Fprint(in.stdout, in.command.help())
		return nil
	}
	if len(in.args) < in.command.argsMin || len(in.args) > in.command.argsMax {
		return usageError("It is " + in.command.usage() + ". leads help " + in.command.name + " tells more.")
	}
	return in.command.run(in)
}

// shown gives the name of a command or an option that the user made up, when it is
// fit to be repeated: nothing that may be content.
func shown(name string) string {
	const nameCharsMax = 30
	if len(name) > nameCharsMax || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return "of that name"
	}
	return name
}
