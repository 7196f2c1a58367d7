package backfill

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func csvJob(t *testing.T, s *service, input string) Job {
	t.Helper()
	job := jobOf(t, s, input)
	job.Format = CSV
	return job
}

func TestAQuoteThatNothingClosesStopsTheRunWithItsLine(t *testing.T) {
	for _, rest := range []string{"3,7\n4,8\n", "", "3,7"} {
		s := newService(t)
		_, err := Run(t.Context(), csvJob(t, s, "id,phone\n1,5\n2,\"6\n"+rest))
		var input *InputError
		if !errors.As(err, &input) || input.Line != 3 || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("with %q behind, the run ended with %v", rest, err)
		}
		if keys := s.keys(); len(keys) != 1 {
			t.Errorf("%v were posted", keys)
		}
	}
}

func TestNoHeaderIsQuoted(t *testing.T) {
	for _, input := range []string{"Ada,\x1b[31mLovelace\n", "7,7\n"} {
		_, err := newTable(strings.NewReader(input), ',', nil, "id")
		var setup *SetupError
		if !errors.As(err, &setup) {
			t.Fatalf("%q gives %v", input, err)
		}
		for _, content := range []string{"Ada", "Lovelace", "\x1b", "7"} {
			if strings.Contains(err.Error(), content) {
				t.Errorf("the error quotes the file: %q", err)
			}
		}
	}
}

func TestLinesThatEndWithCRAloneAreAnError(t *testing.T) {
	var setup *SetupError
	if _, err := newTable(strings.NewReader("id,phone\r1,5\r2,6\r"), ',', nil, "id"); !errors.As(err, &setup) || !strings.Contains(err.Error(), "CR") {
		t.Errorf("got %v", err)
	}
}

func TestAnIDWithABlankAtAnEndIsNotAnothersID(t *testing.T) {
	s := newService(t)
	job := csvJob(t, s, "id,phone\n1,5\n1 ,6\n")
	summary := finish(t, job)
	if refused := lines(t, job.Refused); summary.Accepted != 1 || len(refused) != 1 || refused[0]["code"] != string(badID) {
		t.Errorf("got %+v, refused are %v", summary, refused)
	}
}

// A stranger may echo what was sent, as names and as reasons.
func TestOnlyWordsOfTheServicesAreKeptOfFields(t *testing.T) {
	s := newService(t)
	s.answers = func(string, int) (int, string) {
		return 422, `{"error":"validation_failed","fields":{"phone":"required","` + testKey + `":"required","email":"Ada Lovelace"}}`
	}
	job := newJob(t, s, 1)
	finish(t, job)
	text, _ := os.ReadFile(job.Refused)
	if strings.Contains(string(text), testKey) || strings.Contains(string(text), "Lovelace") ||
		!strings.Contains(string(text), `"fields":{"phone":"required"},"other_fields":2`) {
		t.Errorf("written down is %s", text)
	}
}

func TestGarbageAtTheEndOfTheRefusedIsCutOff(t *testing.T) {
	s := newService(t)
	job := jobOf(t, s, "x\n{\"id\":1}\ny\n")
	finish(t, job)
	whole, err := os.ReadFile(job.Refused)
	if err != nil {
		t.Fatal(err)
	}
	garbage := strings.Repeat("\x00", 30) + "\n"
	for _, end := range []string{garbage, garbage + garbage, garbage + "{"} {
		if err := os.WriteFile(job.Refused, []byte(string(whole)+end), 0o600); err != nil {
			t.Fatal(err)
		}
		finish(t, job)
		if text, _ := os.ReadFile(job.Refused); string(text) != string(whole) {
			t.Errorf("with %q behind, the file is %q", end, text)
		}
	}
	first, rest, _ := strings.Cut(string(whole), "\n")
	if err := os.WriteFile(job.Refused, []byte(first+"\n"+garbage+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	var setup *SetupError
	if _, err := Run(t.Context(), job); !errors.As(err, &setup) {
		t.Errorf("garbage before a row gives %v", err)
	}
}

// A silent input gives what it has and then nothing, and tells when it is waited for.
type silent struct {
	text    io.Reader
	waiting func()
}

func (s silent) Read(p []byte) (int, error) {
	if n, _ := s.text.Read(p); n > 0 {
		return n, nil
	}
	s.waiting()
	select {}
}

func TestARunThatWaitsForItsInputCanBeStopped(t *testing.T) {
	for _, format := range []Format{NDJSON, CSV} {
		for _, check := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			job := newJob(t, newService(t), 0)
			job.Input, job.Journal, job.Refused, job.Format, job.Check = "-", "", "", format, check
			job.Stdin = silent{strings.NewReader(""), cancel}
			if summary, err := Run(ctx, job); summary.Whole || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the run ended with %+v, %v", format, summary, err)
			}
		}
	}
}

func TestARefusalOfTheKeyEndsARunThatWaitsForItsInput(t *testing.T) {
	s := newService(t)
	s.answers = func(string, int) (int, string) { return 401, `{"error":"unauthorized"}` }
	job := newJob(t, s, 0)
	job.Input, job.Journal, job.Refused, job.Stdin = "-", "", "", silent{strings.NewReader("{\"id\":1}\n"), func() {}}
	if _, err := Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "unauthorized") {
		t.Errorf("the run ended with %v", err)
	}
}

func TestAnInputThatIsEditedDuringTheRunIsToldOf(t *testing.T) {
	s := newService(t)
	job := newJob(t, s, 20_000) // More than is read ahead.
	job.Rate = RateMax
	s.answers = func(_ string, nth int) (int, string) {
		if nth == 1 {
			file, err := os.OpenFile(job.Input, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Error(err)
			}
			io.WriteString(file, "{\"id\":0}\n")
			file.Close()
		}
		return 0, ""
	}
	var input *InputError
	if _, err := Run(t.Context(), job); !errors.As(err, &input) || !strings.Contains(err.Error(), "changed") {
		t.Errorf("the run ended with %v", err)
	}
}

func TestARetryGoesBeforeNewRows(t *testing.T) {
	p := newPacer(&manualClock{now: time.Unix(0, 0)}, 0.5)
	p.door <- struct{}{} // Some new row waits for its turn,
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 64)
	for range cap(ended) { // and many more behind it,
		go func() { ended <- p.waitForNew(ctx) }()
	}
	turn, now := p.take() // and yet the next turn is free.
	if turn != now {
		t.Errorf("the retry waits %s", turn.Sub(now))
	}
	cancel()
	for range cap(ended) {
		if <-ended == nil {
			t.Error("a new row went through")
		}
	}
}
