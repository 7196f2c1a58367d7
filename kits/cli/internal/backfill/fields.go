package backfill

import "regexp"

// fieldWord is what the service's names of fields and its reasons look like.
var fieldWord = regexp.MustCompile(`^[a-z_]{1,64}$`)

// ShownFields gives the failing fields that may be shown and kept, and counts the others:
// a stranger's answer may hold the key and the lead as names and reasons.
func ShownFields(fields map[string]string) (shown map[string]string, others int) {
	for name, reason := range fields {
		if len(shown) == fieldsKeptMax || !fieldWord.MatchString(name) || !fieldWord.MatchString(reason) {
			others++
			continue
		}
		if shown == nil {
			shown = map[string]string{}
		}
		shown[name] = reason
	}
	return shown, others
}
