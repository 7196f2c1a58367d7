package leads

import (
	"hash/crc32"
	"strings"
)

const (
	// What stands between the prefix and the checksum of a key.
	keyRandomChars   = 32
	keyChecksumChars = 6

	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// checkKeyShape refuses what cannot be a key of the intake. The checksum finds a
// mistyped or cut key without asking the service; no message shows the key.
func checkKeyShape(key string) *Error {
	if strings.HasPrefix(key, "form_live_") || strings.HasPrefix(key, "form_test_") {
		return misconfigured("this is a forms key; posting leads needs one that starts with lead_live_ or lead_test_")
	}
	rest, live := strings.CutPrefix(key, "lead_live_")
	if !live {
		var test bool
		if rest, test = strings.CutPrefix(key, "lead_test_"); !test {
			return misconfigured("the key does not start with lead_live_ or lead_test_")
		}
	}
	whole := len(rest) == keyRandomChars+keyChecksumChars && strings.Trim(rest, base62Digits) == ""
	if !whole || checksum(key[:len(key)-keyChecksumChars]) != key[len(key)-keyChecksumChars:] {
		return misconfigured("the key was mistyped or cut off")
	}
	return nil
}

// checksum is the CRC-32 (IEEE 802.3) of text in base62, the most significant
// digit first, in six places.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var digits [keyChecksumChars]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62Digits[sum%62]
		sum /= 62
	}
	return string(digits[:])
}
