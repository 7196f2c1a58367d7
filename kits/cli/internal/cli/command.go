package cli

import "slices"

// A command is a row of the table that help and completion are made of.
type command struct {
	name    string
	args    string // As usage shows them.
	argsMin int
	argsMax int
	about   string
	more    string // What help tells beside the options.
	options []option
	// failed and later are what the message of a call that may be repeated says.
	failed string
	later  string
	// words completes the first argument; files says that arguments are files.
	words []string
	files bool
	run   func(*invocation) error
}

// commands lists the commands in the order of help. It is a function, because help is
// one of them.
func commands() []*command {
	return []*command{
		{
			name: "check", about: "ask the service whether the key is valid",
			more: `Posts nothing that is stored. Exits with 0 for a valid key, with 1 for one that the
service does not know or has revoked.`,
			options: slices.Concat(keyOptions, callOptions, generalOptions),
			failed:  "It could not be found out whether the key is valid",
			later:   "Check it again later.",
			run:     (*invocation).check,
		},
		{
			name: "post", args: "[FILE|-]", argsMax: 1, about: "post one lead, or the leads of a file",
			more: `One lead is a JSON object in FILE, or on standard input, and is sent as it is. --field
sets fields on top of it, or makes a lead without a file. A lead needs a stable name,
so that it is stored once however often it is posted: --idempotency-key, or --namespace
with --id or --id-field.

  leads post lead.json --namespace acme --id 4711
  leads post --field first_name=Ada --field last_name=Byron --field phone="555 0100" \
    --idempotency-key acme:4711

--csv and --ndjson post the leads of a whole file, a row after the other:

  leads post --csv leads.csv --namespace acme --id-field id --map "First name=first_name"

Ask the operator before you post many. A run keeps to 2 requests a second, which is
what one address may send, until --rate says that more was granted. It keeps a journal:
a run that was stopped, in whatever way, goes on where it was when the same command is
given again. Rows that are refused, and why, go into a file that nobody else may read;
they do not stop the run. To post corrected rows, put them into a new file.`,
			options: slices.Concat(postOptions, backfillOptions, keyOptions, callOptions, generalOptions),
			failed:  "The lead could not be posted",
			later:   "Post it again later, with the same idempotency key.",
			files:   true,
			run:     (*invocation).post,
		},
		{
			name: "vocabulary", about: "read what the service understands",
			more: `Lists the terms of project_area, the services, and the fields that are required. Needs no
key.`,
			options: slices.Concat(callOptions, generalOptions),
			failed:  "The vocabulary could not be read",
			later:   "Try again later.",
			run:     (*invocation).vocabulary,
		},
		{
			name: "idempotency-key", args: "NAMESPACE ID", argsMin: 2, argsMax: 2, about: "make an idempotency key of a namespace and your id",
			more: `Prints NAMESPACE:ID. Refuses a blank part, over 200 characters, and what is not printable
ASCII.`,
			options: generalOptions,
			run:     (*invocation).idempotencyKey,
		},
		{
			name: "completion", args: "bash|zsh|fish|powershell", argsMin: 1, argsMax: 1, about: "print a script that completes commands and options",
			more: `  bash        source <(leads completion bash)
  zsh         source <(leads completion zsh)
  fish        leads completion fish | source
  powershell  leads completion powershell | Out-String | Invoke-Expression`,
			options: generalOptions, words: shells,
			run: (*invocation).completion,
		},
		{
			name: "version", about: "print the version",
			options: generalOptions,
			run:     (*invocation).version,
		},
		{
			name: "help", args: "[COMMAND]", argsMax: 1, about: "tell about a command",
			options: generalOptions,
			run:     (*invocation).help,
		},
	}
}

func findCommand(name string) *command {
	for _, command := range commands() {
		if command.name == name {
			return command
		}
	}
	return nil
}

func (c *command) option(name string) *option {
	for i := range c.options {
		if c.options[i].name == name {
			return &c.options[i]
		}
	}
	return nil
}
