package leads

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"testing"
)

// connected gives both ends of a real connection, one of them guarded.
func connected(t *testing.T) (guarded *guard, other net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	other, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return &guard{Conn: conn}, other
}

func TestAGuardedConnectionWithUnaskedBytesTakesNoRequest(t *testing.T) {
	guarded, other := connected(t)
	guarded.begin()
	io.WriteString(guarded, "POST")
	io.WriteString(other, "head\r\n\r\nokmore")
	for _, want := range []string{"head\r\n", "\r\n"} {
		read(t, guarded, want)
	}
	guarded.body(&http.Response{ContentLength: 2})
	read(t, guarded, "ok")
	guarded.begin()
	if n, err := guarded.Write([]byte("POST")); n != 0 || !errors.Is(err, errUnasked) {
		t.Errorf("the next request was written: %d bytes, %v", n, err)
	}
	if n, err := guarded.Read(make([]byte, bufferBytes)); n != 0 || err != io.EOF {
		t.Errorf("the next request was answered: %d bytes, %v", n, err)
	}
}

func TestBytesThatComeBeforeTheNextRequestSpoilIt(t *testing.T) {
	for _, read := range []bool{false, true} {
		if runtime.GOOS == "windows" && !read {
			continue // There is no looking ahead.
		}
		guarded, other := connected(t)
		guarded.Conn = &wire{Conn: guarded.Conn}
		guarded.rest(guarded.begin())
		guarded.begin()
		io.WriteString(other, "HTTP/1.1 202 OK\r\n")
		if read {
			if n, err := guarded.Read(make([]byte, bufferBytes)); n != 0 || err != io.EOF {
				t.Errorf("%d bytes were handed on, %v", n, err)
			}
		} else {
			for !wireOf(guarded).pending() {
				runtime.Gosched()
			}
		}
		if n, err := guarded.Write([]byte("POST")); n != 0 || !errors.Is(err, errUnasked) {
			t.Errorf("the next request was written: %d bytes, %v", n, err)
		}
		if !guarded.untouched() {
			t.Error("the request counts as sent")
		}
	}
}

func TestTheEndOfOneAnswerDoesNotDisturbTheNext(t *testing.T) {
	guarded, other := connected(t)
	first := guarded.begin()
	guarded.begin()
	guarded.rest(first) // net/http tells of the first after it has given the connection away.
	io.WriteString(guarded, "POST")
	io.WriteString(other, "head\n")
	read(t, guarded, "head\n")
}

func TestAGuardedConnectionEndsWhenBytesComeUnasked(t *testing.T) {
	guarded, other := connected(t)
	guarded.rest(guarded.begin())
	io.WriteString(other, "HTTP/1.1 202 OK\r\n")
	if n, err := guarded.Read(make([]byte, bufferBytes)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes were handed on, %v", n, err)
	}
}

func TestABodyThatLastsUntilTheEndIsHandedOnWhole(t *testing.T) {
	guarded, other := connected(t)
	guarded.begin()
	guarded.wrote = true
	guarded.body(&http.Response{ContentLength: -1})
	io.WriteString(other, "one\ntwo")
	other.Close()
	if text, err := io.ReadAll(guarded); string(text) != "one\ntwo" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAKeptConnectionOnWhichNothingWentOutCostsNoTry(t *testing.T) {
	remotes := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		remotes <- r.RemoteAddr
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, `{"event_id":"e","status":"accepted","received_at":"t","source":"s","flags":[]}`)
	}))
	defer server.Close()
	client, err := New(WithKey("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"), WithBaseURL(server.URL), WithTries(1))
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	var kept *guard
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { kept = info.Conn.(*guard) },
	})
	if _, err := client.PostJSON(ctx, []byte("{}"), "acme:1"); err != nil {
		t.Fatal(err)
	}
	// As if bytes had come meanwhile: the connection takes no request.
	kept.mu.Lock()
	kept.unread = []byte("x")
	kept.mu.Unlock()
	ack, err := client.PostJSON(t.Context(), []byte("{}"), "acme:2")
	if err != nil || ack.Tries != 1 {
		t.Fatalf("the second post gave %+v, %v", ack, err)
	}
	if first, second := <-remotes, <-remotes; first == second {
		t.Error("both posts came over one connection")
	}
}

// read expects one Read to give exactly want.
func read(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	p := make([]byte, bufferBytes)
	if n, err := conn.Read(p); string(p[:n]) != want || err != nil {
		t.Errorf("read %q, %v; not %q", p[:n], err, want)
	}
}
