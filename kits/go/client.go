package leads

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// A Client posts leads with one key to one address. Any number of goroutines may
// share it. It opens nothing before the first call, and keeps its connections for
// the next one. fmt shows its address and not its key.
type Client struct {
	core *core
}

// core is behind a pointer, and the key behind a function, so that nothing that
// prints a Client by its fields comes upon the key.
type core struct {
	key           func() string
	base          string
	intakeURL     *url.URL
	vocabularyURL *url.URL
	product       string
	userAgent     string
	transport     *http.Transport
	crowd         *crowd
	defaults      settings
	vocabulary    vocabularyCache
}

// New makes a client. Key and address come from [WithKey] and [WithBaseURL], or
// else from the environment's LEADS_API_KEY and LEADS_BASE_URL. What is wrong with
// them is told at once, as [Misconfigured]; nothing is sent.
func New(options ...Option) (*Client, error) {
	config := defaults()
	for _, option := range options {
		option.apply(&config)
	}
	key, base, err := config.check()
	if err != nil {
		return nil, err
	}
	crowd := newCrowd()
	return &Client{&core{
		key:           func() string { return key },
		base:          base.String(),
		intakeURL:     below(base, "/v1/intake"),
		vocabularyURL: below(base, "/v1/vocabulary"),
		product:       config.product,
		userAgent:     config.product + "/" + config.version,
		transport:     newTransport(&config, base, crowd),
		crowd:         crowd,
		defaults:      config.call,
		vocabulary:    newVocabularyCache(),
	}}, nil
}

func (c *config) check() (key string, base *url.URL, err *Error) {
	key = os.Getenv("LEADS_API_KEY")
	if c.key != nil {
		key = *c.key
	}
	if key == "" {
		return "", nil, misconfigured("no key: use WithKey or set LEADS_API_KEY")
	}
	if err := checkKeyShape(key); err != nil {
		return "", nil, err
	}
	address := os.Getenv("LEADS_BASE_URL")
	if c.baseURL != nil {
		address = *c.baseURL
	}
	if base, err = parseBaseURL(address); err != nil {
		return "", nil, err
	}
	if !isToken(c.product) || !isToken(c.version) {
		return "", nil, misconfigured("the product's name or version has other characters than letters, digits, dots, dashes and underscores, or not 1 to 40 of them")
	}
	if c.call.requestID != nil {
		return "", nil, misconfigured("a request id belongs to one call, not to the client")
	}
	if err := c.call.check(); err != nil {
		return "", nil, err
	}
	return key, base, nil
}

// isToken bounds what makes up the User-Agent. With the dash and 16 characters it
// also leaves a request id under its 64.
func isToken(text string) bool {
	const tokenCharsMax = 40
	return text != "" && len(text) <= tokenCharsMax && strings.Trim(text, base62Digits+".-_") == ""
}

// String shows the address and not the key.
func (c Client) String() string {
	if c.core == nil {
		return "leads.Client"
	}
	return "leads.Client(" + c.core.base + ")"
}

// Format shows what String does, whatever the verb.
func (c Client) Format(f fmt.State, verb rune) { writeText(f, verb, c.String()) }

// CloseIdleConnections closes the connections that no call is using. The client
// stays usable.
func (c *Client) CloseIdleConnections() {
	if c.core != nil {
		c.core.transport.CloseIdleConnections()
	}
}

// A Status says whether a post made the lead or met it.
type Status string

const (
	// Accepted means that the lead is stored for good.
	Accepted Status = "accepted"
	// Duplicate means that the idempotency key was used before: the event is that
	// of the first post.
	Duplicate Status = "duplicate"
)

// An Acknowledgement is the service's word that it has the lead.
type Acknowledgement struct {
	// EventID identifies the lead. Keep it; it sorts by time and has no other parts.
	EventID string
	// Status is Accepted or Duplicate.
	Status Status
	// ReceivedAt is when the service got the lead, in UTC, as RFC 3339.
	ReceivedAt string
	// Source is the key's registered label.
	Source string
	// Flags are observations about the lead, such as "phone_unnormalized". They
	// reject nothing, and new ones may come.
	Flags []string
	// RequestID is the X-Request-Id that was sent.
	RequestID string
	// Tries counts the tries that were spent, the successful one included.
	Tries int
}

// PostLead posts a lead and returns the service's acknowledgement, or an [*Error].
// The idempotency key is the caller's own, stable name of this lead, best made by
// [IdempotencyKey]: however often a lead is posted with it, it is stored once.
func (c *Client) PostLead(ctx context.Context, lead Lead, idempotencyKey string, options ...CallOption) (*Acknowledgement, error) {
	body, err := lead.MarshalJSON()
	if err != nil {
		return nil, misconfigured("the lead holds a value that JSON cannot express")
	}
	return c.post(ctx, body, idempotencyKey, options)
}

// PostJSON is [Client.PostLead] for a lead that is JSON already. It is sent byte for
// byte and checked by the service alone.
func (c *Client) PostJSON(ctx context.Context, lead json.RawMessage, idempotencyKey string, options ...CallOption) (*Acknowledgement, error) {
	if len(lead) == 0 {
		return nil, misconfigured("the lead is empty")
	}
	// net/http may still read the body when the answer is there.
	return c.post(ctx, bytes.Clone(lead), idempotencyKey, options)
}

func (c *Client) post(ctx context.Context, body []byte, idempotencyKey string, options []CallOption) (*Acknowledgement, error) {
	if err := checkIdempotencyKey(idempotencyKey); err != nil {
		return nil, err
	}
	call, err := c.core.newCall(options)
	if err != nil {
		return nil, err
	}
	call.method, call.url, call.body, call.lead = http.MethodPost, c.core.intakeURL, body, true
	call.header.Set("X-API-Key", c.core.key())
	call.header.Set("Content-Type", "application/json")
	call.header.Set("Idempotency-Key", idempotencyKey)
	var ack *Acknowledgement
	if err := call.run(ctx, func(a *answer) bool {
		ack = readAcknowledgement(a)
		return ack != nil
	}); err != nil {
		return nil, err
	}
	ack.RequestID, ack.Tries = call.requestID, call.tries
	return ack, nil
}

// A Verdict is what the service thinks of the key.
type Verdict string

const (
	// Valid means that the key may post leads.
	Valid Verdict = "valid"
	// Invalid means that the key is unknown here or was revoked.
	Invalid Verdict = "invalid"
)

// A KeyCheck is the outcome of [Client.CheckKey].
type KeyCheck struct {
	Verdict Verdict
	// RequestID is the X-Request-Id that was sent.
	RequestID string
	// Tries counts the tries that were spent, the successful one included.
	Tries int
}

// CheckKey asks the service about the key, with a post that stores nothing. An
// error means that it could not be found out.
func (c *Client) CheckKey(ctx context.Context, options ...CallOption) (*KeyCheck, error) {
	call, err := c.core.newCall(options)
	if err != nil {
		return nil, err
	}
	call.method, call.url, call.body = http.MethodPost, c.core.intakeURL, []byte("{}")
	call.header.Set("X-API-Key", c.core.key())
	call.header.Set("Content-Type", "application/json")
	var verdict Verdict
	if err := call.run(ctx, func(a *answer) bool {
		switch {
		case a.status == http.StatusUnauthorized:
			verdict = Invalid
		case a.status == http.StatusUnprocessableEntity && a.code() == "validation_failed":
			verdict = Valid
		}
		return verdict != ""
	}); err != nil {
		return nil, err
	}
	return &KeyCheck{verdict, call.requestID, call.tries}, nil
}

// newCall puts the call's own options over the client's.
func (c *core) newCall(options []CallOption) (*call, error) {
	if c == nil {
		return nil, misconfigured("the client was not made by New")
	}
	settings := c.defaults
	for _, option := range options {
		option(&settings)
	}
	if err := settings.check(); err != nil {
		return nil, err
	}
	call := &call{core: c, settings: settings, started: settings.clock.Now()}
	if settings.requestID != nil {
		call.requestID = *settings.requestID
	} else {
		call.requestID = c.product + "-" + strings.ToLower(rand.Text()[:16])
	}
	call.header = http.Header{}
	call.header.Set("X-Request-Id", call.requestID)
	call.header.Set("User-Agent", c.userAgent)
	return call, nil
}
