package backfill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	journalVersion = 1
	// syncEvery bounds what is lost when the machine loses its power. What a killed
	// process has written is not lost.
	syncEvery = time.Second
	// journalLineMax bounds a line: an id of 200 characters, an event id of as many,
	// and what stands around them, all of it escaped.
	journalLineMax    = 16 << 10
	eventIDMax        = 200
	idempotencyKeyMax = 200
)

// A binding ties a journal to one run: to the same leads, sent in the same way to
// the same place. It is the journal's first line.
type binding struct {
	Version   int    `json:"leads_journal"`
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Format    string `json:"format"`
	Namespace string `json:"namespace"`
	IDField   string `json:"id_field"`
	Columns   string `json:"columns,omitempty"`
	Address   string `json:"address"`
	Keys      string `json:"keys"`
}

// difference says what a journal was written for that this run is not, empty when
// it is the same run.
func (b binding) difference(other binding) string {
	switch {
	case b.SHA256 != other.SHA256 || b.Bytes != other.Bytes:
		return "another input, or this one before it was changed"
	case b.Address != other.Address:
		return "another address"
	case b.Keys != other.Keys:
		return "a key of the other kind, live or test"
	case b.Namespace != other.Namespace:
		return "another --namespace"
	case b != other:
		return "another --id-field, --map, --delimiter or format"
	}
	return ""
}

// An entry is what became of a row: one line of the journal.
type entry struct {
	Row     int64  `json:"row"`
	Line    int64  `json:"line"`
	ID      string `json:"id,omitempty"`
	Status  string `json:"status"`
	EventID string `json:"event_id,omitempty"`
	Code    string `json:"code,omitempty"`
}

const (
	statusAccepted  = "accepted"
	statusDuplicate = "duplicate"
	statusRefused   = "refused"
)

// A journal is an append-only file of the rows that are settled. A line counts once
// its line feed is there, so a process may be killed at any byte.
type journal struct {
	path    string
	file    *os.File
	settled rowSet
	// counts has the rows of each status, and those of the code duplicateID.
	counts map[string]int64
	// continued is true when the journal was there before.
	continued bool
	failed    bool
	pending   bytes.Buffer
	synced    time.Time
	dirty     bool
}

// openJournal continues the journal at path, or begins one. No file that is not this
// run's journal is written to.
func openJournal(path string, bound binding) (*journal, error) {
	j := &journal{path: path, counts: map[string]int64{}, synced: time.Now(), continued: true}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		j.continued = false
		if err := createJournal(path, bound); err != nil {
			return nil, setupError("The journal cannot be made: " + (&RecordError{path, err}).Error() + ". Name another place with --journal.")
		}
		file, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, setupError("The journal " + path + " cannot be opened for writing.")
	}
	j.file = file
	if err := lock(file); err != nil {
		file.Close()
		return nil, setupError("Another run has the journal " + path + " open. Wait until it ends.")
	}
	if err := j.read(bound); err != nil {
		file.Close()
		return nil, err
	}
	return j, nil
}

// createJournal puts the first line there whole or not at all.
func createJournal(path string, bound binding) error {
	text, err := json.Marshal(bound)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(text, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	// Unlike a rename, a link never replaces a journal that somebody else has just made.
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return os.Rename(file.Name(), path)
	}
	return nil
}

// read takes in what is settled and cuts off what a killed run left unfinished.
func (j *journal) read(bound binding) error {
	lines := bufio.NewReaderSize(j.file, journalLineMax)
	first, err := lines.ReadSlice('\n')
	var written binding
	if err != nil || json.Unmarshal(first, &written) != nil || written.Version != journalVersion {
		return setupError(j.path + " is not a journal of this version of leads. Name another file with --journal.")
	}
	if difference := written.difference(bound); difference != "" {
		return setupError("The journal " + j.path + " belongs to a run for " + difference +
			". To continue that run, repeat its command. To begin a new one, name another file with --journal; leads that were posted before are not stored twice.")
	}
	whole := int64(len(first))
	for {
		text, err := lines.ReadSlice('\n')
		var e entry
		// After a loss of power the end may be anything. Rows that are not settled are
		// posted again under the same idempotency keys.
		if err != nil || json.Unmarshal(text, &e) != nil || !j.take(e, bound.Bytes) {
			break
		}
		whole += int64(len(text))
	}
	if err := j.file.Truncate(whole); err != nil {
		return setupError((&RecordError{j.path, err}).Error() + ".")
	}
	if _, err := j.file.Seek(whole, io.SeekStart); err != nil {
		return setupError((&RecordError{j.path, err}).Error() + ".")
	}
	return nil
}

// take counts an entry in, and reports whether it can be one of an input of so many
// bytes.
func (j *journal) take(e entry, bytesMax int64) bool {
	known := e.Status == statusAccepted || e.Status == statusDuplicate || e.Status == statusRefused
	if !known || e.Row < 1 || e.Row > bytesMax {
		return false
	}
	j.count(e)
	return true
}

func (j *journal) count(e entry) {
	if !j.settled.add(e.Row) {
		return
	}
	j.counts[e.Status]++
	if e.Code == string(duplicateID) {
		j.counts[e.Code]++
	}
}

// add takes an entry in, which flush writes.
func (j *journal) add(e entry) {
	if len(e.EventID) > eventIDMax {
		e.EventID = ""
	}
	if len(e.ID) > idempotencyKeyMax {
		e.ID = ""
	}
	j.count(e)
	if j.file == nil {
		return
	}
	// Strings and numbers can always be marshalled.
	text, _ := json.Marshal(e)
	j.pending.Write(append(text, '\n'))
}

// flush hands the entries to the system, and once in a while to the disk. It does not
// write behind a line that it could not finish.
func (j *journal) flush(now bool) error {
	if j.file == nil || j.failed {
		return nil
	}
	if j.pending.Len() > 0 {
		if _, err := j.file.Write(j.pending.Bytes()); err != nil {
			j.failed = true
			return &RecordError{j.path, err}
		}
		j.pending.Reset()
		j.dirty = true
	}
	if j.dirty && (now || time.Since(j.synced) >= syncEvery) {
		if err := j.file.Sync(); err != nil {
			j.failed = true
			return &RecordError{j.path, err}
		}
		j.dirty, j.synced = false, time.Now()
	}
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.flush(true)
	if closed := j.file.Close(); err == nil && closed != nil {
		err = &RecordError{j.path, closed}
	}
	return err
}
