package leads

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// A Kind says what to do about a failed call. It is an error itself, so that
// errors.Is(err, leads.Unavailable) tells an [*Error] of that kind.
type Kind string

const (
	// Unauthorized is a 401: the key is unknown or was revoked. Alert a person.
	Unauthorized Kind = "unauthorized"
	// InvalidLead is a 422 that names failing fields: correct the lead and post
	// it with the same idempotency key.
	InvalidLead Kind = "invalid_lead"
	// Refused is any other answer that must not be repeated: read Status and Code.
	Refused Kind = "refused"
	// Unavailable means that tries or deadline are spent: try later, with the
	// same idempotency key.
	Unavailable Kind = "unavailable"
	// Cancelled means that the caller's context was cancelled: as for Unavailable.
	Cancelled Kind = "cancelled"
	// Misconfigured was found before anything was sent: mend key, address or
	// argument.
	Misconfigured Kind = "misconfigured"
)

// Error gives the kind's name.
func (k Kind) Error() string { return string(k) }

// An Error is what every failed call of this package returns. Its text, and all
// that fmt and log/slog make of it, is free of the key, of the lead, and of what
// an answer held.
type Error struct {
	// Kind says what to do.
	Kind Kind
	// Status is the HTTP status of the last try's answer, 0 when none came.
	Status int
	// Code is the service's code in that answer, such as "rate_limited"; empty
	// when the answer is not the service's.
	Code string
	// Detail is what that answer says is wrong, in a sentence for people; empty
	// when it says nothing. Do not parse it. It is the service's, as Fields are,
	// and stands in no text of the error.
	Detail string
	// RequestID is the X-Request-Id that was sent, empty when nothing was.
	RequestID string
	// Tries counts the tries that were spent. A 429 spends none.
	Tries int
	// UnknownOutcome is true when bytes of a post went out and no whole answer
	// came, or one that cannot be the service's: the lead may have been stored.
	// Posting it again with the same idempotency key is safe and tells.
	UnknownOutcome bool
	// Fields has each failing field and the reason, for InvalidLead only.
	Fields map[string]string

	reason string
	cause  error
}

func misconfigured(reason string) *Error {
	return &Error{Kind: Misconfigured, reason: reason}
}

// Error says in one line what happened, without any content.
func (e *Error) Error() string { return e.text() }

func (e Error) text() string {
	var b strings.Builder
	b.WriteString("leads: ")
	b.WriteString(string(e.Kind))
	if e.reason != "" {
		b.WriteString(": ")
		b.WriteString(e.reason)
	}
	var notes []string
	if e.Status != 0 {
		notes = append(notes, strings.TrimSpace("status "+strconv.Itoa(e.Status)+" "+e.Code))
	}
	if e.RequestID != "" {
		notes = append(notes, "request id "+e.RequestID)
	}
	if e.Tries == 1 {
		notes = append(notes, "1 try")
	} else if e.Tries > 1 {
		notes = append(notes, strconv.Itoa(e.Tries)+" tries")
	}
	if e.UnknownOutcome {
		notes = append(notes, "outcome unknown")
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Reason is the part of the text that says why, in a few words and without any
// content, for programs that put the rest in words of their own.
func (e *Error) Reason() string { return e.reason }

// Is reports whether target is the error's [Kind].
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// Unwrap gives the cause where it is one that can be told: an error of the
// context, of the operating system, of the name service, or of a certificate's
// verification. Others are withheld, because they quote what was sent or received.
func (e *Error) Unwrap() error { return e.cause }

// Format writes the text of Error for every verb: %+v and %#v show no fields.
func (e Error) Format(f fmt.State, verb rune) { writeText(f, verb, e.text()) }

// LogValue gives log/slog the text of Error.
func (e Error) LogValue() slog.Value { return slog.StringValue(e.text()) }

// writeText is the one way in which values that hold secrets are formatted.
func writeText(f fmt.State, verb rune, text string) {
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	f.Write([]byte(text))
}
