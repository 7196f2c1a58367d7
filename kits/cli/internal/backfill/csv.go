package backfill

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"leads.example/leads-cli/internal/object"
)

const (
	// columnsMax bounds the header row.
	columnsMax = 1000
	readBytes  = 64 << 10
)

// costField is the one field that is a number.
const costField = "cost"

// A Mapping says under which field a column of a CSV file is sent. An empty field
// leaves the column out.
type Mapping struct{ Column, Field string }

// table reads a lead a record of CSV. The first record names the columns.
type table struct {
	input   *boundedReader
	records *csv.Reader
	fields  []string // The field of each column, empty for one that is left out.
	id      int      // The column of the id.
	unnamed int      // Columns without a name, which are left out.
	number  int64
	object  object.Builder
}

// newTable reads the header row. Its errors are the user's to mend, and quote nothing of
// the file: what should be the header may be a lead.
func newTable(input io.Reader, delimiter rune, mappings []Mapping, idField string) (*table, error) {
	bounded := &boundedReader{input: input, left: rowBytesMax}
	buffered := bufio.NewReaderSize(bounded, readBytes)
	if start, err := buffered.Peek(len(byteOrderMark)); err == nil && string(start) == string(byteOrderMark) {
		buffered.Discard(len(byteOrderMark))
	}
	t := &table{input: bounded, records: csv.NewReader(buffered)}
	t.records.Comma = delimiter
	t.records.FieldsPerRecord = -1
	t.records.ReuseRecord = true
	header, err := t.records.Read()
	if errors.Is(err, io.EOF) {
		return nil, setupError("The file is empty; its first row has to name the columns.")
	}
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if strings.Contains(strings.Join(header, ""), "\r") {
		return nil, setupError("The lines of the file end with CR alone. Save it with line ends of LF or CRLF.")
	}
	if err != nil || len(header) > columnsMax || !utf8.ValidString(strings.Join(header, "")) {
		return nil, setupError("The first row does not name the columns of a CSV file in UTF-8.")
	}
	header = slices.Clone(header)
	t.fields = slices.Clone(header)
	for _, mapping := range mappings {
		column := slices.Index(header, mapping.Column)
		if column < 0 {
			return nil, noColumn(mapping.Column, "--map", header)
		}
		t.fields[column] = mapping.Field
	}
	for i, field := range t.fields {
		if header[i] == "" && field == "" {
			t.unnamed++
		}
		if first := slices.Index(t.fields[:i], field); field != "" && first >= 0 {
			return nil, setupError(fmt.Sprintf("Columns %d and %d would be sent under one name; leave one out with --map COLUMN=.", first+1, i+1))
		}
	}
	if t.id = slices.Index(header, idField); t.id < 0 {
		t.id = slices.Index(t.fields, idField)
	}
	if t.id < 0 || idField == "" {
		return nil, noColumn(idField, "--id-field", header)
	}
	return t, nil
}

// noColumn says that an option names a column that is not there.
func noColumn(column, option string, header []string) *SetupError {
	columns := "1 column"
	if len(header) != 1 {
		columns = fmt.Sprintf("%d columns", len(header))
	}
	return setupError(fmt.Sprintf("The file has no column %q, which %s names. Its first row, which has to name the columns, has %s; see its spelling, and --delimiter.",
		column, option, columns))
}

// An unclosedQuote swallows all rows after it.
type unclosedQuote struct{ line int }

func (unclosedQuote) Error() string { return "a quote is not closed" }

func (t *table) next() (row, error) {
	t.input.left = rowBytesMax + readBytes
	record, err := t.records.Read()
	var parse *csv.ParseError
	if err != nil && !errors.As(err, &parse) {
		return row{}, err
	}
	if parse != nil && errors.Is(parse.Err, csv.ErrQuote) && t.input.ended {
		return row{}, unclosedQuote{parse.StartLine}
	}
	t.number++
	r := row{number: t.number, end: t.records.InputOffset()}
	if parse != nil {
		r.line, r.fault = int64(parse.StartLine), badCSV
		return r, nil
	}
	line, _ := t.records.FieldPos(0)
	r.line = int64(line)
	t.fill(&r, record)
	return r, nil
}

// fill makes the lead of a record. Empty cells are left out.
func (t *table) fill(r *row, record []string) {
	if len(record) != len(t.fields) {
		r.fault = wrongColumns
		return
	}
	r.id = strings.Clone(record[t.id])
	if r.id == "" {
		r.fault = noID
	}
	t.object.Reset()
	for i, cell := range record {
		if !utf8.ValidString(cell) {
			r.id, r.fault = "", notUTF8
			return
		}
		switch field := t.fields[i]; {
		case field == "" || cell == "":
		case field == costField:
			number, ok := object.Number(strings.TrimSpace(cell))
			if !ok {
				r.fault, r.fields = notANumber, map[string]string{costField: string(notANumber)}
				t.object.AddString(field, cell)
				continue
			}
			t.object.Add(field, number)
		default:
			t.object.AddString(field, cell)
		}
	}
	r.lead = t.object.JSON()
}

// boundedReader ends with errRowTooLong when a row goes on and on, which it does
// after a quote that nothing closes.
type boundedReader struct {
	input io.Reader
	left  int
	ended bool // The end of the input was come upon.
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := b.input.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}
