package leads_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"leads.example/leads-go"
)

// serveTLS starts a server with a certificate of an authority of its own.
func serveTLS(t *testing.T, http2 bool, handler http.HandlerFunc) (address string, authority *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = x509.NewCertPool()
	authority.AddCert(server.Certificate())
	return server.URL, authority
}

func TestBothVersionsOfHTTPAreSpokenOverTLS(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP %d", version), func(t *testing.T) {
			var posts atomic.Int32
			var mu sync.Mutex
			remotes := map[string]bool{}
			address, authority := serveTLS(t, version == 2, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				remotes[r.RemoteAddr] = true
				mu.Unlock()
				if r.ProtoMajor != version {
					t.Errorf("the request came as %s", r.Proto)
				}
				if r.Method == http.MethodGet {
					answer(w, 200, `{"project_area":[],"project_service":[],"required":[]}`)
					return
				}
				body, _ := io.ReadAll(r.Body)
				if r.ContentLength != int64(len(body)) || r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("the post has length %d and accepts %q", r.ContentLength, r.Header.Get("Accept-Encoding"))
				}
				if posts.Add(1) == 3 {
					panic(http.ErrAbortHandler) // The third breaks off.
				}
				answer(w, 202, accepted)
			})
			client := newClient(t, address, leads.WithRootCAs(authority))
			for i := range 5 {
				ack, err := client.PostLead(t.Context(), ada, "acme:1")
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]int{true: 2, false: 1}[i == 2]; ack.Tries != want {
					t.Errorf("post %d spent %d tries", i, ack.Tries)
				}
			}
			if _, err := client.Vocabulary(t.Context()); err != nil {
				t.Error(err)
			}
			if len(remotes) > 4 { // Two, but for a held up machine.
				t.Errorf("the posts used %d connections", len(remotes))
			}
		})
	}
}

func TestACertificateOfAnUnknownAuthorityIsRefusedBeforeAnythingIsSent(t *testing.T) {
	address, _ := serveTLS(t, true, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	_, err := newClient(t, address, leads.WithRootCAs(x509.NewCertPool())).PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.UnknownOutcome || failed.Tries != leads.DefaultTries {
		t.Errorf("the post ended with %v", err)
	}
	if !errors.As(err, &certificate) {
		t.Error("the cause is not told")
	}
	expectNoSecret(t, "the error", texts(err))
}

// Through a proxy that tunnels, and hears nothing of what goes through.
func TestPostsGoThroughAProxyThatSeesOnlyTheAddress(t *testing.T) {
	for _, scheme := range proxySchemes {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2: %t", scheme, http2), func(t *testing.T) {
				address, authority := serveTLS(t, http2, func(w http.ResponseWriter, r *http.Request) {
					if (r.ProtoMajor == 2) != http2 {
						t.Errorf("the request came as %s", r.Proto)
					}
					answer(w, 202, accepted)
				})
				proxy, tunnels := serveProxy(t, scheme, authority)
				client := newClient(t, address, leads.WithRootCAs(authority), leads.WithProxy(http.ProxyURL(proxy)))
				for range 3 {
					if _, err := client.PostLead(t.Context(), ada, "acme:1"); err != nil {
						t.Fatal(err)
					}
				}
				client.CloseIdleConnections()
				if tunnels.Load() != 1 {
					t.Errorf("the proxy made %d tunnels", tunnels.Load())
				}
			})
		}
	}
}

func TestAProxyOfAnUnknownKindGetsNothing(t *testing.T) {
	address, connections := rawServer(t, func(int, *bufio.Reader, net.Conn) {})
	proxy := &url.URL{Scheme: "gopher", Host: strings.TrimPrefix(address, "http://")}
	_, err := newClient(t, "https://leads.example", leads.WithProxy(http.ProxyURL(proxy))).PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.UnknownOutcome || connections.Load() != 0 {
		t.Errorf("the post ended with %v, and %d connections came", err, connections.Load())
	}
}

func TestATryThatASilentProxyHoldsUpCanBeCancelled(t *testing.T) {
	for _, scheme := range []string{"http", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			address, _ := rawServer(t, func(_ int, reader *bufio.Reader, _ net.Conn) {
				reader.ReadByte()
				cancel()
				io.Copy(io.Discard, reader)
			})
			proxy := &url.URL{Scheme: scheme, Host: strings.TrimPrefix(address, "http://")}
			_, err := newClient(t, "https://leads.example", leads.WithProxy(http.ProxyURL(proxy))).PostLead(ctx, ada, "acme:1")
			var failed *leads.Error
			if !errors.As(err, &failed) || failed.Kind != leads.Cancelled || failed.UnknownOutcome {
				t.Errorf("the post ended with %v", err)
			}
		})
	}
}

func TestAProxyThatRefusesIsToldByItsStatus(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 407, "") })
	proxyURL, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newClient(t, "https://leads.example", leads.WithProxy(http.ProxyURL(proxyURL))).PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.UnknownOutcome || !strings.Contains(err.Error(), "407") {
		t.Errorf("the post ended with %v", err)
	}
}

// What follows an answer is not taken for the next one, nor written to a log.
func TestBytesThatNobodyAskedForAreDropped(t *testing.T) {
	for name, tail := range map[string]string{
		"of known length": whole(202, accepted),
		"in chunks":       fmt.Sprintf("HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(accepted), accepted),
		"without a body":  "HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		overAll(t, name, func(t *testing.T, way way) {
			address, connections, options := way.serve(t, func(n int, reader *bufio.Reader, conn net.Conn) {
				for readRequest(reader) != nil {
					io.WriteString(conn, tail+whole(200, strings.Replace(accepted, "ev_1", "Lovelace", 1)))
				}
			})
			logged := captureLog(t)
			client := newClient(t, address, append(options, leads.WithTries(1))...)
			for i := range 20 {
				ack, err := client.PostLead(t.Context(), ada, "acme:1")
				if err == nil && ack.EventID != "ev_1" {
					t.Errorf("post %d got the answer %s", i, ack.EventID)
				}
				if (err != nil) != (name == "without a body") {
					t.Errorf("post %d ended with %v", i, err)
				}
			}
			client.CloseIdleConnections()
			expectNoSecret(t, "the log", logged())
			if connections.Load() != 20 {
				t.Errorf("20 posts used %d connections", connections.Load())
			}
		})
	}
}
