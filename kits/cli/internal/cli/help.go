package cli

import (
	"fmt"
	"strings"
)

func (in *invocation) help() error {
	if len(in.args) == 0 {
		fmt.Fprint(in.stdout, overview())
		return nil
	}
	command := findCommand(in.args[0])
	if command == nil {
		return usageError("There is no command " + shown(in.args[0]) + ". leads help lists them.")
	}
	fmt.Fprint(in.stdout, command.help())
	return nil
}

func (in *invocation) version() error {
	if in.options.json {
		in.print(map[string]string{"version": Version})
	} else {
		fmt.Fprintln(in.stdout, product, Version)
	}
	return nil
}

// overview is what leads says by itself.
func overview() string {
	var text strings.Builder
	text.WriteString("leads posts sales leads to the Lead Intake Service.\n\n")
	var lines [][2]string
	for _, command := range commands() {
		lines = append(lines, [2]string{command.usage(), command.about})
	}
	columns(&text, lines)
	text.WriteString(`
The service's address comes from LEADS_BASE_URL or --base-url, the API key from
LEADS_API_KEY, --key-file FILE, or a prompt, and never from an argument. --json prints
one line of JSON. Exit codes: 0 done, 1 refused, 2 usage or configuration, 75 try later.
leads help COMMAND tells more.
`)
	return text.String()
}

func (c *command) usage() string { return strings.TrimSpace("leads " + c.name + " " + c.args) }

func (c *command) help() string {
	var text strings.Builder
	usage := c.usage()
	fmt.Fprintf(&text, "%s [OPTION]…\n\n%s.\n", usage, capital(c.about))
	if c.more != "" {
		fmt.Fprintf(&text, "\n%s\n", c.more)
	}
	text.WriteString("\nOptions:\n\n")
	var lines [][2]string
	for _, option := range c.options {
		lines = append(lines, [2]string{strings.TrimSpace("--" + option.name + " " + option.value), option.about})
	}
	columns(&text, lines)
	return text.String()
}

// columns writes pairs so that their second parts stand below each other.
func columns(text *strings.Builder, lines [][2]string) {
	const (
		aboutAt   = 28
		lineChars = 88
	)
	for _, line := range lines {
		at := 2 + len(line[0])
		text.WriteString("  " + line[0])
		if at+2 > aboutAt {
			text.WriteString("\n")
			at = 0
		}
		text.WriteString(strings.Repeat(" ", aboutAt-at))
		at = aboutAt
		for i, word := range strings.Fields(line[1]) {
			if i > 0 && at+1+len(word) > lineChars {
				text.WriteString("\n" + strings.Repeat(" ", aboutAt))
				at = aboutAt
			} else if i > 0 {
				text.WriteString(" ")
				at++
			}
			text.WriteString(word)
			at += len(word)
		}
		text.WriteString("\n")
	}
}
