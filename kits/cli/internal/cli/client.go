package cli

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"leads.example/leads-go"
)

// fileBytesMax bounds the files that are read whole: keys, authorities, and a lead,
// of which the service takes 64 KiB.
const fileBytesMax = 1 << 20

// nobodysKey has the shape that makes a client, and is never sent: the vocabulary is
// asked for without a key, and whoever reads it may have none.
const nobodysKey = "lead_test_000000000000000000000000000000000YQyBZ"

// client makes a client of the options and the environment. It returns the address,
// too, and whether the key is live or test.
func (in *invocation) client(key string) (*leads.Client, string, error) {
	address, err := in.address()
	if err != nil {
		return nil, "", err
	}
	o := &in.options
	options := []leads.Option{leads.WithKey(key), leads.WithBaseURL(address), leads.WithProduct(product, Version)}
	if o.caFile != "" {
		pool, err := authorities(o.caFile)
		if err != nil {
			return nil, "", err
		}
		options = append(options, leads.WithRootCAs(pool))
	}
	if o.tries != nil {
		options = append(options, leads.WithTries(*o.tries))
	}
	if o.tryTimeout != 0 {
		options = append(options, leads.WithTryTimeout(o.tryTimeout))
	}
	if in.deps.Random != nil {
		options = append(options, leads.WithRandom(in.deps.Random))
	}
	client, err := in.deps.NewClient(options...)
	return client, strings.TrimRight(address, "/"), err
}

// callOptions are those of one call, for a client that several may share.
func (in *invocation) callOptions() []leads.CallOption {
	o := &in.options
	var options []leads.CallOption
	if in.deps.Clock != nil {
		options = append(options, leads.WithClock(in.deps.Clock))
	}
	if o.deadline != 0 {
		options = append(options, leads.WithDeadline(o.deadline))
	}
	if o.requestID != nil {
		options = append(options, leads.WithRequestID(*o.requestID))
	}
	return append(options, leads.WithObserver(in.observer()))
}

// observer tells of tries and waits when --verbose asks for it.
func (in *invocation) observer() leads.Observer {
	if !in.options.verbose {
		return leads.Observer{}
	}
	return leads.Observer{
		Try: func(try leads.Try) {
			answer := "no answer"
			if try.Status != 0 {
				answer = fmt.Sprintf("status %d", try.Status)
			}
			fmt.Fprintf(in.stderr, "%s: %s after %s (%s)\n", try.Method, answer, try.Duration.Round(time.Millisecond), printable(try.RequestID))
		},
		Wait: func(wait leads.Wait) {
			why := "before the next try"
			if wait.RateLimited {
				why = "as the service asks"
			}
			fmt.Fprintf(in.stderr, "waiting %s %s\n", wait.Duration.Round(time.Millisecond), why)
		},
	}
}

func (in *invocation) address() (string, error) {
	if in.options.baseURL != nil {
		if *in.options.baseURL == "" {
			return "", usageError("--base-url is empty.")
		}
		return *in.options.baseURL, nil
	}
	if address, _ := in.lookup("LEADS_BASE_URL"); address != "" {
		return address, nil
	}
	return "", usageError("There is no address. Set LEADS_BASE_URL, or give --base-url https://….")
}

// key finds the API key: a file that was named, the environment, or a prompt.
func (in *invocation) key() (string, error) {
	if file := in.options.keyFile; file != "" {
		return in.keyFromFile(file)
	}
	if key, _ := in.lookup("LEADS_API_KEY"); key != "" {
		return key, nil
	}
	if in.deps.ReadSecret == nil {
		return "", usageError("There is no API key. Set LEADS_API_KEY, or name a file that holds it with --key-file.")
	}
	fmt.Fprint(in.stderr, "API key (it is not shown): ")
	key, err := in.deps.ReadSecret(in.ctx)
	fmt.Fprintln(in.stderr)
	if errors.Is(err, context.Canceled) {
		return "", stopped("Stopped before anything was sent.")
	}
	if key = strings.TrimSpace(key); err != nil || key == "" {
		return "", usageError("No API key was read. Set LEADS_API_KEY, or name a file that holds it with --key-file.")
	}
	return key, nil
}

func (in *invocation) keyFromFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", usageError("The key file " + path + " cannot be opened.")
	}
	defer file.Close()
	// A warning and no more: where containers get their secrets as files, anybody in
	// the container may read them.
	if info, err := file.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
		fmt.Fprintf(in.stderr, "leads: Everybody on this machine may read the key file; chmod 600 %s changes that.\n", path)
	}
	text, err := readBounded(in.ctx, file)
	key := strings.TrimSpace(string(text))
	if err != nil || key == "" {
		return "", usageError("The key file " + path + " holds no key.")
	}
	return key, nil
}

// authorities gives the system's with those of a file.
func authorities(path string) (*x509.CertPool, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usageError("The file " + path + " of --ca-file cannot be opened.")
	}
	defer file.Close()
	text, err := readBounded(context.Background(), file)
	pool, systemErr := x509.SystemCertPool()
	if systemErr != nil {
		pool = x509.NewCertPool()
	}
	if err != nil || !pool.AppendCertsFromPEM(text) {
		return nil, usageError("The file " + path + " of --ca-file holds no certificates in PEM.")
	}
	return pool, nil
}

var errTooLarge = errors.New("over 1 MiB")

// readBounded reads to the end, or until ctx is done: a read of a terminal cannot be
// called off otherwise.
func readBounded(ctx context.Context, input io.Reader) ([]byte, error) {
	type whole struct {
		text []byte
		err  error
	}
	read := make(chan whole, 1)
	go func() {
		var text bytes.Buffer
		n, err := text.ReadFrom(io.LimitReader(input, fileBytesMax+1))
		if err == nil && n > fileBytesMax {
			err = errTooLarge
		}
		read <- whole{text.Bytes(), err}
	}()
	select {
	case w := <-read:
		return w.text, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
