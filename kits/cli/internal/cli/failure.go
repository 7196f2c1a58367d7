package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"leads.example/leads-cli/internal/backfill"
	"leads.example/leads-go"
)

// usage is an error of the command line: a sentence that says what to mend.
type usage string

func (u usage) Error() string { return string(u) }

func usageError(message string) error { return usage(message) }

// silent is an exit code about which all has been said.
type silent int

func (silent) Error() string { return "" }

// stopped is a run that a signal ended in order.
type stopped string

func (s stopped) Error() string { return string(s) }

// A failure is what --json prints of an error.
type failure struct {
	Kind           leads.Kind        `json:"kind"`
	Message        string            `json:"message"`
	Status         *int              `json:"status"`
	Code           *string           `json:"code"`
	Detail         *string           `json:"detail"`
	RequestID      *string           `json:"request_id"`
	Tries          int               `json:"tries"`
	UnknownOutcome bool              `json:"unknown_outcome"`
	Fields         map[string]string `json:"fields,omitempty"`
}

// fail tells an error on standard error, and with --json on standard output as well.
func (in *invocation) fail(err error) int {
	var code silent
	if errors.As(err, &code) {
		return int(code)
	}
	told := in.describe(err)
	if in.options.json {
		in.print(map[string]any{"error": told})
	}
	fmt.Fprintf(in.stderr, "leads: %s\n", told.Message)
	// To the person who posts, and not into a log: a stranger's answer may hold what was sent.
	if told.Detail != nil && in.deps.StderrIsTerminal {
		fmt.Fprintf(in.stderr, "leads: The service says: %s\n", printable(*told.Detail))
	}
	return exitCode(told.Kind)
}

func exitCode(kind leads.Kind) int {
	switch kind {
	case leads.Misconfigured:
		return ExitUsage
	case leads.Unavailable, leads.Cancelled:
		return ExitLater
	default:
		return ExitRefused
	}
}

func (in *invocation) describe(err error) failure {
	var failed *leads.Error
	var input *backfill.InputError
	var record *backfill.RecordError
	var stop stopped
	switch {
	case errors.As(err, &failed):
		told := failure{
			Kind: failed.Kind, Message: in.message(failed), Tries: failed.Tries, UnknownOutcome: failed.UnknownOutcome, Fields: failed.Fields,
		}
		if failed.Status != 0 {
			told.Status = &failed.Status
		}
		if failed.Code != "" {
			told.Code = &failed.Code
		}
		if failed.Detail != "" {
			told.Detail = &failed.Detail
		}
		if failed.RequestID != "" {
			told.RequestID = &failed.RequestID
		}
		return told
	case errors.As(err, &stop), errors.Is(err, context.Canceled):
		return failure{Kind: leads.Cancelled, Message: sentence(err, "Stopped.")}
	case errors.As(err, &record):
		return failure{Kind: leads.Unavailable, Message: record.Error() + ". Make room for it, and repeat the command: the run goes on where it was."}
	case errors.As(err, &input):
		return failure{Kind: leads.Refused, Message: input.Message}
	}
	return failure{Kind: leads.Misconfigured, Message: sentence(err, "The command cannot be run.")}
}

// sentence gives an error's text where it is one of ours, which are made to be read.
func sentence(err error, otherwise string) string {
	var u usage
	var s stopped
	var setup *backfill.SetupError
	if errors.As(err, &u) || errors.As(err, &s) || errors.As(err, &setup) {
		return err.Error()
	}
	return otherwise
}

// message says what happened and what to do next.
func (in *invocation) message(err *leads.Error) string {
	var text string
	switch err.Kind {
	case leads.Misconfigured:
		return capital(err.Reason()) + "."
	case leads.Unauthorized:
		text = "The service does not know the key, or it was revoked. Ask whoever issued it; to try again does not help."
	case leads.InvalidLead:
		text = "The service refused fields of the lead: " + fieldList(err.Fields) + ". Correct them, and post the lead with the same idempotency key."
	case leads.Refused:
		text = refusedMessage(err)
	case leads.Unavailable:
		text = in.command.failed + ": " + err.Reason() + notes(err) + ". " + in.command.later
	case leads.Cancelled:
		text = "Stopped before it was done. " + in.command.later
	}
	if err.UnknownOutcome {
		text += " It is not known whether the lead arrived; to post it again with the same idempotency key is safe, and tells."
	}
	if err.RequestID != "" {
		text += " Request id " + printable(err.RequestID) + "."
	}
	return text
}

func refusedMessage(err *leads.Error) string {
	switch {
	case err.Status == 400 && err.Code != "":
		return "The service could not read the lead" + notes(err) + ": it has to be a JSON object, cost a number, extra an object. Correct it, and post it with the same idempotency key."
	case err.Status == 413:
		return "The lead is too large" + notes(err) + ": the service takes 64 KiB. Shorten project_details, and post it with the same idempotency key."
	case err.Status >= 300 && err.Status < 400:
		return "A redirect came" + notes(err) + ", and it was not followed, because the key would go with it. Give the service's own address by --base-url or LEADS_BASE_URL."
	default:
		return "An answer came that must not be asked for again: " + err.Reason() + notes(err) + ". See whether the address is the service's."
	}
}

// notes gives status, code and tries, as far as there are any.
func notes(err *leads.Error) string {
	var notes []string
	if err.Status != 0 {
		notes = append(notes, strings.TrimSpace(fmt.Sprintf("status %d %s", err.Status, err.Code)))
	}
	if err.Tries > 1 {
		notes = append(notes, fmt.Sprintf("%d tries", err.Tries))
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

func fieldList(fields map[string]string) string {
	known, others := backfill.ShownFields(fields)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		list = append(list, name+" ("+known[name]+")")
	}
	switch {
	case others > 0 && len(list) > 0:
		list = append(list, fmt.Sprintf("and %d whose names or reasons are not the service's", others))
	case others > 0:
		list = append(list, fmt.Sprintf("%d whose names or reasons are not the service's", others))
	case len(list) == 0:
		return "none was named"
	}
	return strings.Join(list, ", ")
}

func capital(text string) string {
	if text == "" {
		return "The command cannot be run"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// printable keeps what a service says from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// print writes a value to standard output, as JSON on one line.
func (in *invocation) print(value any) {
	encoder := json.NewEncoder(in.stdout)
	encoder.SetEscapeHTML(false)
	// Values of ours can be written as JSON; the output remembers a failure.
	_ = encoder.Encode(value)
}
