package leads

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"
)

// answerBytesMax bounds the body of an answer, after transfer decoding.
const answerBytesMax = 1 << 20

// An answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte

	parsed  bool
	members map[string]json.RawMessage
}

// object gives the body's members, nil when it is no JSON object. Names are taken
// exactly: encoding/json, left to itself, would take Event_ID for event_id.
func (a *answer) object() map[string]json.RawMessage {
	if !a.parsed {
		a.parsed = true
		if json.Unmarshal(a.body, &a.members) != nil {
			a.members = nil
		}
	}
	return a.members
}

// code is the machine code of an error of ours. Whatever else a stranger put there
// may be what was sent to it, so it is not taken.
func (a *answer) code() string {
	const codeCharsMax = 64
	code, ok := readString(a.object()["error"])
	if !ok || code == "" || len(code) > codeCharsMax || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return code
}

// detail is what an error of ours says is wrong.
func (a *answer) detail() string {
	detail, _ := readString(a.object()["detail"])
	if a.code() == "" {
		return ""
	}
	return detail
}

// fields are the failing fields of a 422, nil when the answer names none.
func (a *answer) fields() map[string]string {
	fields, _ := readFields(a.object()["fields"])
	return fields
}

// readAcknowledgement gives nil for what is not a valid acknowledgement.
func readAcknowledgement(a *answer) *Acknowledgement {
	if a.status != http.StatusOK && a.status != http.StatusAccepted {
		return nil
	}
	members := a.object()
	eventID, ok1 := readString(members["event_id"])
	status, ok2 := readString(members["status"])
	receivedAt, ok3 := readString(members["received_at"])
	source, ok4 := readString(members["source"])
	flags, ok5 := readList(members["flags"])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || eventID == "" || (Status(status) != Accepted && Status(status) != Duplicate) {
		return nil
	}
	return &Acknowledgement{EventID: eventID, Status: Status(status), ReceivedAt: receivedAt, Source: source, Flags: flags}
}

// readString takes a JSON string and nothing else: null would pass as "".
func readString(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := string(raw[1 : len(raw)-1]); isPlain(inner) {
		return inner, true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// readList takes an array of strings and nothing else.
func readList(raw json.RawMessage) ([]string, bool) {
	var values []*string
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &values) != nil {
		return nil, false
	}
	list := make([]string, len(values))
	for i, value := range values {
		if value == nil {
			return nil, false
		}
		list[i] = *value
	}
	return list, true
}

// readFields takes an object of strings and nothing else.
func readFields(raw json.RawMessage) (map[string]string, bool) {
	var values map[string]*string
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &values) != nil {
		return nil, false
	}
	fields := make(map[string]string, len(values))
	for name, value := range values {
		if value == nil {
			return nil, false
		}
		fields[name] = *value
	}
	return fields, true
}

// forever is what a Retry-After with more digits than a Duration holds asks for.
const forever = time.Duration(math.MaxInt64)

// retryAfter reads whole seconds or an HTTP date. A date that is past is 0.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := strings.Trim(header.Get("Retry-After"), " \t")
	if text != "" && strings.Trim(text, "0123456789") == "" {
		digits := strings.TrimLeft(text, "0")
		var seconds int64
		for _, digit := range digits {
			seconds = seconds*10 + int64(digit-'0')
			if seconds > int64(forever/time.Second) {
				return forever, true
			}
		}
		return time.Duration(seconds) * time.Second, true
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, date.Sub(now)), true
}
