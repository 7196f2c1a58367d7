// Driver answers the lines of the conformance suite with the kit.
package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"leads.example/leads-go"
)

type line struct {
	ID             json.RawMessage `json:"id"`
	Client         string          `json:"client"`
	Call           string          `json:"call"`
	BaseURL        *string         `json:"base_url"`
	Key            *string         `json:"key"`
	CAFile         *string         `json:"ca_file"`
	LeadJSON       string          `json:"lead_json"`
	IdempotencyKey string          `json:"idempotency_key"`
	RequestID      *string         `json:"request_id"`
	Namespace      string          `json:"namespace"`
	Item           string          `json:"item"`
	Options        struct {
		DeadlineMs   *float64 `json:"deadline_ms"`
		TryTimeoutMs *float64 `json:"try_timeout_ms"`
		Tries        *int     `json:"tries"`
	} `json:"options"`
	Random           *float64 `json:"random"`
	RealTime         bool     `json:"real_time"`
	CancelAfterWaits *int     `json:"cancel_after_waits"`
}

type reply struct {
	ID      json.RawMessage `json:"id"`
	Result  map[string]any  `json:"result,omitempty"`
	Error   map[string]any  `json:"error,omitempty"`
	WaitsMs []float64       `json:"waits_ms"`
	Text    string          `json:"text"`
}

func main() {
	d := &driver{clients: map[string]*sharedClient{}}
	var running sync.WaitGroup
	lines := bufio.NewReader(os.Stdin)
	for {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			var l line
			if json.Unmarshal(text, &l) != nil {
				fmt.Fprintln(os.Stderr, "a line is not the protocol's")
				os.Exit(2)
			}
			running.Add(1)
			go func() {
				defer running.Done()
				d.write(d.answer(&l))
			}()
		}
		if err == io.EOF {
			break
		} else if err != nil {
			fmt.Fprintln(os.Stderr, "standard input cannot be read")
			os.Exit(1)
		}
	}
	running.Wait()
}

type driver struct {
	output  sync.Mutex
	mu      sync.Mutex
	clients map[string]*sharedClient
}

type sharedClient struct {
	client *leads.Client
	err    error
}

func (d *driver) write(r *reply) {
	text, err := json.Marshal(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "a reply cannot be written as JSON")
		os.Exit(1)
	}
	d.output.Lock()
	defer d.output.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func (d *driver) client(l *line) (*leads.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	shared, ok := d.clients[l.Client]
	if !ok {
		shared = &sharedClient{}
		shared.client, shared.err = newClient(l)
		d.clients[l.Client] = shared
	}
	return shared.client, shared.err
}

func newClient(l *line) (*leads.Client, error) {
	var options []leads.Option
	if l.Key != nil {
		options = append(options, leads.WithKey(*l.Key))
	}
	if l.BaseURL != nil {
		options = append(options, leads.WithBaseURL(*l.BaseURL))
	}
	if l.CAFile != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pem, err := os.ReadFile(*l.CAFile)
		if err != nil || !pool.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca_file holds no certificates")
		}
		options = append(options, leads.WithRootCAs(pool))
	}
	if l.Options.Tries != nil {
		options = append(options, leads.WithTries(*l.Options.Tries))
	}
	if l.Options.TryTimeoutMs != nil {
		options = append(options, leads.WithTryTimeout(milliseconds(*l.Options.TryTimeoutMs)))
	}
	if l.Random != nil {
		options = append(options, leads.WithRandom(func() float64 { return *l.Random }))
	}
	return leads.New(options...)
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}

func (d *driver) answer(l *line) *reply {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clock := &clock{realTime: l.RealTime, cancel: cancel, waits: []float64{}}
	if l.CancelAfterWaits != nil {
		clock.cancelAfter = *l.CancelAfterWaits
	}
	r := &reply{ID: l.ID}
	var text strings.Builder
	result, err := d.call(ctx, l, clock, &text)
	if err != nil {
		r.Error = describe(err)
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			inspect(&text, cause)
		}
	} else {
		r.Result = result
	}
	r.WaitsMs, r.Text = clock.recorded(), text.String()
	return r
}

// inspect writes all that fmt makes of a value.
func inspect(text *strings.Builder, value any) {
	fmt.Fprintf(text, "%v\n%+v\n%#v\n%s\n%q\n", value, value, value, value, value)
}

func (d *driver) call(ctx context.Context, l *line, clock *clock, text *strings.Builder) (map[string]any, error) {
	if l.Call == "idempotency_key" {
		key, err := leads.IdempotencyKey(l.Namespace, l.Item)
		inspect(text, key)
		return map[string]any{"idempotency_key": key}, err
	}
	client, err := d.client(l)
	if err != nil {
		return nil, err
	}
	inspect(text, client)
	inspect(text, *client)
	options := []leads.CallOption{leads.WithClock(clock)}
	if l.Options.DeadlineMs != nil {
		options = append(options, leads.WithDeadline(milliseconds(*l.Options.DeadlineMs)))
	}
	if l.RequestID != nil {
		options = append(options, leads.WithRequestID(*l.RequestID))
	}
	switch l.Call {
	case "check_key":
		check, err := client.CheckKey(ctx, options...)
		if err != nil {
			return nil, err
		}
		inspect(text, check)
		return map[string]any{"verdict": check.Verdict, "request_id": check.RequestID, "tries": check.Tries}, nil
	case "post_lead":
		ack, err := post(ctx, client, l, options, text)
		if err != nil {
			return nil, err
		}
		inspect(text, ack)
		return map[string]any{
			"event_id": ack.EventID, "status": ack.Status, "received_at": ack.ReceivedAt, "source": ack.Source,
			"flags": ack.Flags, "request_id": ack.RequestID, "tries": ack.Tries,
		}, nil
	case "vocabulary":
		vocabulary, err := client.Vocabulary(ctx, options...)
		if err != nil {
			return nil, err
		}
		inspect(text, vocabulary)
		return map[string]any{"areas": vocabulary.Areas, "services": vocabulary.Services, "required": vocabulary.Required}, nil
	}
	return nil, fmt.Errorf("there is no call %q", l.Call)
}

// post sends what a program would: a Lead. What is no JSON object can only be sent
// as it is.
func post(ctx context.Context, client *leads.Client, l *line, options []leads.CallOption, text *strings.Builder) (*leads.Acknowledgement, error) {
	var lead leads.Lead
	if json.Unmarshal([]byte(l.LeadJSON), &lead) != nil {
		return client.PostJSON(ctx, json.RawMessage(l.LeadJSON), l.IdempotencyKey, options...)
	}
	inspect(text, lead)
	inspect(text, &lead)
	return client.PostLead(ctx, lead, l.IdempotencyKey, options...)
}

func describe(err error) map[string]any {
	var failed *leads.Error
	if !errors.As(err, &failed) {
		return map[string]any{"kind": "not one of the kit's: " + err.Error()}
	}
	m := map[string]any{
		"kind": failed.Kind, "status": nil, "code": nil, "detail": nil, "request_id": nil,
		"tries": failed.Tries, "unknown_outcome": failed.UnknownOutcome,
	}
	if failed.Status != 0 {
		m["status"] = failed.Status
	}
	if failed.Code != "" {
		m["code"] = failed.Code
	}
	if failed.Detail != "" {
		m["detail"] = failed.Detail
	}
	if failed.RequestID != "" {
		m["request_id"] = failed.RequestID
	}
	if failed.Fields != nil {
		m["fields"] = failed.Fields
	}
	return m
}

// A clock of one call records waits, and unless in real time adds them to the time
// in place of sleeping.
type clock struct {
	realTime    bool
	cancelAfter int
	cancel      context.CancelFunc

	mu      sync.Mutex
	skipped time.Duration
	waits   []float64
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.waits = append(c.waits, float64(d)/float64(time.Millisecond))
	if len(c.waits) == c.cancelAfter {
		c.cancel()
	} else if !c.realTime {
		c.skipped += d
	}
	c.mu.Unlock()
	if !c.realTime {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) recorded() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits
}
