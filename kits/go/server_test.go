package leads_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leads.example/leads-go"
)

const (
	testKey  = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"
	accepted = `{"event_id":"ev_1","status":"accepted","received_at":"2026-01-02T03:04:05Z","source":"acme","flags":[]}`
)

var ada = leads.Lead{FirstName: "Ada", LastName: "Lovelace", Phone: "555-Extension-0199"}

// secrets are the strings that no text of the kit may hold.
var secrets = []string{testKey, testKey[10:40], "Ada", "Lovelace", "Extension"}

// serve starts a server on this machine that answers with handler.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// answer writes a whole answer.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// newClient makes a client of a server of the test, whose waits are not slept.
func newClient(t *testing.T, address string, options ...leads.Option) *leads.Client {
	t.Helper()
	options = append([]leads.Option{
		leads.WithKey(testKey), leads.WithBaseURL(address), leads.WithProxy(nil),
		leads.WithClock(&skippingClock{}), leads.WithRandom(func() float64 { return 0.5 }),
	}, options...)
	client, err := leads.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// A skippingClock adds waits to its time in place of sleeping.
type skippingClock struct {
	mu      sync.Mutex
	skipped time.Duration
	waits   []time.Duration
}

func (c *skippingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skipped)
}

func (c *skippingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped += d
	c.waits = append(c.waits, d)
	return ctx.Err()
}

// A rawServer accepts connections and gives each to a function that reads requests
// and writes what it likes.
func rawServer(t *testing.T, talk func(connection int, requests *bufio.Reader, conn net.Conn)) (address string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var talking sync.WaitGroup
	connections = new(atomic.Int32)
	talking.Add(1)
	go func() {
		defer talking.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n := int(connections.Add(1))
			talking.Add(1)
			go func() {
				defer talking.Done()
				defer conn.Close()
				talk(n, bufio.NewReader(conn), conn)
			}()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		talking.Wait()
	})
	return "http://" + listener.Addr().String(), connections
}

// readRequest reads one request to its end, and gives nil when none comes.
func readRequest(requests *bufio.Reader) *http.Request {
	request, err := http.ReadRequest(requests)
	if err != nil {
		return nil
	}
	io.Copy(io.Discard, request.Body)
	return request
}

func whole(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}
