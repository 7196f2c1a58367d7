package leads

import "strings"

const (
	idempotencyKeyCharsMax = 200
	requestIDCharsMax      = 64
)

// IdempotencyKey joins the caller's namespace and its id of a lead with a colon.
// All keys of one customer share one set of idempotency keys, so a bare id can
// meet another source's; the namespace keeps them apart. It refuses a blank part,
// a blank at either end, which HTTP would drop, over 200 characters, and what is not
// printable ASCII, as [Misconfigured].
func IdempotencyKey(namespace, id string) (string, error) {
	if strings.TrimSpace(namespace) == "" || strings.TrimSpace(id) == "" {
		return "", misconfigured("an idempotency key needs a namespace and an id that are not blank")
	}
	key := namespace + ":" + id
	if err := checkIdempotencyKey(key); err != nil {
		return "", err
	}
	return key, nil
}

func checkIdempotencyKey(key string) *Error {
	if !sendable(key, idempotencyKeyCharsMax) {
		return misconfigured("the idempotency key is blank, begins or ends with one, is longer than 200 characters, or not printable ASCII")
	}
	return nil
}

// sendable reports whether text can stand in a header as it is: not empty, no blank at
// either end, at most charsMax characters, all of them from space to tilde.
func sendable(text string, charsMax int) bool {
	if len(text) > charsMax || text == "" || strings.Trim(text, " ") != text {
		return false
	}
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
