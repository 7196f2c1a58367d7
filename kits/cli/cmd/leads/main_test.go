package main_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const (
	testKey = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"
	rows    = 400
)

// program is the binary, built once for all tests.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "leads-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(folder, "leads")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%v\n%s", err, said)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// A service stores leads by their idempotency keys. reached is closed when so many
// posts have come.
type service struct {
	url string

	mu      sync.Mutex
	stored  map[string]bool
	posts   int
	at      int
	reached chan struct{}
	// hold keeps posts after the one reached unanswered until it is closed.
	hold chan struct{}
}

func newService(t *testing.T) *service {
	s := &service{stored: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// when gives a channel that is closed once so many more posts have come.
func (s *service) when(posts int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.reached = s.posts+posts, make(chan struct{})
	return s.reached
}

// counts gives how many leads are stored, and how many posts came.
func (s *service) counts() (stored, posts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stored), s.posts
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.posts++
	if s.posts == s.at {
		close(s.reached)
	}
	var hold chan struct{}
	if s.at > 0 && s.posts >= s.at {
		hold = s.hold
	}
	key := r.Header.Get("Idempotency-Key")
	word, status := "accepted", http.StatusAccepted
	if s.stored[key] {
		word, status = "duplicate", http.StatusOK
	}
	if key != "" {
		s.stored[key] = true
	}
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if string(body) == "{}" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"error":"validation_failed","fields":{"phone":"required"}}`)
		return
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"event_id":"ev_1","status":%q,"received_at":"2026-01-02T03:04:05Z","source":"acme","flags":[]}`, word)
}

// A process is the program under way.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func (s *service) command(args ...string) *process {
	p := &process{Cmd: exec.Command(program, args...)}
	p.Env = []string{"LEADS_API_KEY=" + testKey, "LEADS_BASE_URL=" + s.url, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// code waits for the process, and gives -1 when a signal ended it.
func (p *process) code(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// backfill starts posting a file of leads, slowly enough to be met on the way.
func (s *service) backfill(t *testing.T, input string) *process {
	t.Helper()
	p := s.command("post", "--ndjson", input, "--namespace", "acme", "--id-field", "id", "--rate", "2000")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

func leads(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "{\"id\":%d,\"phone\":\"555 0100\"}\n", i)
	}
	path := filepath.Join(t.TempDir(), "leads.ndjson")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFirstSteps(t *testing.T) {
	s := newService(t)
	for _, test := range []struct {
		args  []string
		stdin string
		code  int
		says  string
	}{
		{[]string{"check"}, "", 0, "The key is valid."},
		{[]string{"post", "--idempotency-key", "acme:1"}, `{"phone":"555 0100"}`, 0, "Accepted as event ev_1"},
		{[]string{"post", "--idempotency-key", "acme:1"}, `{"phone":"555 0100"}`, 0, "was there already"},
		{[]string{"post", "--idempotency-key", "acme:2"}, `{}`, 1, "phone (required)"},
		{[]string{"post"}, `{}`, 2, "--idempotency-key"},
		{[]string{"version"}, "", 0, "leads-cli 0.1.0"},
	} {
		p := s.command(test.args...)
		p.Stdin = strings.NewReader(test.stdin)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		if code := p.code(t); code != test.code || !strings.Contains(p.stdout.String()+p.stderr.String(), test.says) {
			t.Errorf("leads %q ends with %d: %s%s", test.args, code, &p.stdout, &p.stderr)
		}
	}
}

func TestAnInterruptEndsABackfillInOrder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted by another one here")
	}
	s := newService(t)
	input := leads(t)
	reached := s.when(rows / 4)
	first := s.backfill(t, input)
	<-reached
	first.Process.Signal(os.Interrupt)
	if code := first.code(t); code != 75 || !strings.Contains(first.stderr.String(), "The same command goes on") {
		t.Fatalf("it ended with %d: %s", code, &first.stderr)
	}
	second := s.backfill(t, input)
	if code := second.code(t); code != 0 || !strings.HasSuffix(second.stdout.String(), " of them done before: 400 accepted, 0 there already, 0 refused.\n") {
		t.Errorf("it ended with %d: %s%s", code, &second.stdout, &second.stderr)
	}
	if stored, posts := s.counts(); stored != rows || posts != rows {
		t.Errorf("%d leads are stored after %d posts", stored, posts)
	}
}

func TestASecondInterruptEndsItAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted by another one here")
	}
	s := newService(t)
	s.hold = make(chan struct{})
	defer close(s.hold)
	reached := s.when(10)
	p := s.backfill(t, leads(t))
	<-reached
	ended := make(chan int)
	go func() { ended <- p.code(t) }()
	for {
		p.Process.Signal(os.Interrupt)
		select {
		case code := <-ended:
			// 75 when it was in order after all, on a machine where signals take long.
			if code != -1 && code != 75 {
				t.Errorf("it ended with %d", code)
			}
			return
		default:
			runtime.Gosched()
		}
	}
}

func TestAKilledBackfillGoesOnAndPostsEveryLeadOnce(t *testing.T) {
	s := newService(t)
	input := leads(t)
	for range 3 {
		reached := s.when(rows / 5)
		p := s.backfill(t, input)
		<-reached
		p.Process.Kill()
		p.code(t)
	}
	last := s.backfill(t, input)
	if code := last.code(t); code != 0 || !strings.HasPrefix(last.stdout.String(), "400 rows, ") {
		t.Errorf("it ended with %d: %s%s", code, &last.stdout, &last.stderr)
	}
	if stored, _ := s.counts(); stored != rows {
		t.Errorf("%d leads are stored", stored)
	}
}

func TestTheBinaryNeedsNothingBesideIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems' binaries always name the system's libraries")
	}
	binary, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	libraries, _ := binary.ImportedLibraries()
	for _, part := range binary.Progs {
		if part.Type == elf.PT_INTERP || len(libraries) > 0 {
			t.Errorf("it is linked to %v", libraries)
		}
	}
}
