package leads_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"leads.example/leads-go"
)

// texts gives all that fmt, log and log/slog make of a value, and of what it wraps.
func texts(value any) string {
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+"\n", value)
		fmt.Fprintf(&b, verb+"\n", []any{value, &value, struct{ V any }{value}, map[string]any{"v": value}})
	}
	log.New(&b, "", 0).Print(value)
	slog.New(slog.NewTextHandler(&b, nil)).Info("m", "v", value)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "v", value)
	if err, ok := value.(error); ok {
		if cause := errors.Unwrap(err); cause != nil {
			b.WriteString(texts(cause))
		}
	}
	return b.String()
}

func expectNoSecret(t *testing.T, name, text string, more ...string) {
	t.Helper()
	for _, secret := range append(more, secrets...) {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s shows %q: %s", name, secret, text)
		}
	}
}

func TestNoTextShowsTheKeyOrTheLead(t *testing.T) {
	client := newClient(t, "https://leads.example")
	lead := ada
	lead.Extra = map[string]any{"Ada": "Ada"}
	lead.Cost = "99.45678901234567"
	for name, value := range map[string]any{
		"client":         client,
		"client's value": *client,
		"zero client":    leads.Client{},
		"lead":           lead,
		"lead's pointer": &lead,
		"option":         leads.WithKey(testKey),
		"options":        []leads.Option{leads.WithKey(testKey)},
	} {
		expectNoSecret(t, name, texts(value), "45678901234567")
	}
	if text := fmt.Sprint(client); text != "leads.Client(https://leads.example)" {
		t.Errorf("a client is shown as %s", text)
	}
}

// echo answers with what was sent, in places that errors could quote.
func TestNoErrorShowsWhatAStrangerAnswers(t *testing.T) {
	for name, form := range map[string]string{
		"status line":    "%s\r\n\r\n",
		"protocol":       "%s/1.1 200 OK\r\n\r\n",
		"status":         "HTTP/1.1 %s OK\r\n\r\n",
		"header":         "HTTP/1.1 202 OK\r\n%s\r\n\r\n",
		"length":         "HTTP/1.1 202 OK\r\nContent-Length: %s\r\n\r\n",
		"encoding":       "HTTP/1.1 202 OK\r\nTransfer-Encoding: %s\r\n\r\n",
		"chunk":          "HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n",
		"reason":         "HTTP/1.1 400 %s\r\nContent-Length: 0\r\n\r\n",
		"redirect":       "HTTP/1.1 302 OK\r\nLocation: https://stranger.example/%s\r\nContent-Length: 0\r\n\r\n",
		"code":           "HTTP/1.1 400 OK\r\nConnection: close\r\n\r\n{\"error\":\"%s\"}",
		"fields":         "HTTP/1.1 422 OK\r\nConnection: close\r\n\r\n{\"error\":\"validation_failed\",\"fields\":{\"%[1]s\":\"%[1]s\"}}",
		"body":           "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s",
		"request id":     "HTTP/1.1 400 OK\r\nX-Request-Id: %s\r\nContent-Length: 0\r\n\r\n",
		"retry after":    "HTTP/1.1 503 OK\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
		"unasked answer": "HTTP/1.1 400 OK\r\nContent-Length: 0\r\n\r\n%s",
	} {
		overAll(t, name, func(t *testing.T, way way) {
			address, _, options := way.serve(t, func(_ int, reader *bufio.Reader, conn net.Conn) {
				request, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(request.Body)
				text := request.Header.Get("X-API-Key") + strings.Map(func(r rune) rune {
					if strings.ContainsRune(`"{}:`, r) {
						return '_'
					}
					return r
				}, string(body))
				fmt.Fprintf(conn, form, text)
			})
			logged := captureLog(t)
			client := newClient(t, address, append(options, leads.WithTries(2))...)
			_, err := client.PostLead(t.Context(), ada, "acme:1")
			if err == nil {
				t.Fatal("the answer was taken for an acknowledgement")
			}
			expectNoSecret(t, "the error", texts(err))
			var failed *leads.Error
			if !errors.As(err, &failed) {
				t.Fatalf("%T is not the package's error", err)
			}
			expectNoSecret(t, "the error's value", texts(*failed))
			expectNoSecret(t, "the code", failed.Code)
			_, err = client.CheckKey(t.Context())
			expectNoSecret(t, "the key check's error", texts(err))
			client.CloseIdleConnections()
			expectNoSecret(t, "the log", logged())
		})
	}
}

// captureLog gives what the log package's standard logger wrote since.
func captureLog(t *testing.T) func() string {
	var b bytes.Buffer
	previous := log.Writer()
	log.SetOutput(&b)
	t.Cleanup(func() { log.SetOutput(previous) })
	return func() string {
		// The logger's own lock orders this after what was written.
		log.SetOutput(previous)
		return b.String()
	}
}

func TestALeadThatJSONCannotExpressIsRefusedWithoutBeingQuoted(t *testing.T) {
	address, connections := rawServer(t, func(int, *bufio.Reader, net.Conn) {})
	client := newClient(t, address)
	for _, lead := range []leads.Lead{
		{FirstName: "Ada", Cost: "Lovelace"},
		{FirstName: "Ada", Extra: map[string]any{"Ada": func() {}}},
		{FirstName: "Ada", Extra: map[string]any{"x": json.RawMessage("Lovelace")}},
	} {
		_, err := client.PostLead(t.Context(), lead, "acme:1")
		if !errors.Is(err, leads.Misconfigured) {
			t.Errorf("the post ended with %v", err)
		}
		expectNoSecret(t, "the error", texts(err))
		_, err = json.Marshal(lead)
		expectNoSecret(t, "encoding/json's error", fmt.Sprint(err))
	}
	var lead leads.Lead
	for _, text := range []string{`"Ada"`, `["Ada"]`, `{"first_name":"Ada" Lovelace}`, `null`} {
		err := lead.UnmarshalJSON([]byte(text))
		if err == nil {
			t.Errorf("%s was taken for a lead", text)
		}
		expectNoSecret(t, "the error", fmt.Sprint(err))
	}
	if connections.Load() != 0 {
		t.Error("something was sent")
	}
}
