package backfill

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ndjson reads a lead a line.
type ndjson struct {
	lines   *bufio.Reader
	idField string
	number  int64
	line    int64
	offset  int64
}

func newNDJSON(input io.Reader, idField string) *ndjson {
	return &ndjson{lines: bufio.NewReaderSize(input, rowBytesMax), idField: idField}
}

func (s *ndjson) next() (row, error) {
	for {
		text, long, err := s.readLine()
		if err != nil {
			return row{}, err
		}
		s.line++
		if s.line == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 && !long {
			continue
		}
		s.number++
		r := row{number: s.number, line: s.line, end: s.offset}
		if long {
			r.fault = tooLong
		} else {
			r.readObject(text, s.idField)
		}
		return r, nil
	}
}

// readLine gives a line, or that it is longer than a row may be. It is valid until
// the next call.
func (s *ndjson) readLine() (text []byte, long bool, err error) {
	for {
		part, err := s.lines.ReadSlice('\n')
		s.offset += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
		case err == nil, errors.Is(err, io.EOF) && (long || len(part) > 0):
			return part, long, nil
		default:
			return nil, false, err
		}
	}
}
