package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An output remembers that it could not be written: whoever asked does not know what
// became of the lead then.
type output struct {
	io.Writer
	failed bool
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.failed = o.failed || err != nil
	return n, err
}

// visible writes out what would steer a terminal, as JSON does; bytes that are no UTF-8
// as in Go.
func visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	return b.String()
}
