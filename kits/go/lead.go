package leads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// A Lead is what is posted. An empty field is left out. The service normalizes and
// judges; nothing is changed or checked here.
//
// Lead reads and writes JSON without loss: numbers keep their digits, and what no
// field can hold (an unknown member, null, an empty string, another type than the
// field's) stays in Extra.
//
// fmt and log/slog show nothing of a Lead; encoding/json shows all of it.
type Lead struct {
	// FirstName, LastName and Phone are required by the service.
	FirstName string
	LastName  string
	Phone     string

	Email           string
	StreetAddress   string
	City            string
	State           string
	Zip             string
	Country         string
	ProjectArea     string
	ProjectService  string
	ProjectMaterial string
	ProjectDetails  string
	ExternalID      string

	// Cost is what the contact cost, in US dollars, sent digit for digit.
	Cost json.Number

	// Extra has members under any other name, sent beside the fields. A name of a
	// field counts only while that field is empty. Decoding puts numbers in as
	// [json.Number].
	Extra map[string]any
}

// A member is one of the lead's strings under its name on the wire.
type member struct {
	name  string
	value *string
}

// members lists the strings in the order in which they are sent.
func (l *Lead) members() []member {
	return []member{
		{"first_name", &l.FirstName},
		{"last_name", &l.LastName},
		{"phone", &l.Phone},
		{"email", &l.Email},
		{"street_address", &l.StreetAddress},
		{"city", &l.City},
		{"state", &l.State},
		{"zip", &l.Zip},
		{"country", &l.Country},
		{"project_area", &l.ProjectArea},
		{"project_service", &l.ProjectService},
		{"project_material", &l.ProjectMaterial},
		{"project_details", &l.ProjectDetails},
		{"external_id", &l.ExternalID},
	}
}

const costName = "cost"

var (
	errLeadJSON = errors.New("leads: the lead is not a JSON object")
	errLeadForm = errors.New("leads: the lead holds a value that JSON cannot express")
)

// MarshalJSON gives the lead as it is posted: the fields in a fixed order, then
// Extra in the order of its names.
func (l Lead) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 512)
	var err error
	fields := l.members()
	taken := func(name string) bool {
		i := slices.IndexFunc(fields, func(m member) bool { return m.name == name })
		return i >= 0 && *fields[i].value != "" || name == costName && l.Cost != ""
	}
	for _, m := range fields {
		if *m.value == "" {
			continue
		}
		if b, err = appendMember(b, m.name, *m.value); err != nil {
			return nil, err
		}
	}
	if l.Cost != "" {
		if b, err = appendMember(b, costName, l.Cost); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Extra)) {
		if taken(name) {
			continue
		}
		if b, err = appendMember(b, name, l.Extra[name]); err != nil {
			return nil, err
		}
	}
	if len(b) == 0 {
		b = append(b, '{')
	}
	return append(b, '}'), nil
}

// appendMember adds a member to an object that is being written.
func appendMember(b []byte, name string, value any) ([]byte, error) {
	if len(b) == 0 {
		b = append(b, '{')
	} else {
		b = append(b, ',')
	}
	b, err := appendJSON(b, name)
	if err != nil {
		return nil, err
	}
	return appendJSON(append(b, ':'), value)
}

// appendJSON writes a value without escaping what only HTML would need escaped. The
// encoder's own error is withheld: it quotes the value.
func appendJSON(b []byte, value any) ([]byte, error) {
	if text, ok := value.(string); ok && isPlain(text) {
		b = append(b, '"')
		b = append(b, text...)
		return append(b, '"'), nil
	}
	buffer := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return nil, errLeadForm
	}
	b = buffer.Bytes()
	return b[:len(b)-1], nil // The encoder ends each value with a line feed.
}

// isPlain reports whether JSON writes text as it is; most of a lead is such.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// UnmarshalJSON reads a lead. Its error says nothing of what it read.
func (l *Lead) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return errLeadJSON
	}
	*l = Lead{}
	for _, m := range l.members() {
		raw, ok := members[m.name]
		if !ok || raw[0] != '"' {
			continue
		}
		if json.Unmarshal(raw, m.value) != nil {
			return errLeadJSON
		}
		if *m.value != "" {
			delete(members, m.name)
		}
	}
	if raw, ok := members[costName]; ok && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		l.Cost = json.Number(raw)
		delete(members, costName)
	}
	if len(members) > 0 {
		l.Extra = make(map[string]any, len(members))
	}
	for name, raw := range members {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) != nil {
			return errLeadJSON
		}
		l.Extra[name] = value
	}
	return nil
}

const leadText = "leads.Lead(content withheld)"

// String shows nothing of the lead.
func (l Lead) String() string { return leadText }

// Format shows nothing of the lead, whatever the verb.
func (l Lead) Format(f fmt.State, verb rune) { writeText(f, verb, leadText) }

// LogValue shows nothing of the lead in log/slog.
func (l Lead) LogValue() slog.Value { return slog.StringValue(leadText) }
