package backfill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// A refusal is a line of the file of the refused. It has the lead, so that it can be
// corrected there and posted again; only the file's owner may read it.
type refusal struct {
	Row         int64             `json:"row"`
	Line        int64             `json:"line"`
	ID          string            `json:"id,omitempty"`
	HTTPStatus  int               `json:"http_status,omitempty"`
	Code        string            `json:"code"`
	Fields      map[string]string `json:"fields,omitempty"`
	OtherFields int               `json:"other_fields,omitempty"`
	RequestID   string            `json:"request_id,omitempty"`
	FirstAtLine int64             `json:"first_at_line,omitempty"`
	Lead        json.RawMessage   `json:"lead,omitempty"`
}

const (
	// leadKeptMax bounds the leads that are written here. The service takes 64 KiB; of
	// what is far over it, the line in the input tells enough.
	leadKeptMax = 256 << 10
	// fieldsKeptMax bounds how many failing fields are written. A lead has 15.
	fieldsKeptMax = 100
	// refusalBytesMax bounds a line that is read back.
	refusalBytesMax = 4 << 20
)

// bounded leaves out what would make a line too long to be read back.
func (r refusal) bounded() refusal {
	if len(r.Lead) > leadKeptMax {
		r.Lead = nil
	}
	if len(r.ID) > idempotencyKeyMax {
		r.ID = ""
	}
	r.Fields, r.OtherFields = ShownFields(r.Fields)
	return r
}

// refusedFile is made when the first row is refused.
type refusedFile struct {
	path    string
	file    *os.File
	written rowSet
	dirty   bool
}

// openRefused prepares for writing to path. A run that continues goes on with its
// file; one that begins takes no file that is there.
func openRefused(path string, continued bool, rowsMax int64) (*refusedFile, error) {
	r := &refusedFile{path: path}
	if path == "" {
		return r, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, setupError("The file of the refused, " + path + ", cannot be opened for writing.")
	}
	if !continued {
		info, err := file.Stat()
		if err != nil || info.Size() > 0 {
			file.Close()
			return nil, setupError("The file of the refused, " + path + ", is there already, of another run. Move it away, or name another one with --refused.")
		}
	}
	r.file = file
	if err := r.read(rowsMax); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// read finds the rows that a killed run wrote here and not into the journal, and cuts
// off what it did not finish.
func (r *refusedFile) read(rowsMax int64) error {
	lines := bufio.NewReaderSize(r.file, refusalBytesMax)
	var whole int64
	for spoiled := false; ; {
		text, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var row struct {
			Row int64 `json:"row"`
		}
		ours := err == nil && json.Unmarshal(text, &row) == nil && row.Row >= 1 && row.Row <= rowsMax
		if err == nil && !ours && whole > 0 {
			spoiled = true // After a loss of power the end may be anything.
			continue
		}
		if !ours || spoiled {
			return setupError("The file of the refused, " + r.path + ", was not written by this run. Name another one with --refused.")
		}
		r.written.add(row.Row)
		whole += int64(len(text))
	}
	if err := r.file.Truncate(whole); err != nil {
		return setupError((&RecordError{r.path, err}).Error() + ".")
	}
	if _, err := r.file.Seek(whole, io.SeekStart); err != nil {
		return setupError((&RecordError{r.path, err}).Error() + ".")
	}
	return nil
}

// write puts a refusal there, unless it is there already.
func (r *refusedFile) write(refused refusal) error {
	if r.path == "" || !r.written.add(refused.Row) {
		return nil
	}
	if r.file == nil {
		file, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return &RecordError{r.path, err}
		}
		r.file = file
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(refused.bounded()); err != nil {
		return &RecordError{r.path, errors.New("a row is not JSON")}
	}
	if _, err := r.file.Write(text.Bytes()); err != nil {
		return &RecordError{r.path, err}
	}
	r.dirty = true
	return nil
}

// sync is called before the journal says that the rows are settled.
func (r *refusedFile) sync() error {
	if !r.dirty {
		return nil
	}
	if err := r.file.Sync(); err != nil {
		return &RecordError{r.path, err}
	}
	r.dirty = false
	return nil
}

func (r *refusedFile) close() error {
	if r.file == nil {
		return nil
	}
	err := r.sync()
	if closed := r.file.Close(); err == nil && closed != nil {
		err = &RecordError{r.path, closed}
	}
	return err
}
