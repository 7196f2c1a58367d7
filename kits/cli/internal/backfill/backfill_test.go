package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leads.example/leads-go"
)

const testKey = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"

// A service stores leads by their idempotency keys, and may be told to answer
// something else.
type service struct {
	url string

	mu     sync.Mutex
	stored map[string]string
	posts  []string
	// answers decides on a post before it is stored; 0 stores it.
	answers func(key string, nth int) (status int, body string)
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{stored: map[string]string{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lead, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts = append(s.posts, key)
	status, body := 0, ""
	if s.answers != nil {
		status, body = s.answers(key, len(s.posts))
	}
	if status == 0 {
		status = http.StatusAccepted
		word := "accepted"
		if s.stored[key] != "" {
			status, word = http.StatusOK, "duplicate"
		} else {
			s.stored[key] = string(lead)
		}
		body = fmt.Sprintf(`{"event_id":"event of %s","status":%q,"received_at":"2026-01-02T03:04:05Z","source":"acme","flags":[]}`, key, word)
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (s *service) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.stored))
}

func (s *service) postCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posts)
}

// A skippingClock adds waits to its time in place of sleeping.
type skippingClock struct {
	mu      sync.Mutex
	skipped time.Duration
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
	return ctx.Err()
}

// newJob makes a job of a file of so many leads with the ids 1, 2, 3, ….
func newJob(t *testing.T, s *service, count int) Job {
	t.Helper()
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "{\"id\":%d,\"first_name\":\"Ada\"}\n", i+1)
	}
	return jobOf(t, s, text.String())
}

func jobOf(t *testing.T, s *service, input string) Job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leads.ndjson")
	if err := os.WriteFile(path, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := leads.New(leads.WithKey(testKey), leads.WithBaseURL(s.url), leads.WithProxy(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return Job{
		Input: path, Format: NDJSON, Namespace: "acme", IDField: "id", Delimiter: ',',
		Journal: path + ".journal", Refused: path + ".refused.ndjson", Address: s.url, Keys: "test",
		Client: client, Clock: &skippingClock{}, Rate: 1000, Concurrency: 4,
	}
}

// lines reads a file's lines as JSON.
func lines(t *testing.T, path string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if line == "" {
			continue
		}
		var members map[string]any
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &members) != nil {
			t.Fatalf("%s has the line %q", path, line)
		}
		list = append(list, members)
	}
	return list
}

func finish(t *testing.T, job Job) Summary {
	t.Helper()
	summary, err := Run(t.Context(), job)
	if err != nil || !summary.Whole {
		t.Fatalf("the run ended with %v, %+v", err, summary)
	}
	return summary
}

func TestEveryRowIsPostedOnceAndWrittenDownWithItsEvent(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 100)
	if summary := finish(t, job); summary.Accepted != 100 || summary.Rows != 100 {
		t.Errorf("got %+v", summary)
	}
	if len(s.keys()) != 100 || s.stored["acme:7"] != `{"id":7,"first_name":"Ada"}` {
		t.Errorf("%d are stored, one is %s", len(s.keys()), s.stored["acme:7"])
	}
	entries := lines(t, job.Journal)
	if len(entries) != 101 {
		t.Fatalf("the journal has %d lines", len(entries))
	}
	for _, e := range entries[1:] {
		if e["event_id"] != fmt.Sprintf("event of acme:%v", e["id"]) {
			t.Errorf("an entry is %v", e)
		}
	}
	if lines(t, job.Refused) != nil {
		t.Error("there is a file of the refused, and none was")
	}
	if summary := finish(t, job); summary.Before != 100 || s.postCount() != 100 {
		t.Errorf("a second run gives %+v, and %d posts came", summary, s.postCount())
	}
}

func TestAJournalCutAtAnyByteIsContinued(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 4)
	finish(t, job)
	whole, err := os.ReadFile(job.Journal)
	if err != nil {
		t.Fatal(err)
	}
	header := strings.IndexByte(string(whole), '\n') + 1
	for cut := header; cut <= len(whole); cut++ {
		if err := os.WriteFile(job.Journal, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		before := s.postCount()
		settled := strings.Count(string(whole[header:cut]), "\n")
		summary := finish(t, job)
		if summary.Rows != 4 || summary.Before != int64(settled) || s.postCount()-before != 4-settled {
			t.Fatalf("cut at %d: %+v after %d posts", cut, summary, s.postCount()-before)
		}
		if entries := lines(t, job.Journal); len(entries) != 5 {
			t.Fatalf("cut at %d: the journal has %d lines", cut, len(entries))
		}
	}
}

func TestWhatALossOfPowerLeavesBehindIsCutOff(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 5)
	finish(t, job)
	whole, err := os.ReadFile(job.Journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{
		strings.Repeat("\x00", 100_000) + "\n{}\n",
		"{\"row\":9999999999999999,\"status\":\"accepted\"}\n",
		"{\"row\":0,\"status\":\"accepted\"}\n",
		"{\"row\":6,\"status\":\"posted\"}\n",
		"null\n",
	} {
		if err := os.WriteFile(job.Journal, append(slices.Clone(whole), rest...), 0o600); err != nil {
			t.Fatal(err)
		}
		if summary := finish(t, job); summary.Before != 5 || len(lines(t, job.Journal)) != 6 {
			t.Errorf("after %.60q: %+v", rest, summary)
		}
	}
}

func TestNoFileThatIsNotThisRunsJournalIsTouched(t *testing.T) {
	s := newService(t)
	for name, change := range map[string]func(*Job){
		"another input":      func(job *Job) { os.WriteFile(job.Input, []byte("{\"id\":1}\n"), 0o600) },
		"another namespace":  func(job *Job) { job.Namespace = "other" },
		"another id field":   func(job *Job) { job.IDField = "first_name" },
		"another address":    func(job *Job) { job.Address = "https://intake.example" },
		"a live key":         func(job *Job) { job.Keys = "live" },
		"the input itself":   func(job *Job) { job.Journal = job.Input },
		"a file of the user": func(job *Job) { os.WriteFile(job.Journal, []byte("my notes"), 0o600) },
		"an empty file":      func(job *Job) { os.WriteFile(job.Journal, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob(t, s, 3)
			finish(t, job)
			change(&job)
			before, _ := os.ReadFile(job.Journal)
			posts := s.postCount()
			var setup *SetupError
			if _, err := Run(t.Context(), job); !errors.As(err, &setup) {
				t.Errorf("got %v", err)
			}
			if after, _ := os.ReadFile(job.Journal); string(after) != string(before) || s.postCount() != posts {
				t.Error("the file was changed, or a lead was posted")
			}
		})
	}
}

func TestRefusedRowsAreWrittenDownAndDoNotStopTheRun(t *testing.T) {
	s := newService(t)
	s.answers = func(key string, _ int) (int, string) {
		switch key {
		case "acme:2":
			return 422, `{"error":"validation_failed","fields":{"phone":"required"}}`
		case "acme:4":
			return 400, `{"error":"invalid_json"}`
		case "acme:5":
			return 413, "<html>too large"
		}
		return 0, ""
	}
	job := jobOf(t, s, "{\"id\":1}\n{\"id\":2,\"first_name\":\"Ada\"}\nnonsense\n{\"id\":4}\n{\"id\":5}\n{\"id\":6}\n{\"id\":\"6\",\"x\":1}\n{\"id\":\"ü\"}\n")
	summary := finish(t, job)
	if summary.Accepted != 2 || summary.Refused != 6 || summary.DuplicateIDs != 1 {
		t.Errorf("got %+v", summary)
	}
	refused := map[float64]map[string]any{}
	for _, line := range lines(t, job.Refused) {
		refused[line["row"].(float64)] = line
	}
	for row, code := range map[float64]any{2: "validation_failed", 3: "not_a_json_object", 4: "invalid_json", 5: "", 7: "duplicate_id", 8: "bad_id"} {
		if refused[row]["code"] != code || refused[row]["line"] != row {
			t.Errorf("row %v is written down as %v", row, refused[row])
		}
	}
	if fmt.Sprint(refused[2]["fields"], refused[2]["lead"], refused[2]["http_status"], refused[7]["first_at_line"]) != "map[phone:required] map[first_name:Ada id:2] 422 6" {
		t.Errorf("row 2 is written down as %v, row 7 as %v", refused[2], refused[7])
	}
	for _, path := range []string{job.Refused, job.Journal} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}

	// Killed between the two files: the refusal is there, and the journal's entry is not.
	journal, _ := os.ReadFile(job.Journal)
	header := strings.IndexByte(string(journal), '\n') + 1
	os.WriteFile(job.Journal, journal[:header], 0o600)
	text, _ := os.ReadFile(job.Refused)
	os.WriteFile(job.Refused, append(text, `{"row":1`...), 0o600)
	if summary := finish(t, job); summary.Refused != 6 || len(lines(t, job.Refused)) != 6 {
		t.Errorf("continued: %+v, and %d lines", summary, len(lines(t, job.Refused)))
	}
}

func TestAFileOfAnotherRunsRefusedIsNotWrittenTo(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 1)
	os.WriteFile(job.Refused, []byte("{\"row\":1}\n"), 0o600)
	var setup *SetupError
	if _, err := Run(t.Context(), job); !errors.As(err, &setup) || s.postCount() != 0 {
		t.Errorf("got %v, and %d posts", err, s.postCount())
	}
}

func TestWhatConcernsMoreThanItsRowStopsTheRunAndSettlesNothing(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		kind   leads.Kind
	}{
		{401, `{"error":"unauthorized"}`, leads.Unauthorized},
		{404, "not here", leads.Refused},
		{302, "", leads.Refused},
		{400, "<html>", leads.Refused},
		{422, "<html>", leads.Refused},
		{503, `{"error":"not_accepting"}`, leads.Unavailable},
		{200, "<html>Log in to the hotel's network", leads.Unavailable},
	} {
		s := newService(t)
		job := newJob(t, s, 200)
		s.answers = func(_ string, nth int) (int, string) {
			if nth > 20 {
				return test.status, test.body
			}
			return 0, ""
		}
		summary, err := Run(t.Context(), job)
		if !errors.Is(err, test.kind) || summary.Whole || summary.Rows != 20 {
			t.Errorf("%d gives %v, %+v", test.status, err, summary)
		}
		s.answers = nil
		if summary := finish(t, job); summary.Accepted != 200 || summary.Before != 20 || len(s.keys()) != 200 {
			t.Errorf("continued after %d: %+v", test.status, summary)
		}
	}
}

func TestCancellingEndsTheRunWithAWholeJournal(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 500)
	ctx, cancel := context.WithCancel(t.Context())
	s.answers = func(_ string, nth int) (int, string) {
		if nth == 100 {
			cancel()
		}
		return 0, ""
	}
	summary, err := Run(ctx, job)
	if summary.Whole || err != nil && !errors.Is(err, leads.Cancelled) {
		t.Errorf("got %v, %+v", err, summary)
	}
	if stored := len(s.keys()); int64(stored) != summary.Accepted || stored == 500 || len(lines(t, job.Journal)) != stored+1 {
		t.Errorf("%d are stored, %d told, and the journal has %d lines", stored, summary.Accepted, len(lines(t, job.Journal)))
	}
	if summary := finish(t, job); summary.Accepted != 500 || s.postCount() != 500 {
		t.Errorf("continued: %+v after %d posts", summary, s.postCount())
	}
}

func TestCancellingEndsARealWaitAtOnce(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 3)
	ctx, cancel := context.WithCancel(t.Context())
	job.Clock = realClock{}
	job.Observer.Wait = func(leads.Wait) { cancel() }
	s.answers = func(string, int) (int, string) { return 429, `{"error":"rate_limited"}` }
	// Without an end to the wait this would take until the deadline of the call.
	if summary, err := Run(ctx, job); !errors.Is(err, leads.Cancelled) || summary.Rows != 0 {
		t.Errorf("got %v, %+v", err, summary)
	}
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestRetriesTakeTurnsToo(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 10)
	clock := &skippingClock{}
	job.Clock, job.Rate, job.Concurrency = clock, 0.1, 1
	s.answers = func(_ string, nth int) (int, string) {
		if nth%2 == 1 {
			return 503, `{"error":"not_accepting"}`
		}
		return 0, ""
	}
	finish(t, job)
	// 20 requests, ten seconds apart.
	if clock.skipped < 189*time.Second {
		t.Errorf("20 requests took %s", clock.skipped)
	}
}

func TestTwoRunsDoNotShareAJournal(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 2)
	var second error
	var once sync.Once
	s.answers = func(string, int) (int, string) {
		once.Do(func() { _, second = Run(context.Background(), job) })
		return 0, ""
	}
	finish(t, job)
	var setup *SetupError
	if !errors.As(second, &setup) || s.postCount() != 2 {
		t.Errorf("the second run gave %v, and %d posts came", second, s.postCount())
	}
}

func TestAPipeIsPostedWithoutAJournal(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 0)
	job.Input, job.Stdin, job.Journal, job.Refused = "-", strings.NewReader("{\"id\":1}\nx\n{\"id\":2}\n"), "", ""
	if summary := finish(t, job); summary.Accepted != 2 || summary.Refused != 1 {
		t.Errorf("got %+v", summary)
	}
}

func TestAJournalThatCannotBeWrittenEndsTheRun(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	j := &journal{path: "/dev/full", file: full, counts: map[string]int64{}}
	j.add(entry{Row: 1, Status: statusAccepted})
	var failed *RecordError
	if err := j.flush(true); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	if err := j.close(); err != nil {
		t.Errorf("it was written to again: %v", err)
	}
}

func TestCheckingReadsAndPostsNothing(t *testing.T) {
	s := newService(t)
	job := jobOf(t, s, "x\n{\"id\":1}\n{\"id\":1}\n{\"id\":2}\n")
	job.Check, job.Journal = true, ""
	var first string
	job.First = func(lead []byte, key string) { first += key + string(lead) }
	summary := finish(t, job)
	if summary.Rows != 4 || summary.Refused != 2 || summary.DuplicateIDs != 1 || first != `acme:1{"id":1}` || s.postCount() != 0 {
		t.Errorf("got %+v, the first is %s", summary, first)
	}
}

func TestTheBarShowsHowFarTheRunIs(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 50)
	var drawn strings.Builder
	job.Bar = &drawn
	finish(t, job)
	last := drawn.String()[strings.LastIndexByte(drawn.String(), '\r')+1:]
	if !strings.HasPrefix(last, "[########################] 100 %  50 rows, ") || !strings.HasSuffix(last, "\n") || len(last) > 80 {
		t.Errorf("at last it shows %q", last)
	}
}

func TestABarTellsWhatIsLeft(t *testing.T) {
	clock := &manualClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b := newBar(io.Discard, clock, 1000, 40_000)
	b.passed(10_000)
	got := b.text(2000, 3, clock.now.Add(500*time.Second))
	if want := "[######------------------]  25 %  2,000 rows, 3 refused, 2.0/s, 50 min left"; got != want {
		t.Errorf("it shows %q", got)
	}
	for seconds, want := range map[float64]string{3: "3 s", 61: "1 min", 50_000: "13 h 53 min", 1e6: "11 days"} {
		if got := remaining(seconds); got != want {
			t.Errorf("%v s are %q", seconds, got)
		}
	}
}

func TestIDsAreFoundASecondTime(t *testing.T) {
	var ids idSet
	if ids.add("a", 2) != 0 || ids.add("b", 3) != 0 || ids.add("a", 4) != 2 {
		t.Error("an id was not found, or one was that is new")
	}
}
