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
	var b bytes.Buffer
	b.Grow(512)
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	add := func(name string, value any) error {
		separator := byte(',')
		if b.Len() == 0 {
			separator = '{'
		}
		b.WriteByte(separator)
		if err := encoder.Encode(name); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // The encoder ends each value with a line feed.
		b.WriteByte(':')
		if err := encoder.Encode(value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
		return nil
	}
	sent := make(map[string]bool, 16)
	for _, m := range l.members() {
		if *m.value == "" {
			continue
		}
		sent[m.name] = true
		if add(m.name, *m.value) != nil {
			return nil, errLeadForm
		}
	}
	if l.Cost != "" {
		sent[costName] = true
		if add(costName, l.Cost) != nil {
			return nil, errLeadForm
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Extra)) {
		if sent[name] {
			continue
		}
		// The encoder's own error is withheld: it quotes the value.
		if add(name, l.Extra[name]) != nil {
			return nil, errLeadForm
		}
	}
	if b.Len() == 0 {
		return []byte("{}"), nil
	}
	b.WriteByte('}')
	return b.Bytes(), nil
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
