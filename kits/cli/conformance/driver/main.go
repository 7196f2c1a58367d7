// Driver answers the lines of the conformance suite with the command's own layer: each
// line becomes the arguments, environment and standard input of a command, and the
// answer is made of its output and exit code.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"leads.example/leads-cli/internal/cli"
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
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
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

// share gives the commands of one client's lines the client that the first of them
// made.
func (d *driver) share(name string) func(...leads.Option) (*leads.Client, error) {
	return func(options ...leads.Option) (*leads.Client, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		shared, ok := d.clients[name]
		if !ok {
			shared = &sharedClient{}
			shared.client, shared.err = leads.New(options...)
			d.clients[name] = shared
		}
		return shared.client, shared.err
	}
}

func (d *driver) answer(l *line) *reply {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clock := &clock{realTime: l.RealTime, cancel: cancel, waits: []float64{}}
	if l.CancelAfterWaits != nil {
		clock.cancelAfter = *l.CancelAfterWaits
	}
	name := l.Client
	if l.Call == "vocabulary" {
		name += ", which has no key"
	}
	deps := cli.Deps{NewClient: d.share(name), Clock: clock}
	if l.Random != nil {
		deps.Random = func() float64 { return *l.Random }
	}
	lookup := func(name string) (string, bool) {
		if name == "LEADS_API_KEY" && l.Key != nil {
			return *l.Key, true
		}
		return os.LookupEnv(name)
	}
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, l.arguments(), lookup, strings.NewReader(l.LeadJSON), &stdout, &stderr, deps)
	r := &reply{ID: l.ID, WaitsMs: clock.recorded()}
	r.Result, r.Error = judge(stdout.Bytes(), code)
	// The member detail is where the detail belongs; it has to be nowhere else.
	var told struct {
		Detail json.RawMessage `json:"detail"`
	}
	json.Unmarshal(r.Error, &told)
	r.Text = strings.Replace(stdout.String(), string(told.Detail), "", 1) + stderr.String()
	return r
}

// arguments are those of the command that a line means.
func (l *line) arguments() []string {
	var args []string
	switch l.Call {
	case "check_key":
		args = []string{"check"}
	case "post_lead":
		args = []string{"post", "--idempotency-key", l.IdempotencyKey}
	case "vocabulary":
		args = []string{"vocabulary"}
	case "idempotency_key":
		return []string{"idempotency-key", "--json", "--", l.Namespace, l.Item}
	}
	args = append(args, "--json", "--verbose")
	if l.BaseURL != nil {
		args = append(args, "--base-url", *l.BaseURL)
	}
	if l.CAFile != nil {
		args = append(args, "--ca-file", *l.CAFile)
	}
	if l.RequestID != nil {
		args = append(args, "--request-id", *l.RequestID)
	}
	if l.Options.Tries != nil {
		args = append(args, "--tries", strconv.Itoa(*l.Options.Tries))
	}
	if l.Options.TryTimeoutMs != nil {
		args = append(args, "--try-timeout", duration(*l.Options.TryTimeoutMs))
	}
	if l.Options.DeadlineMs != nil {
		args = append(args, "--deadline", duration(*l.Options.DeadlineMs))
	}
	return args
}

func duration(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).String()
}

// codes are the exit codes of the kinds of errors.
var codes = map[string]int{
	"unauthorized": cli.ExitRefused, "invalid_lead": cli.ExitRefused, "refused": cli.ExitRefused,
	"misconfigured": cli.ExitUsage, "unavailable": cli.ExitLater, "cancelled": cli.ExitLater,
}

// judge tells a result from an error, and holds the exit code to it.
func judge(stdout []byte, code int) (result, failure json.RawMessage) {
	var told struct {
		Verdict string          `json:"verdict"`
		Error   json.RawMessage `json:"error"`
	}
	if bytes.Count(stdout, []byte("\n")) != 1 || json.Unmarshal(stdout, &told) != nil {
		return nil, fault("standard output is not one line of JSON")
	}
	expected := cli.ExitDone
	var kind struct {
		Kind string `json:"kind"`
	}
	if told.Error != nil {
		if json.Unmarshal(told.Error, &kind) != nil {
			return nil, fault("the error is no object")
		}
		expected = codes[kind.Kind]
	} else if told.Verdict == "invalid" {
		expected = cli.ExitRefused
	}
	if code != expected {
		return nil, fault(fmt.Sprintf("the exit code is %d and not %d", code, expected))
	}
	if told.Error != nil {
		return nil, told.Error
	}
	return stdout, nil
}

func fault(what string) json.RawMessage {
	text, _ := json.Marshal(map[string]string{"kind": "not one of the kit's: " + what})
	return text
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
