// Package backfill posts the leads of a file, one after the other at a rate, and
// writes down what became of each, so that a run that was stopped in whatever way
// goes on where it was.
package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"leads.example/leads-go"
)

const (
	// grace is how long requests that are under way may take to end once the run stops.
	grace = 5 * time.Second
	// resultsMax is how many outcomes may wait while the disk takes its time.
	resultsMax = 256
	// RateDefault is what the service publishes for one address, in requests a second:
	// 120 a minute. Its limit for a key, 600 a minute, is above it.
	RateDefault = 2
	// RateMax and ConcurrencyMax bound what can be asked for.
	RateMax        = 100_000
	ConcurrencyMax = 64
	// ConcurrencyDefault keeps the rate up to answers of some seconds.
	ConcurrencyDefault = 8
)

// Format is how the leads stand in the input.
type Format string

const (
	// NDJSON is a JSON object a line.
	NDJSON Format = "ndjson"
	// CSV is a header row and a row for each lead.
	CSV Format = "csv"
)

// A Job is what a run does.
type Job struct {
	// Input is the file's path, or - for Stdin. A journal needs a file.
	Input  string
	Stdin  io.Reader
	Format Format
	// Namespace and the IDField of each row make up its idempotency key.
	Namespace string
	IDField   string
	// Delimiter and Mappings are for CSV.
	Delimiter rune
	Mappings  []Mapping

	// Journal and Refused are paths; empty ones are not written.
	Journal string
	Refused string
	// Address and Keys (live or test) tie the journal to where leads are posted.
	Address string
	Keys    string

	Client *leads.Client
	Call   []leads.CallOption
	// Observer hears of tries and waits.
	Observer leads.Observer
	Clock    leads.Clock
	// Rate is in requests a second, retries included.
	Rate        float64
	Concurrency int

	// Bar is where progress is drawn; nil for nowhere.
	Bar io.Writer
	// Unnamed is told how many columns of CSV have no name and are left out.
	Unnamed func(columns int)
	// Check reads the input without posting anything.
	Check bool
	// First is told the first row that can be posted, when Check is set.
	First func(lead []byte, idempotencyKey string)
}

// A Summary counts the rows that are settled, in earlier runs of the same journal too.
type Summary struct {
	Rows      int64 `json:"rows"`
	Accepted  int64 `json:"accepted"`
	Duplicate int64 `json:"duplicate"`
	Refused   int64 `json:"refused"`
	// Before is how many of them an earlier run had settled.
	Before int64 `json:"settled_before"`
	// DuplicateIDs counts the refused rows that have the id of an earlier one.
	DuplicateIDs int64 `json:"duplicate_ids"`
	// Whole is true when every row of the input is settled.
	Whole bool `json:"whole"`
}

// Run posts the rows that are not settled yet. An error says why it ended before the
// last: a [*SetupError] before anything was sent, an [*InputError], a [*RecordError],
// or the [*leads.Error] of a post that must not be followed by others. Rows that the
// service refuses are not errors.
func Run(ctx context.Context, job Job) (Summary, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	input, bound, err := job.open(reading)
	if err != nil {
		return Summary{}, err
	}
	defer input.Close()
	text := newSummed(&interruptible{ctx: reading, input: input})
	rows, err := job.source(text)
	if err != nil {
		return Summary{}, err
	}
	if table, ok := rows.(*table); ok && job.Unnamed != nil && table.unnamed > 0 {
		job.Unnamed(table.unnamed)
	}
	r := &run{job: job, text: text, bound: bound, journal: &journal{counts: map[string]int64{}}, refused: &refusedFile{}}
	if job.Check {
		return r.check(ctx, rows)
	}
	if job.Journal != "" {
		if r.journal, err = openJournal(job.Journal, bound); err != nil {
			return Summary{}, err
		}
	}
	r.before = r.journal.settled.count
	if r.refused, err = openRefused(job.Refused, r.journal.continued, bound.Bytes); err != nil {
		r.journal.close()
		return Summary{}, err
	}
	if job.Bar != nil {
		r.bar = newBar(job.Bar, job.Clock, r.before, bound.Bytes)
	}
	whole, err := r.post(ctx, reading, stop, rows)
	for _, closed := range []error{r.refused.close(), r.journal.close()} {
		if err == nil {
			err = closed
		}
	}
	return r.summary(whole), err
}

// open gives the input from its beginning, and what ties a journal to it. A pipe may keep
// it waiting until ctx is done.
func (job *Job) open(ctx context.Context) (io.ReadCloser, binding, error) {
	type opened struct {
		input io.ReadCloser
		bound binding
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		input, bound, err := job.openNow()
		done <- opened{input, bound, err}
	}()
	select {
	case o := <-done:
		return o.input, o.bound, o.err
	case <-ctx.Done():
		return nil, binding{}, ctx.Err()
	}
}

func (job *Job) openNow() (io.ReadCloser, binding, error) {
	bound := binding{
		Version: journalVersion, Format: string(job.Format), Namespace: job.Namespace, IDField: job.IDField,
		Columns: job.columns(), Address: job.Address, Keys: job.Keys,
	}
	if job.Input == "-" {
		return io.NopCloser(job.Stdin), bound, nil
	}
	file, err := os.Open(job.Input)
	if err != nil {
		return nil, bound, setupError("The file " + job.Input + " cannot be opened.")
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		return nil, bound, setupError(job.Input + " is no file.")
	}
	if job.Journal == "" {
		return file, bound, nil
	}
	sum := sha256.New()
	bound.Bytes, err = io.Copy(sum, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, bound, setupError("The file " + job.Input + " cannot be read from its beginning again, which a journal needs. Give it as - to post without one.")
	}
	bound.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return file, bound, nil
}

func (job *Job) columns() string {
	if job.Format != CSV {
		return ""
	}
	text := []string{string(job.Delimiter)}
	for _, mapping := range job.Mappings {
		text = append(text, mapping.Column+"="+mapping.Field)
	}
	return strings.Join(text, " ")
}

func (job *Job) source(input io.Reader) (source, error) {
	if job.Format == CSV {
		return newTable(input, job.Delimiter, job.Mappings, job.IDField)
	}
	return newNDJSON(input, job.IDField), nil
}

// A run is a Job that is under way. journal and refused belong to settle alone.
type run struct {
	job     Job
	text    *summed
	bound   binding
	journal *journal
	refused *refusedFile
	before  int64
	bar     *bar
}

// A result is a row and what came of posting it.
type result struct {
	row row
	ack *leads.Acknowledgement
	err error
}

// post runs a reader, posters, and, on this goroutine, the settling of what they find
// out. It reports whether all rows are settled.
func (r *run) post(ctx, reading context.Context, stop func(), rows source) (whole bool, err error) {
	posting, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(reading, func() {
		timer := time.AfterFunc(grace, abandon)
		context.AfterFunc(posting, func() { timer.Stop() })
	})()

	unsettled := make(chan row, r.job.Concurrency)
	results := make(chan result, resultsMax)
	var readError error
	var working sync.WaitGroup
	working.Add(1)
	go func() {
		defer working.Done()
		defer close(unsettled)
		readError = r.read(reading, rows, unsettled)
	}()
	p := newPacer(r.job.Clock, r.job.Rate)
	options := append(r.job.Call, leads.WithClock(pacedClock{r.job.Clock, p, reading}), leads.WithObserver(r.observer(p)))
	for range r.job.Concurrency {
		working.Add(1)
		go func() {
			defer working.Done()
			for row := range unsettled {
				if row.fault != "" {
					results <- result{row: row}
					continue
				}
				if p.waitForNew(reading) != nil {
					continue
				}
				ack, err := r.postRow(posting, row, options)
				if err == nil {
					row.lead = nil // Only what is refused is written down.
				}
				results <- result{row, ack, err}
			}
		}()
	}
	go func() {
		working.Wait()
		close(results)
	}()

	err = r.settle(results, stop)
	switch {
	case err != nil:
		return false, err
	case readError != nil && !errors.Is(readError, context.Canceled):
		return false, readError
	}
	return readError == nil && ctx.Err() == nil, nil
}

// read hands on the rows that are not settled yet, and finds ids that come twice.
func (r *run) read(ctx context.Context, rows source, unsettled chan<- row) error {
	// The journal's own set grows while rows are settled, by rows that are read already.
	settled := r.journal.settled
	settled.words = append([]uint64(nil), settled.words...)
	var ids idSet
	last := int64(1)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			return r.unchanged(last)
		}
		if err != nil {
			return inputError(last, err)
		}
		last = row.line
		r.name(&row, &ids)
		if settled.has(row.number) {
			continue
		}
		select {
		case unsettled <- row:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unchanged sees at the end whether the input was the one that the journal is bound to.
func (r *run) unchanged(last int64) error {
	if r.bound.SHA256 == "" || r.text.hex() == r.bound.SHA256 {
		return nil
	}
	return &InputError{last, "The input was changed while it was read. What was posted is what stood there then; look into the journal, and post the input as it is now with another one."}
}

func inputError(last int64, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, errRowTooLong) {
		return &InputError{last, "The row after the one at line " + grouped(last) + " is longer than 1 MiB; a quote may be missing. The rows after it were not read."}
	}
	var quote unclosedQuote
	if errors.As(err, &quote) {
		line := int64(quote.line)
		return &InputError{line, "The row that begins at line " + grouped(line) + " has a quote that nothing closes. It and what follows it were not posted."}
	}
	return &InputError{last, "The input cannot be read after line " + grouped(last) + "."}
}

// name finds out whether a row can have an idempotency key of its own.
func (r *run) name(row *row, ids *idSet) {
	if row.fault != "" {
		return
	}
	if _, err := leads.IdempotencyKey(r.job.Namespace, row.id); err != nil {
		row.fault = badID
		return
	}
	if first := ids.add(row.id, row.line); first != 0 {
		row.fault, row.first = duplicateID, first
	}
}

func (r *run) postRow(ctx context.Context, row row, options []leads.CallOption) (*leads.Acknowledgement, error) {
	key, err := leads.IdempotencyKey(r.job.Namespace, row.id)
	if err != nil {
		return nil, err
	}
	return r.job.Client.PostJSON(ctx, row.lead, key, options...)
}

// observer holds all posters back when the service asks one of them to wait.
func (r *run) observer(p *pacer) leads.Observer {
	return leads.Observer{
		Try: r.job.Observer.Try,
		Wait: func(wait leads.Wait) {
			if wait.RateLimited {
				p.hold(wait.Duration)
			}
			if r.job.Observer.Wait != nil {
				r.job.Observer.Wait(wait)
			}
		},
	}
}

// settle writes down what became of the rows until there are no more. The first error
// that concerns more than its row stops the run, and is returned.
func (r *run) settle(results <-chan result, stop func()) (first error) {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	fail := func(err error) {
		if err != nil && first == nil {
			first = err
			stop()
		}
	}
	for open := true; open; {
		select {
		case result, more := <-results:
			if open = more; more {
				fail(r.take(result))
			}
			for waiting := len(results); waiting > 0; waiting-- {
				fail(r.take(<-results))
			}
		case <-tick.C:
		}
		var failed *RecordError
		if errors.As(first, &failed) {
			continue // What cannot be written is not settled.
		}
		if err := r.refused.sync(); err != nil {
			fail(err)
			continue
		}
		fail(r.journal.flush(false))
		r.bar.draw(r.journal, false)
	}
	r.bar.draw(r.journal, true)
	return first
}

// take settles a row, or gives the error that concerns more than the row.
func (r *run) take(result result) error {
	row := result.row
	e := entry{Row: row.number, Line: row.line, ID: row.id}
	var failed *leads.Error
	switch {
	case row.fault != "":
		e.Status, e.Code = statusRefused, string(row.fault)
		if err := r.refused.write(refusal{
			Row: row.number, Line: row.line, ID: row.id, Code: e.Code, Fields: row.fields, FirstAtLine: row.first, Lead: row.lead,
		}); err != nil {
			return err
		}
	case result.err == nil:
		e.Status, e.EventID = string(result.ack.Status), result.ack.EventID
	case errors.As(result.err, &failed) && concernsTheRow(failed):
		e.Status, e.Code = statusRefused, failed.Code
		if err := r.refused.write(refusal{
			Row: row.number, Line: row.line, ID: row.id, HTTPStatus: failed.Status, Code: failed.Code, Fields: failed.Fields,
			RequestID: failed.RequestID, Lead: row.lead,
		}); err != nil {
			return err
		}
	default:
		return result.err
	}
	r.journal.add(e)
	r.bar.passed(row.end)
	return nil
}

// concernsTheRow tells the service's word on one lead from what would be said of every
// other, too: a redirect or a 404, for example, is about the address.
func concernsTheRow(err *leads.Error) bool {
	switch err.Kind {
	case leads.InvalidLead:
		return true
	case leads.Refused:
		ours := err.Code != "" && (err.Status == http.StatusBadRequest || err.Status == http.StatusUnprocessableEntity)
		// A proxy may find a lead too large before the service does.
		return ours || err.Status == http.StatusRequestEntityTooLarge
	}
	return false
}

func (r *run) summary(whole bool) Summary {
	counts := r.journal.counts
	return Summary{
		Rows:     r.journal.settled.count,
		Accepted: counts[statusAccepted], Duplicate: counts[statusDuplicate], Refused: counts[statusRefused],
		Before: r.before, DuplicateIDs: counts[string(duplicateID)], Whole: whole,
	}
}

// check reads all rows and posts none.
func (r *run) check(ctx context.Context, rows source) (Summary, error) {
	var ids idSet
	var summary Summary
	last := int64(1)
	for ctx.Err() == nil {
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			summary.Whole = true
			break
		}
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			return summary, inputError(last, err)
		}
		last = row.line
		r.name(&row, &ids)
		summary.Rows++
		switch {
		case row.fault == duplicateID:
			summary.DuplicateIDs++
			summary.Refused++
		case row.fault != "":
			summary.Refused++
		case r.job.First != nil:
			if key, err := leads.IdempotencyKey(r.job.Namespace, row.id); err == nil {
				r.job.First(row.lead, key)
				r.job.First = nil
			}
		}
	}
	return summary, nil
}
