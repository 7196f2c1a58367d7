package leads_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"leads.example/leads-go"
)

func TestALeadReadsAndWritesJSONWithoutLoss(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"first_name":"Ada","last_name":"Lovelace","phone":"555 123 4567","email":"a@b.example","street_address":"1 Main","city":"X","state":"NY","zip":"12345","country":"US","project_area":"attic","project_service":"repair","project_material":"oak","project_details":"a\nb","external_id":"7","cost":12.50}`,
		`{"cost":0.30000000000000004}`,
		`{"cost":12345678901234567890}`,
		`{"cost":-1e-400}`,
		`{"cost":"12.50"}`,
		`{"cost":null}`,
		`{"cost":[1.10]}`,
		`{"first_name":""}`,
		`{"first_name":null,"last_name":5,"phone":{"a":[1.0,2.50,null,true]}}`,
		`{"First_Name":"x","__proto__":{"a":1},"constructor":"c","":"empty name"}`,
		`{"extra":{"n":12345678901234567890},"source":"web"}`,
		`{"details":"<&>\u0000\u2028","first_name":"<Ünï \u0000 \"q\" \\ 😀>"}`,
		`{"n":1.10,"m":1E+2,"deep":[[[[{"a":-0}]]]]}`,
	} {
		var lead leads.Lead
		if err := json.Unmarshal([]byte(text), &lead); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := lead.MarshalJSON()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(decode(t, string(again)), decode(t, text)) {
			t.Errorf("%s became %s", text, again)
		}
	}
}

func decode(t *testing.T, text string) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestALeadIsWrittenInAFixedOrderAndWithoutHTMLEscapes(t *testing.T) {
	lead := leads.Lead{
		Phone: "1", FirstName: "<b>", Cost: json.Number("1.10"), Email: "e",
		Extra: map[string]any{"z": 1, "a": json.RawMessage(`1.0`), "email": "not this one", "city": nil},
	}
	text, err := lead.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"first_name":"<b>","phone":"1","email":"e","cost":1.10,"a":1.0,"city":null,"z":1}`; string(text) != want {
		t.Errorf("the lead is written as %s, not %s", text, want)
	}
}

func TestALeadInsideOtherValuesKeepsItsContent(t *testing.T) {
	type job struct {
		Lead leads.Lead  `json:"lead"`
		Next *leads.Lead `json:"next"`
	}
	text, err := json.Marshal(job{Lead: ada, Next: &ada})
	if err != nil {
		t.Fatal(err)
	}
	var back job
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, job{Lead: ada, Next: &ada}) {
		t.Errorf("a lead came back changed, or %v", err)
	}
}

func TestDecodingForgetsWhatWasThere(t *testing.T) {
	lead := leads.Lead{City: "X", Cost: "1", Extra: map[string]any{"a": 1}}
	if err := json.Unmarshal([]byte(`{"first_name":"Ada"}`), &lead); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(lead, leads.Lead{FirstName: "Ada"}) {
		t.Error("something of the former lead is left")
	}
}

func TestIdempotencyKeyRefusesWhatCannotBeSent(t *testing.T) {
	if key, err := leads.IdempotencyKey("acme", "a:b c~"); err != nil || key != "acme:a:b c~" {
		t.Errorf("%q, %v", key, err)
	}
	if _, err := leads.IdempotencyKey("acme", strings.Repeat("x", 195)); err != nil {
		t.Errorf("200 characters: %v", err)
	}
	for _, part := range []string{"", " \t", "\u00a0", "ü", "a\nb", "a\x7f", strings.Repeat("x", 196)} {
		if key, err := leads.IdempotencyKey("acme", part); err == nil {
			t.Errorf("the id %q gave %q", part, key)
		}
		if key, err := leads.IdempotencyKey(part, "acme"); err == nil {
			t.Errorf("the namespace %q gave %q", part, key)
		}
	}
}
