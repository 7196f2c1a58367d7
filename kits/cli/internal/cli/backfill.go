package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"leads.example/leads-cli/internal/backfill"
	"leads.example/leads-go"
)

func (in *invocation) backfill() error {
	job, err := in.job()
	if err != nil {
		return err
	}
	key, err := in.key()
	if err != nil {
		return err
	}
	if job.Client, job.Address, err = in.client(key); err != nil {
		return err
	}
	job.Keys = keyMode(key)
	if in.options.dryRun {
		return in.checkInput(job, key)
	}
	summary, err := backfill.Run(in.ctx, *job)
	if err == nil && !summary.Whole {
		err = stopped("Stopped.")
	}
	return in.tell(job, summary, err)
}

// job puts the options together, and refuses those that cannot be meant.
func (in *invocation) job() (*backfill.Job, error) {
	o := &in.options
	job := &backfill.Job{
		Format: backfill.NDJSON, Stdin: in.stdin, Delimiter: ',', Mappings: o.mappings,
		Rate: backfill.RateDefault, Concurrency: backfill.ConcurrencyDefault, Clock: in.clock(), Observer: in.observer(),
	}
	job.Unnamed = func(columns int) {
		fmt.Fprintf(in.stderr, "leads: Columns without a name are left out, and there are %d. Name them in the first row to send them.\n", columns)
	}
	switch {
	case o.csv != nil && o.ndjson != nil:
		return nil, usageError("Give one of --csv and --ndjson.")
	case len(in.args) > 0:
		return nil, usageError("The file goes with --csv or --ndjson; there is no other one to post.")
	case o.idempotencyKey != nil || o.id != nil || len(o.fields) > 0 || o.requestID != nil:
		return nil, usageError("--idempotency-key, --id, --field and --request-id are for one lead, not for a file of them.")
	case o.namespace == nil || o.idField == nil:
		return nil, usageError("Each lead needs a stable name: give --namespace and --id-field, the field or column that has your id.")
	case o.csv == nil && (len(o.mappings) > 0 || o.delimiter != 0):
		return nil, usageError("--map and --delimiter are for --csv.")
	}
	if o.csv != nil {
		job.Format, job.Input = backfill.CSV, *o.csv
	} else {
		job.Input = *o.ndjson
	}
	if _, err := leads.IdempotencyKey(*o.namespace, "0"); err != nil {
		return nil, err
	}
	job.Namespace, job.IDField = *o.namespace, *o.idField
	if o.delimiter != 0 {
		job.Delimiter = o.delimiter
	}
	if o.rate != nil {
		job.Rate = *o.rate
	}
	if o.concurrency != nil {
		job.Concurrency = *o.concurrency
	}
	if job.Input != "-" {
		job.Journal, job.Refused = job.Input+".journal", job.Input+".refused.ndjson"
	} else if o.journal != nil {
		return nil, usageError("A journal needs a file that can be read again; standard input cannot.")
	}
	if o.journal != nil {
		job.Journal = *o.journal
	}
	if o.refused != nil {
		job.Refused = *o.refused
	}
	if o.deadline != 0 {
		job.Call = append(job.Call, leads.WithDeadline(o.deadline))
	}
	if in.deps.StderrIsTerminal && !o.json && !o.verbose {
		job.Bar = in.stderr
	}
	return job, nil
}

// checkInput reads the whole input and posts nothing.
func (in *invocation) checkInput(job *backfill.Job, key string) error {
	job.Check, job.Journal, job.Refused = true, "", ""
	if !in.options.json {
		job.First = func(lead []byte, idempotencyKey string) {
			fmt.Fprintln(in.stdout, "The first request would be:")
			fmt.Fprintln(in.stdout)
			in.show(job.Address, key, idempotencyKey, lead)
			fmt.Fprintln(in.stdout)
		}
	}
	summary, err := backfill.Run(in.ctx, *job)
	if err == nil && !summary.Whole {
		err = stopped("Stopped. Nothing was sent.")
	}
	if err != nil {
		return err
	}
	in.warnOfNoRows(summary)
	if in.options.json {
		in.print(map[string]any{"rows": summary.Rows, "would_post": summary.Rows - summary.Refused, "would_refuse": summary.Refused, "duplicate_ids": summary.DuplicateIDs})
	} else {
		fmt.Fprintf(in.stdout, "%s would be posted, %s refused without asking the service%s. Nothing was sent.\n",
			rows(summary.Rows-summary.Refused), count(summary.Refused), ofDuplicates(summary))
	}
	if summary.Refused > 0 {
		return silent(ExitRefused)
	}
	return nil
}

// tell says what a run came to.
func (in *invocation) tell(job *backfill.Job, summary backfill.Summary, err error) error {
	var setup *backfill.SetupError
	if errors.As(err, &setup) {
		return err
	}
	if in.options.json {
		in.printRun(job, summary, err)
	} else {
		before := ""
		if summary.Before > 0 {
			before = ", " + count(summary.Before) + " of them done before"
		}
		fmt.Fprintf(in.stdout, "%s%s: %s accepted, %s there already, %s refused%s.\n", rows(summary.Rows), before,
			count(summary.Accepted), count(summary.Duplicate), count(summary.Refused), ofDuplicates(summary))
	}
	if summary.Refused > 0 && job.Refused != "" {
		fmt.Fprintf(in.stderr, "leads: The refused rows and why are in %s. Correct them, and post them from a new file under the same ids.\n", job.Refused)
	}
	if err == nil {
		in.warnOfNoRows(summary)
		if summary.Refused > 0 {
			return silent(ExitRefused)
		}
		return nil
	}
	told := in.describe(err)
	next := ""
	if exitCode(told.Kind) != ExitUsage && job.Journal != "" {
		next = " The same command goes on after the rows that are done."
	} else if job.Journal == "" {
		next = " There is no journal: the same command posts all rows again, and those that are stored are not stored twice."
	}
	fmt.Fprintf(in.stderr, "leads: %s%s\n", told.Message, next)
	return silent(exitCode(told.Kind))
}

func (in *invocation) warnOfNoRows(summary backfill.Summary) {
	if summary.Rows == 0 && summary.Whole {
		fmt.Fprintln(in.stderr, "leads: The input has no rows.")
	}
}

func (in *invocation) printRun(job *backfill.Job, summary backfill.Summary, err error) {
	told := struct {
		backfill.Summary
		Journal     *string  `json:"journal"`
		RefusedFile *string  `json:"refused_file"`
		Error       *failure `json:"error,omitempty"`
	}{Summary: summary}
	if job.Journal != "" {
		told.Journal = &job.Journal
	}
	if job.Refused != "" && summary.Refused > 0 {
		told.RefusedFile = &job.Refused
	}
	if err != nil {
		described := in.describe(err)
		told.Error = &described
	}
	in.print(told)
}

func ofDuplicates(summary backfill.Summary) string {
	if summary.DuplicateIDs == 0 {
		return ""
	}
	return " (" + count(summary.DuplicateIDs) + " with an id that an earlier row has)"
}

func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return count(n) + " rows"
}

// count writes a number with a comma after each thousand.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func (in *invocation) clock() leads.Clock {
	if in.deps.Clock != nil {
		return in.deps.Clock
	}
	return systemClock{}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
