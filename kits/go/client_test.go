package leads_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"leads.example/leads-go"
)

func TestKeyAndAddressComeFromTheEnvironment(t *testing.T) {
	var key atomic.Value
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key.Store(r.Header.Get("X-API-Key"))
		answer(w, 202, accepted)
	})
	t.Setenv("LEADS_API_KEY", testKey)
	t.Setenv("LEADS_BASE_URL", address+"/")
	client, err := leads.New()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if _, err := client.PostLead(t.Context(), ada, "acme:1"); err != nil {
		t.Fatal(err)
	}
	if key.Load() != testKey {
		t.Error("another key was sent than the environment's")
	}
}

func TestArgumentsGoBeforeTheEnvironment(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, 202, accepted) })
	t.Setenv("LEADS_API_KEY", "lead_test_cut")
	t.Setenv("LEADS_BASE_URL", "https://nowhere.invalid")
	if _, err := newClient(t, address).PostLead(t.Context(), ada, "acme:1"); err != nil {
		t.Error(err)
	}
	if _, err := leads.New(leads.WithKey(""), leads.WithBaseURL(address)); !errors.Is(err, leads.Misconfigured) {
		t.Errorf("an empty key was given, and New said %v", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Setenv("LEADS_API_KEY", "")
	t.Setenv("LEADS_BASE_URL", "")
	https := leads.WithBaseURL("https://leads.example")
	key := leads.WithKey(testKey)
	for name, test := range map[string]struct {
		options []leads.Option
		message string
	}{
		"no key":           {[]leads.Option{https}, "LEADS_API_KEY"},
		"no address":       {[]leads.Option{key}, "LEADS_BASE_URL"},
		"forms key":        {[]leads.Option{https, leads.WithKey("form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS")}, "forms key"},
		"cut key":          {[]leads.Option{https, leads.WithKey(testKey[:40])}, "mistyped or cut off"},
		"mistyped key":     {[]leads.Option{https, leads.WithKey(strings.Replace(testKey, "J", "K", 1))}, "mistyped or cut off"},
		"key with a space": {[]leads.Option{https, leads.WithKey(testKey + " ")}, "mistyped or cut off"},
		"other key":        {[]leads.Option{https, leads.WithKey("sk_live_1234")}, "lead_live_"},
		"plain http":       {[]leads.Option{key, leads.WithBaseURL("http://leads.example")}, "https"},
		"other machine":    {[]leads.Option{key, leads.WithBaseURL("http://128.0.0.1")}, "https"},
		"mapped loopback":  {[]leads.Option{key, leads.WithBaseURL("http://[::ffff:127.0.0.1]")}, "https"},
		"near localhost":   {[]leads.Option{key, leads.WithBaseURL("http://localhost.example")}, "https"},
		"user information": {[]leads.Option{key, leads.WithBaseURL("https://hidden:word@leads.example")}, "user information"},
		"query":            {[]leads.Option{key, leads.WithBaseURL("https://leads.example/?")}, "query"},
		"fragment":         {[]leads.Option{key, leads.WithBaseURL("https://leads.example/#")}, "fragment"},
		"other scheme":     {[]leads.Option{key, leads.WithBaseURL("ftp://leads.example")}, "https"},
		"no scheme":        {[]leads.Option{key, leads.WithBaseURL("leads.example")}, "URL"},
		"no host":          {[]leads.Option{key, leads.WithBaseURL("https://")}, "URL"},
		"no such port":     {[]leads.Option{key, leads.WithBaseURL("https://leads.example:70000")}, "port"},
		"control":          {[]leads.Option{key, leads.WithBaseURL("https://leads.example/hidden\n")}, "URL"},
		"no tries":         {[]leads.Option{key, https, leads.WithTries(0)}, "one try"},
		"no deadline":      {[]leads.Option{key, https, leads.WithDeadline(0)}, "deadline"},
		"no try time-out":  {[]leads.Option{key, https, leads.WithTryTimeout(-1)}, "time-out"},
		"no clock":         {[]leads.Option{key, https, leads.WithClock(nil)}, "clock"},
		"no randomness":    {[]leads.Option{key, https, leads.WithRandom(nil)}, "jitter"},
		"request id":       {[]leads.Option{key, https, leads.WithRequestID("r")}, "request id"},
		"product":          {[]leads.Option{key, https, leads.WithProduct("a b", "1")}, "product"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := leads.New(test.options...)
			if client != nil || !errors.Is(err, leads.Misconfigured) {
				t.Fatalf("New gave %v and %v", client, err)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q does not speak of %q", err, test.message)
			}
			for _, secret := range append(secrets, "form_test_YNOL", "sk_live", "hidden", "word") {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q shows %q", err, secret)
				}
			}
		})
	}
}

func TestNewTakesThisMachineWithoutTLS(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:8080", "http://127.200.3.4/", "http://[::1]:8080/a/", "http://LOCALHOST", "https://leads.example/a/b//"} {
		if _, err := leads.New(leads.WithKey(testKey), leads.WithBaseURL(address)); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAPathOfTheAddressIsKept(t *testing.T) {
	var path atomic.Value
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path.Store(r.RequestURI)
		answer(w, 202, accepted)
	})
	if _, err := newClient(t, address+"/a%2Fb/c/").PostLead(t.Context(), ada, "acme:1"); err != nil {
		t.Fatal(err)
	}
	if path.Load() != "/a%2Fb/c/v1/intake" {
		t.Errorf("the post went to %v", path.Load())
	}
}

func TestGoroutinesShareAClientAndItsConnections(t *testing.T) {
	const workers, posts = 8, 25
	var mu sync.Mutex
	keys := map[string]int{}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys[r.Header.Get("Idempotency-Key")]++
		mu.Unlock()
		io.Copy(io.Discard, r.Body)
		answer(w, 202, accepted)
	})
	most := 0
	var client *leads.Client
	client = newClient(t, address, leads.WithObserver(leads.Observer{Try: func(leads.Try) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, leads.Connections(client))
	}}))
	var running sync.WaitGroup
	for worker := range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			for post := range posts {
				key, err := leads.IdempotencyKey("acme", string(rune('a'+worker))+string(rune('a'+post)))
				if err != nil {
					t.Error(err)
				}
				if _, err := client.PostLead(t.Context(), ada, key); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	running.Wait()
	if len(keys) != workers*posts {
		t.Errorf("%d different keys arrived of %d", len(keys), workers*posts)
	}
	if most > workers {
		t.Errorf("%d goroutines had %d connections", workers, most)
	}
}

func TestEightAtOnceKeepEightConnections(t *testing.T) {
	const workers, rounds = 8, 5
	var mu sync.Mutex
	remotes := map[string]bool{}
	arrived := make(chan chan struct{})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		remotes[r.RemoteAddr] = true
		mu.Unlock()
		goOn := make(chan struct{})
		arrived <- goOn
		<-goOn
		answer(w, 202, accepted)
	})
	client := newClient(t, address)
	for range rounds {
		var running sync.WaitGroup
		for range workers {
			running.Add(1)
			go func() {
				defer running.Done()
				if _, err := client.PostLead(t.Context(), ada, "acme:1"); err != nil {
					t.Error(err)
				}
			}()
		}
		var held []chan struct{}
		for range workers {
			held = append(held, <-arrived)
		}
		for _, goOn := range held {
			close(goOn)
		}
		running.Wait()
	}
	// net/http lets go of one where the goroutine that wrote to it was held up.
	if len(remotes) < workers || len(remotes) > 2*workers {
		t.Errorf("%d posts at once used %d connections", workers, len(remotes))
	}
}

func TestOneConnectionServesPostsInTurn(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"of known length": func(w http.ResponseWriter, r *http.Request) { answer(w, 202, accepted) },
		"in chunks": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(202)
			for _, part := range strings.SplitAfter(accepted, ",") {
				io.WriteString(w, part)
				w.(http.Flusher).Flush()
			}
		},
		"longer than a buffer, in chunks": func(w http.ResponseWriter, r *http.Request) {
			answer(w, 202, accepted+strings.Repeat(" ", 50_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			remotes := map[string]bool{}
			client := newClient(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				remotes[r.RemoteAddr] = true
				io.Copy(io.Discard, r.Body)
				handler(w, r)
			}))
			for range 10 {
				if _, err := client.PostLead(t.Context(), ada, "acme:1"); err != nil {
					t.Fatal(err)
				}
			}
			if len(remotes) > 3 { // One, but for a held up machine: see above.
				t.Errorf("10 posts used %d connections", len(remotes))
			}
		})
	}
}

// net/http takes a request with an Idempotency-Key for one that it may send again.
func TestAPostThatWentOutIsNotQuietlySentAgain(t *testing.T) {
	var requests atomic.Int32
	address, connections := rawServer(t, func(n int, reader *bufio.Reader, conn net.Conn) {
		for first := true; ; first = false {
			if readRequest(reader) == nil {
				return
			}
			requests.Add(1)
			if n == 1 && !first {
				return // The kept connection ends without an answer.
			}
			io.WriteString(conn, whole(202, accepted))
		}
	})
	client := newClient(t, address, leads.WithTries(1))
	if _, err := client.PostLead(t.Context(), ada, "acme:1"); err != nil {
		t.Fatal(err)
	}
	_, err := client.PostLead(t.Context(), ada, "acme:2")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.Tries != 1 || !failed.UnknownOutcome {
		t.Errorf("the second post ended with %+v", err)
	}
	if requests.Load() != 2 || connections.Load() != 1 {
		t.Errorf("%d requests came over %d connections", requests.Load(), connections.Load())
	}
}

func TestAConnectionClosedBetweenPostsCostsNoTry(t *testing.T) {
	closed := make(chan struct{}, 2)
	address, connections := rawServer(t, func(n int, reader *bufio.Reader, conn net.Conn) {
		if readRequest(reader) == nil {
			return
		}
		// A reset reaches the client before the next post can be written.
		io.WriteString(conn, whole(202, accepted))
		conn.Close()
		closed <- struct{}{}
	})
	client := newClient(t, address, leads.WithTries(3))
	for i := range 2 {
		ack, err := client.PostLead(t.Context(), ada, "acme:1")
		if err != nil {
			t.Fatalf("post %d: %v", i, err)
		}
		<-closed
		if i == 0 && ack.Tries != 1 {
			t.Errorf("post %d spent %d tries", i, ack.Tries)
		}
	}
	if connections.Load() < 2 {
		t.Errorf("%d connections were made", connections.Load())
	}
}

func TestCancellingEndsATryAtOnce(t *testing.T) {
	asked := make(chan struct{})
	address, _ := rawServer(t, func(_ int, reader *bufio.Reader, conn net.Conn) {
		readRequest(reader)
		close(asked)
		reader.ReadByte() // Until the client hangs up.
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := newClient(t, address).PostLead(ctx, ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Cancelled || !failed.UnknownOutcome || !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled post ended with %+v", err)
	}
}

func TestCancellingEndsARealWaitAtOnce(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		answer(w, 503, `{"error":"not_accepting"}`)
	})
	ctx, cancel := context.WithCancel(t.Context())
	client, err := leads.New(leads.WithKey(testKey), leads.WithBaseURL(address), leads.WithDeadline(2*time.Hour),
		leads.WithObserver(leads.Observer{Wait: func(leads.Wait) { cancel() }}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	_, err = client.CheckKey(ctx)
	if !errors.Is(err, leads.Cancelled) || !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled check ended with %v", err)
	}
}

func TestNothingIsSentWithACancelledContext(t *testing.T) {
	address, connections := rawServer(t, func(int, *bufio.Reader, net.Conn) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := newClient(t, address)
	_, err1 := client.PostLead(ctx, ada, "acme:1")
	_, err2 := client.CheckKey(ctx)
	_, err3 := client.Vocabulary(ctx)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, leads.Cancelled) {
			t.Errorf("the call ended with %v", err)
		}
	}
	if connections.Load() != 0 {
		t.Errorf("%d connections were made", connections.Load())
	}
}

func TestADeadlineOfTheContextIsADeadlineOfTheCall(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7200")
		answer(w, 503, `{"error":"not_accepting"}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := newClient(t, address, leads.WithDeadline(24*time.Hour)).PostLead(ctx, ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.Status != 503 || failed.Tries != 1 {
		t.Errorf("the post ended with %+v", err)
	}

	expired, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	if _, err := newClient(t, address).PostLead(expired, ada, "acme:1"); !errors.Is(err, leads.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the post with an expired context ended with %v", err)
	}
}

func TestTheClockIsReplaced(t *testing.T) {
	var posts atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		answer(w, 503, `{"error":"not_accepting"}`)
	})
	clock := &skippingClock{}
	_, err := newClient(t, address, leads.WithTries(8), leads.WithDeadline(10*time.Minute), leads.WithClock(clock)).
		PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.Tries != 8 || posts.Load() != 8 {
		t.Fatalf("after %d posts: %+v", posts.Load(), err)
	}
	want := []time.Duration{750, 1500, 3000, 6000, 12000, 22500, 22500}
	for i, wait := range clock.waits {
		if wait != want[i]*time.Millisecond {
			t.Errorf("wait %d lasted %v", i+1, wait)
		}
	}
	if len(clock.waits) != len(want) {
		t.Errorf("waits: %v", clock.waits)
	}
}

func TestACallsOptionsGoBeforeTheClients(t *testing.T) {
	var id atomic.Value
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		id.Store(r.Header.Get("X-Request-Id"))
		answer(w, 503, "")
	})
	client := newClient(t, address)
	var failed *leads.Error
	_, err := client.PostLead(t.Context(), ada, "acme:1", leads.WithTries(1), leads.WithRequestID("mine-1"))
	if !errors.As(err, &failed) || failed.Tries != 1 || failed.RequestID != "mine-1" || id.Load() != "mine-1" {
		t.Errorf("the post ended with %+v", err)
	}
	_, err = client.PostLead(t.Context(), ada, "acme:1")
	if !errors.As(err, &failed) || failed.Tries != leads.DefaultTries || failed.RequestID != id.Load() {
		t.Errorf("the next post ended with %+v", err)
	}
	for _, option := range []leads.CallOption{leads.WithTries(0), leads.WithDeadline(0), leads.WithRequestID(""), leads.WithRequestID(strings.Repeat("r", 65)), leads.WithRequestID("ü"), leads.WithRequestID(" r"), leads.WithRequestID("r ")} {
		if _, err := client.CheckKey(t.Context(), option); !errors.Is(err, leads.Misconfigured) {
			t.Errorf("the check ended with %v", err)
		}
	}
}

func TestAProgramGivesItsOwnName(t *testing.T) {
	var agent, id atomic.Value
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent())
		id.Store(r.Header.Get("X-Request-Id"))
		answer(w, 202, accepted)
	})
	if _, err := newClient(t, address, leads.WithProduct("leads-cli", "1.2.3")).PostLead(t.Context(), ada, "acme:1"); err != nil {
		t.Fatal(err)
	}
	if agent.Load() != "leads-cli/1.2.3" || len(id.Load().(string)) != len("leads-cli-")+16 || !strings.HasPrefix(id.Load().(string), "leads-cli-") {
		t.Errorf("the post came from %v as %v", agent.Load(), id.Load())
	}
}

func TestTheObserverHearsOfTriesAndWaits(t *testing.T) {
	var posts atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch posts.Add(1) {
		case 1:
			answer(w, 503, "")
		case 2:
			answer(w, 429, "")
		case 3:
			panic(http.ErrAbortHandler)
		default:
			answer(w, 202, accepted)
		}
	})
	var told []any
	client := newClient(t, address, leads.WithObserver(leads.Observer{
		Try: func(try leads.Try) {
			if try.Duration <= 0 {
				t.Errorf("the try lasted %v", try.Duration)
			}
			try.Duration = 0
			told = append(told, try)
		},
		Wait: func(wait leads.Wait) { told = append(told, wait) },
	}))
	if _, err := client.PostLead(t.Context(), ada, "acme:1", leads.WithRequestID("r")); err != nil {
		t.Fatal(err)
	}
	want := []any{
		leads.Try{Method: "POST", Status: 503, RequestID: "r"},
		leads.Wait{Duration: 750 * time.Millisecond, RequestID: "r"},
		leads.Try{Method: "POST", Status: 429, RequestID: "r"},
		leads.Wait{Duration: 1125 * time.Millisecond, RateLimited: true, RequestID: "r"},
		leads.Try{Method: "POST", RequestID: "r"},
		leads.Wait{Duration: 1500 * time.Millisecond, RequestID: "r"},
		leads.Try{Method: "POST", Status: 202, RequestID: "r"},
	}
	if len(told) != len(want) {
		t.Fatalf("told %+v", told)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("told %+v, not %+v", told[i], want[i])
		}
	}
}

func TestAZeroClientRefusesEveryCall(t *testing.T) {
	var client leads.Client
	_, err1 := client.PostLead(t.Context(), ada, "acme:1")
	_, err2 := client.CheckKey(t.Context())
	_, err3 := client.Vocabulary(t.Context())
	client.CloseIdleConnections()
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, leads.Misconfigured) {
			t.Errorf("the call ended with %v", err)
		}
	}
}

func TestAnErrorsReasonIsPartOfItsText(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusUnauthorized, `{"error":"unauthorized"}`)
	})
	_, err := newClient(t, address).PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	if !errors.As(err, &failed) || failed.Reason() == "" || !strings.Contains(err.Error(), ": "+failed.Reason()+" (") {
		t.Errorf("the reason is not in %v", err)
	}
}

func TestAnErrorTellsItsCause(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	_, err = newClient(t, "http://"+listener.Addr().String()).PostLead(t.Context(), ada, "acme:1")
	var failed *leads.Error
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &failed) || failed.UnknownOutcome {
		t.Errorf("a refused connection was told as %v", err)
	}
}

func TestALeadAsJSONIsSentByteForByte(t *testing.T) {
	var body atomic.Value
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		bytes, _ := io.ReadAll(r.Body)
		body.Store(string(bytes))
		answer(w, 202, accepted)
	})
	client := newClient(t, address)
	for _, lead := range []string{`{ "cost":1.10,  "first_name":"<\u0041>" }`, `[1,`, "\xff"} {
		if _, err := client.PostJSON(t.Context(), json.RawMessage(lead), "acme:1"); err != nil {
			t.Fatal(err)
		}
		if body.Load() != lead {
			t.Errorf("%q was sent as %q", lead, body.Load())
		}
	}
	if _, err := client.PostJSON(t.Context(), nil, "acme:1"); !errors.Is(err, leads.Misconfigured) {
		t.Errorf("no lead at all: %v", err)
	}
}

func TestVocabularyIsAskedForOnceByManyAndKept(t *testing.T) {
	var requests atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("X-API-Key") != "" {
			t.Error("the key was sent")
		}
		w.Header().Set("Cache-Control", "public, max-age=300")
		answer(w, 200, `{"project_area":[{"area":"attic","status":"confirmed"}],"project_service":["repair"],"required":["phone"]}`)
	})
	clock := &skippingClock{}
	client := newClient(t, address, leads.WithClock(clock))
	var running sync.WaitGroup
	for range 8 {
		running.Add(1)
		go func() {
			defer running.Done()
			vocabulary, err := client.Vocabulary(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if vocabulary.Areas[0] != (leads.Area{Area: "attic", Status: "confirmed"}) {
				t.Errorf("the vocabulary was changed: %v", vocabulary)
			}
			vocabulary.Areas[0].Area, vocabulary.Services[0] = "mine", "mine"
		}()
	}
	running.Wait()
	if requests.Load() != 1 {
		t.Errorf("8 callers made %d requests", requests.Load())
	}
	clock.Sleep(t.Context(), 301*time.Second)
	if _, err := client.Vocabulary(t.Context()); err != nil || requests.Load() != 2 {
		t.Errorf("after max-age %d requests were made, and %v", requests.Load(), err)
	}
}

func TestAnAnswerOfManyLevelsIsNoneOfOurs(t *testing.T) {
	deep := strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, 202, `{"event_id":"e","status":"accepted","received_at":"t","source":"s","flags":[],"x":`+deep+`}`)
	})
	var failed *leads.Error
	_, err := newClient(t, address, leads.WithTries(2)).PostLead(t.Context(), ada, "acme:1")
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || !failed.UnknownOutcome {
		t.Errorf("the post ended with %v", err)
	}
}

func TestTheTimeOutOfATryIsRealAndSpendsIt(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	var failed *leads.Error
	_, err := newClient(t, server.URL, leads.WithTries(2), leads.WithTryTimeout(20*time.Millisecond)).PostLead(t.Context(), ada, "acme:1")
	if !errors.As(err, &failed) || failed.Kind != leads.Unavailable || failed.Tries != 2 || failed.Status != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the post ended with %+v", err)
	}
}

// HTTP drops blanks at the ends of a header's value, so such a key would be another one.
func TestAnIdempotencyKeyWithABlankAtAnEndIsRefused(t *testing.T) {
	address, connections := rawServer(t, func(int, *bufio.Reader, net.Conn) {})
	client := newClient(t, address)
	for _, key := range []string{" a:1", "a:1 ", " ", ""} {
		if _, err := client.PostLead(t.Context(), ada, key); !errors.Is(err, leads.Misconfigured) {
			t.Errorf("%q gives %v", key, err)
		}
	}
	if _, err := leads.IdempotencyKey("a", "1 "); !errors.Is(err, leads.Misconfigured) {
		t.Errorf("the id %q gives %v", "1 ", err)
	}
	if connections.Load() != 0 {
		t.Error("something was sent")
	}
}

// A stillClock moves by what is slept and by nothing else.
type stillClock struct{ skippingClock }

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(0, 0).Add(c.skipped)
}

func TestAWaitThatWouldEndWithTheDeadlineIsNotBegun(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "8")
		answer(w, 503, `{"error":"unavailable"}`)
	})
	for deadline, waits := range map[time.Duration]int{8 * time.Second: 0, 8*time.Second + 1: 1} {
		clock := &stillClock{}
		_, err := newClient(t, address, leads.WithClock(clock), leads.WithDeadline(deadline)).PostLead(t.Context(), ada, "acme:1")
		if !errors.Is(err, leads.Unavailable) || len(clock.waits) != waits {
			t.Errorf("with the deadline %s the call waited %v and ended with %v", deadline, clock.waits, err)
		}
	}
}

func TestPlainHTTPGoesPastEveryProxy(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 202, accepted) })
	proxy, connections := rawServer(t, func(int, *bufio.Reader, net.Conn) {})
	proxyURL, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, address, leads.WithProxy(http.ProxyURL(proxyURL))).PostLead(t.Context(), ada, "acme:1"); err != nil || connections.Load() != 0 {
		t.Errorf("the post ended with %v, and the proxy saw %d connections", err, connections.Load())
	}
}
