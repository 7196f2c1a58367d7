package backfill

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"leads.example/leads-cli/internal/object"
)

// rowBytesMax bounds one row. The service takes leads of 64 KiB; a row of more than
// this is a file that is not what it was said to be.
const rowBytesMax = 1 << 20

// A row is one lead of the input.
type row struct {
	number int64 // Counts the rows from 1; blank lines are none.
	line   int64 // Where it begins, from 1.
	end    int64 // How many bytes of the input end with it.
	id     string
	lead   []byte // As it is sent; nil when there is a fault.
	// fault is why it is not posted, empty when it can be.
	fault fault
	// fields are the failing fields, where a fault is about some.
	fields map[string]string
	// first is the line of the row with the same id.
	first int64
}

// A fault is why a row is refused without asking the service.
type fault string

const (
	notJSON      fault = "not_a_json_object"
	notUTF8      fault = "not_utf8"
	badCSV       fault = "not_csv"
	wrongColumns fault = "wrong_number_of_columns"
	notANumber   fault = "not_a_number"
	tooLong      fault = "row_too_long"
	noID         fault = "no_id"
	badID        fault = "bad_id"
	duplicateID  fault = "duplicate_id"
)

// A source gives rows in order, and io.EOF after the last.
type source interface {
	next() (row, error)
}

// errRowTooLong ends a reading that cannot find the next row.
var errRowTooLong = errors.New("a row is longer than 1 MiB")

// byteOrderMark stands before the text in files of some spreadsheets.
var byteOrderMark = []byte("\xef\xbb\xbf")

// readObject fills in a row from a line of NDJSON, which is sent as it is.
func (r *row) readObject(text []byte, idField string) {
	if !utf8.Valid(text) {
		r.fault = notUTF8
		return
	}
	members, ok := object.Members(text)
	if !ok {
		r.fault = notJSON
		return
	}
	r.id, ok = readID(members[idField])
	if !ok {
		r.fault = noID
	}
	r.lead = bytes.Clone(text)
}

// readID takes a string or a number, digit for digit.
func readID(raw json.RawMessage) (string, bool) {
	var id string
	if number, ok := object.Number(string(raw)); ok {
		return string(number), true
	}
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &id) != nil {
		return "", false
	}
	return id, id != ""
}

// grouped writes a number with a comma after each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
