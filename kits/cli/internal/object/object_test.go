package object

import (
	"encoding/json"
	"testing"
)

func TestMembersStandInTheOrderInWhichTheyWereAdded(t *testing.T) {
	var b Builder
	if got := string(b.JSON()); got != "{}" {
		t.Errorf("nothing added gives %s", got)
	}
	b.AddString("last_name", "<Lovelace & \"Söhne\">\n")
	b.Add("cost", []byte("0.30000000000000004"))
	b.AddString("__proto__", "x")
	want := `{"last_name":"<Lovelace & \"Söhne\">\n","cost":0.30000000000000004,"__proto__":"x"}`
	if got := string(b.JSON()); got != want || !json.Valid([]byte(got)) {
		t.Errorf("got %s", got)
	}
	first := b.JSON()
	b.Reset()
	b.AddString("a", "b")
	if string(first) != want || string(b.JSON()) != `{"a":"b"}` {
		t.Errorf("after a reset: %s and %s", first, b.JSON())
	}
}

func TestNumberTakesWhatJSONTakes(t *testing.T) {
	for text, ok := range map[string]bool{
		"12.50": true, "0": true, "-1e3": true, "12345678901234567890": true,
		"": false, "12,50": false, "$5": false, "01": false, "1.": false, "NaN": false, "0x1": false, " 1": false, "true": false, `"1"`: false, "1 2": false,
	} {
		number, got := Number(text)
		if got != ok || ok && string(number) != text {
			t.Errorf("Number(%q) gives %q, %v", text, number, got)
		}
	}
}

func TestMembersTakesObjectsAlone(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "1", `"a"`, "{", `{"a":1}{}`} {
		if _, ok := Members([]byte(text)); ok {
			t.Errorf("%q was taken for an object", text)
		}
	}
	members, ok := Members([]byte(`{"cost":1.10,"Cost":2}`))
	if !ok || string(members["cost"]) != "1.10" || len(members) != 2 {
		t.Errorf("got %v", members)
	}
}
