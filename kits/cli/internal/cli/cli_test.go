package cli

import (
	"bytes"
	"context"
	"encoding/json"
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
	"time"
)

const (
	testKey  = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"
	liveKey  = "lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN"
	formsKey = "form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS"
	ada      = `{"first_name":"Ada","last_name":"Lovelace","phone":"555 123 4567","cost":12.50,"external_id":"4711"}`
	accepted = `{"event_id":"ev_1","status":"accepted","received_at":"2026-01-02T03:04:05Z","source":"acme-web","flags":[]}`
)

// secrets are the strings that no message may hold.
var secrets = []string{testKey[10:30], liveKey[10:30], formsKey[10:30], "Ada", "Lovelace", "123 4567"}

// A service answers every request the same and keeps what came.
type service struct {
	url    string
	status int
	body   string

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func newService(t *testing.T, status int, body string) *service {
	t.Helper()
	s := &service{status: status, body: body}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(text))
		s.mu.Unlock()
		w.WriteHeader(s.status)
		io.WriteString(w, s.body)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// A said is how a command ended.
type said struct {
	code           int
	stdout, stderr string
}

func (s said) json(t *testing.T) map[string]any {
	t.Helper()
	var members map[string]any
	if strings.Count(s.stdout, "\n") != 1 || json.Unmarshal([]byte(s.stdout), &members) != nil {
		t.Fatalf("standard output is no line of JSON: %q", s.stdout)
	}
	return members
}

// leads runs a command with a key and an address in its environment, and sees to it
// that it says no secret on standard error.
func (s *service) leads(t *testing.T, stdin string, args ...string) said {
	t.Helper()
	return run(t, map[string]string{"LEADS_API_KEY": testKey, "LEADS_BASE_URL": s.url}, Deps{}, stdin, args...)
}

func run(t *testing.T, environment map[string]string, deps Deps, stdin string, args ...string) said {
	t.Helper()
	return runIn(t.Context(), t, environment, deps, strings.NewReader(stdin), args...)
}

func runIn(ctx context.Context, t *testing.T, environment map[string]string, deps Deps, stdin io.Reader, args ...string) said {
	t.Helper()
	if deps.Clock == nil {
		deps.Clock = &skippingClock{}
	}
	var stdout, stderr bytes.Buffer
	code := Run(ctx, args, func(name string) (string, bool) {
		value, ok := environment[name]
		return value, ok
	}, stdin, &stdout, &stderr, deps)
	for _, secret := range secrets {
		if strings.Contains(stderr.String(), secret) {
			t.Errorf("leads %.20q says %q on standard error", args, secret)
		}
	}
	return said{code, stdout.String(), stderr.String()}
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

func file(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestALeadIsSentAsItStandsInAFileOrOnStandardInput(t *testing.T) {
	s := newService(t, 202, accepted)
	text := "  " + ada + "\n"
	path := file(t, "lead.json", text, 0o600)
	for _, args := range [][]string{{path}, {"-"}, {}, {"--", path}} {
		got := s.leads(t, text, append([]string{"post", "--idempotency-key", "acme:1"}, args...)...)
		if got.code != ExitDone || got.stdout != "Accepted as event ev_1 from source acme-web.\n" || got.stderr != "" {
			t.Errorf("%q gives %+v", args, got)
		}
	}
	for i, body := range s.bodies {
		if body != text || s.requests[i].Header.Get("User-Agent") != "leads-cli/"+Version {
			t.Errorf("%q was sent by %s", body, s.requests[i].Header.Get("User-Agent"))
		}
	}
}

func TestALeadIsNamedInOneOfThreeWays(t *testing.T) {
	s := newService(t, 202, accepted)
	for _, args := range [][]string{
		{"--idempotency-key", "acme:4711"},
		{"--namespace", "acme", "--id", "4711"},
		{"--namespace=acme", "--id-field=external_id"},
	} {
		if got := s.leads(t, ada, append([]string{"post"}, args...)...); got.code != ExitDone {
			t.Errorf("%q gives %+v", args, got)
		}
	}
	for _, request := range s.requests {
		if key := request.Header.Get("Idempotency-Key"); key != "acme:4711" {
			t.Errorf("the lead was named %q", key)
		}
	}
	for _, args := range [][]string{
		{},
		{"--id", "1"},
		{"--namespace", "acme"},
		{"--namespace", "acme", "--id", "1", "--idempotency-key", "x"},
		{"--namespace", "acme", "--idempotency-key", "x"},
		{"--namespace", "acme", "--id-field", "none"},
		{"--namespace", " ", "--id", "1"},
		{"--idempotency-key", ""},
	} {
		if got := s.leads(t, ada, append([]string{"post"}, args...)...); got.code != ExitUsage || got.stderr == "" {
			t.Errorf("%q gives %+v", args, got)
		}
	}
	if len(s.requests) != 3 {
		t.Errorf("%d requests came", len(s.requests))
	}
}

func TestFieldsMakeALeadOrChangeOne(t *testing.T) {
	s := newService(t, 202, accepted)
	s.leads(t, "", "post", "--idempotency-key", "acme:1", "--field", "first_name=Grace", "--field", "cost=0.10", "--field", "note=a=b <c>")
	s.leads(t, ada, "post", "-", "--idempotency-key", "acme:1", "--field", "first_name=Grace")
	want := []string{
		`{"cost":0.10,"first_name":"Grace","note":"a=b \u003cc\u003e"}`,
		`{"cost":12.50,"external_id":"4711","first_name":"Grace","last_name":"Lovelace","phone":"555 123 4567"}`,
	}
	if strings.Join(s.bodies, "\n") != strings.Join(want, "\n") {
		t.Errorf("these were sent: %s", s.bodies)
	}
	for _, field := range []string{"cost=Lovelace", "Lovelace", "=Lovelace", "a=\xff"} {
		if got := s.leads(t, "", "post", "--idempotency-key", "acme:1", "--field", field); got.code != ExitUsage {
			t.Errorf("%q gives %+v", field, got)
		}
	}
	if got := s.leads(t, "[1]", "post", "-", "--idempotency-key", "acme:1", "--field", "a=b"); got.code != ExitUsage {
		t.Errorf("a field set in a list gives %+v", got)
	}
}

func TestADryRunShowsTheRequestWithoutTheKeyAndSendsNothing(t *testing.T) {
	s := newService(t, 202, accepted)
	got := s.leads(t, ada, "post", "--idempotency-key", "acme:1", "--dry-run", "--request-id", "r-1")
	want := "POST " + s.url + "/v1/intake\nX-API-Key: lead_test_… (not shown)\nContent-Type: application/json\n" +
		"Idempotency-Key: acme:1\nX-Request-Id: r-1\nUser-Agent: leads-cli/" + Version + "\n\n" + ada + "\n"
	if got.code != ExitDone || got.stdout != want || len(s.requests) != 0 {
		t.Errorf("got %+v", got)
	}
	told := s.leads(t, ada, "post", "--idempotency-key", "acme:1", "--dry-run", "--json").json(t)
	if told["body"] != ada || told["url"] != s.url+"/v1/intake" || strings.Contains(fmt.Sprint(told), testKey[10:20]) {
		t.Errorf("got %v", told)
	}
}

func TestExitCodesAndMessagesSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		status  int
		body    string
		code    int
		message string
	}{
		{202, accepted, ExitDone, ""},
		{401, `{"error":"unauthorized"}`, ExitRefused, "Ask whoever issued it"},
		{422, `{"error":"validation_failed","fields":{"phone":"required","cost":"out_of_range"}}`, ExitRefused, "cost (out_of_range), phone (required)"},
		{400, `{"error":"invalid_json"}`, ExitRefused, "could not read the lead (status 400 invalid_json)"},
		{413, `{"error":"body_too_large"}`, ExitRefused, "64 KiB"},
		{302, "", ExitRefused, "not followed"},
		{404, "", ExitRefused, "whether the address"},
		{503, `{"error":"not_accepting"}`, ExitLater, "Post it again later, with the same idempotency key."},
		{200, "<html>Ada", ExitLater, "not known whether the lead arrived"},
	} {
		s := newService(t, test.status, test.body)
		got := s.leads(t, ada, "post", "--idempotency-key", "acme:1")
		if got.code != test.code || !strings.Contains(got.stderr, test.message) || (test.code == 0) != (got.stderr == "") {
			t.Errorf("%d gives %+v", test.status, got)
		}
		if test.code != ExitDone && !strings.Contains(got.stderr, "Request id leads-cli-") {
			t.Errorf("no request id is told: %q", got.stderr)
		}
	}
}

func TestAKeyIsChecked(t *testing.T) {
	for status, want := range map[int]int{422: ExitDone, 401: ExitRefused, 503: ExitLater} {
		s := newService(t, status, `{"error":"validation_failed","fields":{}}`)
		if got := s.leads(t, "", "check"); got.code != want || got.stdout+got.stderr == "" {
			t.Errorf("%d gives %+v", status, got)
		}
	}
}

func TestTheKeyComesFromAFileTheEnvironmentOrAPrompt(t *testing.T) {
	s := newService(t, 422, `{"error":"validation_failed","fields":{}}`)
	address := map[string]string{"LEADS_BASE_URL": s.url}
	both := map[string]string{"LEADS_BASE_URL": s.url, "LEADS_API_KEY": testKey}
	prompt := Deps{ReadSecret: func(context.Context) (string, error) { return liveKey + " ", nil }}

	if got := run(t, both, prompt, "", "check", "--key-file", file(t, "key", liveKey+"\r\n", 0o600)); got.code != ExitDone || got.stderr != "" {
		t.Errorf("a file gives %+v", got)
	}
	if got := run(t, both, prompt, "", "check"); got.code != ExitDone {
		t.Errorf("the environment gives %+v", got)
	}
	if got := run(t, address, prompt, "", "check"); got.code != ExitDone || !strings.Contains(got.stderr, "API key") {
		t.Errorf("a prompt gives %+v", got)
	}
	for i, want := range []string{liveKey, testKey, liveKey} {
		if key := s.requests[i].Header.Get("X-API-Key"); key != want {
			t.Errorf("request %d has %s", i+1, key)
		}
	}
	if got := run(t, address, Deps{}, "", "check"); got.code != ExitUsage || !strings.Contains(got.stderr, "LEADS_API_KEY") {
		t.Errorf("no key gives %+v", got)
	}
	for _, text := range []string{"", formsKey, testKey + "x", strings.Repeat("x", fileBytesMax+1)} {
		if got := run(t, both, Deps{}, "", "check", "--key-file", file(t, "key", text, 0o600)); got.code != ExitUsage {
			t.Errorf("a file of %d bytes gives %+v", len(text), got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop := Deps{ReadSecret: func(ctx context.Context) (string, error) { return "", ctx.Err() }}
	if got := runIn(ctx, t, address, stop, strings.NewReader(""), "check"); got.code != ExitLater {
		t.Errorf("a prompt that is stopped gives %+v", got)
	}
	if len(s.requests) != 3 {
		t.Errorf("%d requests came", len(s.requests))
	}
}

func TestAKeyFileThatEverybodyMayReadIsWarnedOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files say nothing here")
	}
	s := newService(t, 422, `{"error":"validation_failed","fields":{}}`)
	got := s.leads(t, "", "check", "--key-file", file(t, "key", testKey, 0o644))
	if got.code != ExitDone || !strings.Contains(got.stderr, "chmod 600") {
		t.Errorf("got %+v", got)
	}
}

func TestAKeyAmongTheArgumentsIsRefusedAndNotRepeated(t *testing.T) {
	s := newService(t, 202, accepted)
	for _, args := range [][]string{
		{"check", testKey},
		{"check", "--key", liveKey},
		{"check", "--key-file=" + formsKey},
		{testKey},
		{"post", "--field", "x=" + testKey[:40], "--json"},
	} {
		got := s.leads(t, "", args...)
		if got.code != ExitUsage || !strings.Contains(got.stderr, "LEADS_API_KEY") || strings.Contains(got.stdout, testKey[10:20]) {
			t.Errorf("got %+v", got)
		}
	}
	if len(s.requests) != 0 {
		t.Error("something was sent")
	}
}

func TestWrongUsageIsToldWithoutRepeatingValues(t *testing.T) {
	s := newService(t, 202, accepted)
	for _, args := range [][]string{
		{},
		{"send"},
		{"Lovelace"},
		{"post", "--Lovelace"},
		{"post", "--frist_name=Lovelace"},
		{"post", "-x"},
		{"post", "a", "b"},
		{"post", "--tries"},
		{"post", "--tries", "Lovelace"},
		{"post", "--tries", "0"},
		{"post", "--deadline", "-1s"},
		{"post", "--json=yes"},
		{"post", "--idempotency-key", "acme:1", "/nowhere/Lovelace"},
		{"post", "--idempotency-key", "acme:1", "--rate", "3"},
		{"post", "--csv", "a", "--ndjson", "b"},
		{"post", "--csv", "a"},
		{"post", "--ndjson", "a", "--namespace", "acme", "--id-field", "id", "--map", "a=b"},
		{"post", "--ndjson", "/nowhere/a", "--namespace", "acme", "--id-field", "id"},
		{"post", "--ndjson", "-", "--journal", "x", "--namespace", "acme", "--id-field", "id"},
		{"post", "--csv", "a", "--namespace", "acme", "--id-field", "id", "--rate", "0"},
		{"post", "--csv", "a", "--namespace", "acme", "--id-field", "id", "--rate", "NaN"},
		{"post", "--csv", "a", "--namespace", "acme", "--id-field", "id", "--delimiter", "\""},
		{"check", "--ca-file", "/nowhere"},
		{"check", "--base-url", ""},
		{"check", "--base-url", "https://user:Lovelace@intake.example"},
		{"check", "--base-url", "http://intake.example"},
		{"idempotency-key", "acme"},
		{"idempotency-key", "acme", ""},
		{"completion", "tcsh"},
		{"help", "me"},
		{"version", "now"},
	} {
		if got := s.leads(t, "", args...); got.code != ExitUsage || got.stderr == "" || got.stdout != "" {
			t.Errorf("%q gives %+v", args, got)
		}
		told := s.leads(t, "", append(args, "--json")...)
		if len(args) > 0 && args[len(args)-1] != "--tries" && told.json(t)["error"].(map[string]any)["kind"] != "misconfigured" {
			t.Errorf("%q with --json gives %+v", args, told)
		}
	}
	if len(s.requests) != 0 {
		t.Error("something was sent")
	}
}

func TestTheVocabularyNeedsNoKeyAndSendsNone(t *testing.T) {
	s := newService(t, 200, `{"project_area":[{"area":"kitchen\u001b[31m","status":"confirmed"}],"project_service":["repair"],"required":["phone"]}`)
	got := run(t, map[string]string{"LEADS_BASE_URL": s.url}, Deps{}, "", "vocabulary")
	if got.code != ExitDone || !strings.Contains(got.stdout, "  kitchen?[31m (confirmed)\n") {
		t.Errorf("got %+v", got)
	}
	if key := s.requests[0].Header.Get("X-API-Key"); key != "" {
		t.Errorf("it was asked for with %s", key)
	}
}

func TestVerboseTellsOfTriesAndWaits(t *testing.T) {
	s := newService(t, 503, `{"error":"not_accepting"}`)
	got := s.leads(t, ada, "post", "--idempotency-key", "acme:1", "--verbose", "--tries", "2")
	if strings.Count(got.stderr, "POST: status 503 after ") != 2 || strings.Count(got.stderr, "waiting ") != 1 {
		t.Errorf("it says %s", got.stderr)
	}
}

func TestALeadIsReadWithinBoundsAndTheReadingCanBeStopped(t *testing.T) {
	s := newService(t, 202, accepted)
	for _, text := range []string{"", " \n", strings.Repeat(" ", fileBytesMax+1)} {
		if got := s.leads(t, text, "post", "--idempotency-key", "acme:1"); got.code != ExitUsage {
			t.Errorf("%d bytes give %+v", len(text), got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silence, _ := io.Pipe()
	environment := map[string]string{"LEADS_API_KEY": testKey, "LEADS_BASE_URL": s.url}
	got := runIn(ctx, t, environment, Deps{StdinIsTerminal: true}, silence, "post", "--idempotency-key", "acme:1")
	if got.code != ExitLater || len(s.requests) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestABackfillTellsWhatItCameTo(t *testing.T) {
	s := newService(t, 202, accepted)
	input := file(t, "leads.csv", "id,first_name\n1,Ada\n2,Bo\n2,Cy\n", 0o600)
	args := []string{"post", "--csv", input, "--namespace", "acme", "--id-field", "id", "--map", "id=external_id"}

	check := s.leads(t, "", append(args, "--dry-run")...)
	if check.code != ExitRefused || !strings.Contains(check.stdout, "2 rows would be posted, 1 refused") || !strings.Contains(check.stdout, `{"external_id":"1","first_name":"Ada"}`) || len(s.requests) != 0 {
		t.Errorf("checked: %+v", check)
	}
	got := s.leads(t, "", args...)
	if got.code != ExitRefused || got.stdout != "3 rows: 2 accepted, 0 there already, 1 refused (1 with an id that an earlier row has).\n" || !strings.Contains(got.stderr, input+".refused.ndjson") {
		t.Errorf("got %+v", got)
	}
	told := s.leads(t, "", append(args, "--json")...)
	if members := told.json(t); members["settled_before"] != 3.0 || members["whole"] != true || members["journal"] != input+".journal" || len(s.requests) != 2 {
		t.Errorf("again: %+v", told)
	}
	if other := s.leads(t, "", append(args, "--map", "first_name=")...); other.code != ExitUsage || !strings.Contains(other.stderr, "--journal") {
		t.Errorf("with other columns: %+v", other)
	}
}

func TestABackfillThatStopsSaysHowItGoesOn(t *testing.T) {
	for status, want := range map[int]int{401: ExitRefused, 404: ExitRefused, 503: ExitLater} {
		s := newService(t, status, `{"error":"some_code"}`)
		input := file(t, "leads.ndjson", "{\"id\":1}\n{\"id\":2}\n", 0o600)
		args := []string{"post", "--ndjson", input, "--namespace", "acme", "--id-field", "id"}
		got := s.leads(t, "", args...)
		if got.code != want || !strings.Contains(got.stderr, "The same command goes on") || !strings.HasPrefix(got.stdout, "0 rows: ") {
			t.Errorf("%d gives %+v", status, got)
		}
		told := s.leads(t, "", append(args, "--json")...)
		if members := told.json(t); told.code != want || members["whole"] != false || members["error"].(map[string]any)["status"] != float64(status) {
			t.Errorf("%d with --json gives %+v", status, told)
		}
	}
}

func TestHelpTellsOfEveryCommandAndOption(t *testing.T) {
	s := newService(t, 202, accepted)
	overview := s.leads(t, "", "help")
	for _, command := range commands() {
		if !strings.Contains(overview.stdout, "leads "+command.name) {
			t.Errorf("leads help does not tell of %s", command.name)
		}
		for _, args := range [][]string{{"help", command.name}, {command.name, "--help"}, {command.name, "-h"}} {
			got := s.leads(t, "", args...)
			if got.code != ExitDone {
				t.Errorf("%q gives %+v", args, got)
			}
			for _, option := range command.options {
				if !strings.Contains(got.stdout, "--"+option.name) || option.about == "" {
					t.Errorf("%q does not tell of --%s", args, option.name)
				}
			}
			for _, line := range strings.Split(got.stdout, "\n") {
				if len([]rune(line)) > 90 {
					t.Errorf("%q has a line of %d: %s", args, len(line), line)
				}
			}
		}
	}
	if got := s.leads(t, "", "--version"); got.stdout != "leads-cli "+Version+"\n" {
		t.Errorf("the version is %q", got.stdout)
	}
}

func TestTheReadmeTellsOfEveryCommandAndOption(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands() {
		for _, option := range command.options {
			if !strings.Contains(string(text), "`--"+option.name) {
				t.Errorf("README.md does not tell of --%s", option.name)
			}
		}
		if !strings.Contains(string(text), "`leads "+command.name) {
			t.Errorf("README.md does not tell of leads %s", command.name)
		}
	}
}

func TestCompletionCompletes(t *testing.T) {
	s := newService(t, 202, accepted)
	for _, shell := range shells {
		script := s.leads(t, "", "completion", shell)
		for _, command := range commands() {
			if script.code != ExitDone || !strings.Contains(script.stdout, command.name) {
				t.Errorf("the script for %s does not know %s", shell, command.name)
			}
		}
		if program, err := exec.LookPath(shell); err == nil && shell != "powershell" {
			check := exec.Command(program, "-n", file(t, "script", script.stdout, 0o600))
			if said, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", shell, err, said)
			}
		}
	}
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	script := file(t, "script", s.leads(t, "", "completion", "bash").stdout, 0o600)
	for words, want := range map[string]string{
		"leads ch":                                  "check",
		"leads completion z":                        "zsh",
		"leads help vo":                             "vocabulary",
		"leads post --idem":                         "--idempotency-key",
		"leads check --idem":                        "",
		"leads check --try":                         "--try-timeout",
		"leads post --namespace x --cs":             "--csv",
		"leads post " + filepath.Dir(script) + "/s": script,
	} {
		list := strings.Fields(words)
		ask := exec.Command(program, "-c", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _leads; echo "${COMPREPLY[*]}"`)
		ask.Args = append(ask.Args, append([]string{script}, list...)...)
		got, err := ask.Output()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%q is completed to %q, %v", words, got, err)
		}
	}
}

// A stranger may echo what was sent, as names and as reasons.
func TestOnlyWordsOfTheServicesAreShownOfFields(t *testing.T) {
	s := newService(t, 422, `{"error":"validation_failed","fields":{"phone":"required","`+testKey+`":"x","email":"Ada Lovelace"}}`)
	got := s.leads(t, ada, "post", "--idempotency-key", "acme:1")
	if got.code != ExitRefused || !strings.Contains(got.stderr, "phone (required), and 2 whose names or reasons are not the service's") {
		t.Errorf("got %+v", got)
	}
}

func TestWhatTheServiceSaysIsWrongIsToldToAPersonAndInAMemberOfItsOwn(t *testing.T) {
	s := newService(t, 400, `{"error":"invalid_json","detail":"cost is a string; a number is needed\u001b[2J"}`)
	environment := map[string]string{"LEADS_API_KEY": testKey, "LEADS_BASE_URL": s.url}
	args := []string{"post", "--idempotency-key", "acme:1"}
	if got := run(t, environment, Deps{StderrIsTerminal: true}, ada, args...); !strings.Contains(got.stderr, "The service says: cost is a string; a number is needed?[2J\n") {
		t.Errorf("got %+v", got)
	}
	got := run(t, environment, Deps{}, ada, append(args, "--json")...)
	if strings.Contains(got.stderr, "cost is a string") || !strings.Contains(got.stdout, `"detail":"cost is a string; a number is needed\u001b[2J"`) {
		t.Errorf("got %+v", got)
	}
}

func TestAFileWithoutRowsIsToldOf(t *testing.T) {
	s := newService(t, 202, accepted)
	path := file(t, "leads.csv", "id,phone\n", 0o600)
	for _, more := range [][]string{{}, {"--dry-run"}} {
		got := s.leads(t, "", append([]string{"post", "--csv", path, "--namespace", "acme", "--id-field", "id"}, more...)...)
		if got.code != ExitDone || !strings.Contains(got.stderr, "no rows") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAnOutputThatCannotBeWrittenIsTold(t *testing.T) {
	s := newService(t, 202, accepted)
	reader, writer := io.Pipe()
	reader.Close()
	var stderr bytes.Buffer
	environment := map[string]string{"LEADS_API_KEY": testKey, "LEADS_BASE_URL": s.url}
	for _, args := range [][]string{{"--json"}, {}} {
		code := Run(t.Context(), append([]string{"post", "--idempotency-key", "acme:1"}, args...), func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		}, strings.NewReader(ada), writer, &stderr, Deps{})
		if code != ExitLater || !strings.Contains(stderr.String(), "Standard output cannot be written") {
			t.Errorf("it ended with %d: %s", code, &stderr)
		}
	}
}

func TestADryRunDoesNotSteerTheTerminal(t *testing.T) {
	s := newService(t, 202, accepted)
	environment := map[string]string{"LEADS_API_KEY": testKey, "LEADS_BASE_URL": s.url}
	lead := "{\"x\":\"é\x1b[31m\u009b\x7f\xff\"}"
	for terminal, want := range map[bool]string{true: `{"x":"é\u001b[31m\u009b\u007f\xff"}`, false: lead} {
		got := run(t, environment, Deps{StdoutIsTerminal: terminal}, lead, "post", "--idempotency-key", "acme:1", "--dry-run")
		if !strings.HasSuffix(got.stdout, "\n\n"+want+"\n") {
			t.Errorf("on a terminal: %t, it says %q", terminal, got.stdout)
		}
	}
}

func TestColumnsWithoutANameAreToldOf(t *testing.T) {
	s := newService(t, 202, accepted)
	path := file(t, "leads.csv", "id,,phone,\n1,x,5,y\n", 0o600)
	args := []string{"post", "--csv", path, "--namespace", "acme", "--id-field", "id", "--dry-run"}
	if got := s.leads(t, "", args...); !strings.Contains(got.stderr, "there are 2") {
		t.Errorf("got %+v", got)
	}
}
