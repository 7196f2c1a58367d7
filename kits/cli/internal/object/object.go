// Package object writes JSON objects member by member, in the order in which they
// are added.
package object

import (
	"bytes"
	"encoding/json"
)

// A Builder makes one object. Its zero value is an empty one. No name may be added
// twice.
type Builder struct {
	text    bytes.Buffer
	encoder *json.Encoder
}

// Add puts a member in whose value is JSON already.
func (b *Builder) Add(name string, value []byte) {
	b.name(name)
	b.text.Write(value)
}

// AddString puts a string in.
func (b *Builder) AddString(name, value string) {
	b.name(name)
	b.string(value)
}

// JSON gives a copy of the object.
func (b *Builder) JSON() []byte {
	if b.text.Len() == 0 {
		return []byte("{}")
	}
	return append(bytes.Clone(b.text.Bytes()), '}')
}

// Reset makes the object an empty one.
func (b *Builder) Reset() { b.text.Reset() }

func (b *Builder) name(name string) {
	if b.text.Len() == 0 {
		b.text.WriteByte('{')
	} else {
		b.text.WriteByte(',')
	}
	b.string(name)
	b.text.WriteByte(':')
}

func (b *Builder) string(value string) {
	if b.encoder == nil {
		b.encoder = json.NewEncoder(&b.text)
		b.encoder.SetEscapeHTML(false)
	}
	// A string can always be encoded, and a buffer always takes it.
	_ = b.encoder.Encode(value)
	b.text.Truncate(b.text.Len() - 1) // The encoder ends each value with a line feed.
}

// Number gives text as a number of JSON, digit for digit, and whether it is one.
func Number(text string) ([]byte, bool) {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return nil, false
	}
	return []byte(text), true
}

// Members reads an object. The names are taken exactly.
func Members(text []byte) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return nil, false
	}
	return members, true
}
