package backfill

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func all(t *testing.T, rows source) []row {
	t.Helper()
	var list []row
	for {
		row, err := rows.next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
}

func TestCSVRowsBecomeLeads(t *testing.T) {
	input := "\ufeffid,First name,phone,cost,drop,project_details\r\n" +
		"1,Ada,\"(555) 010, ext. 4\",12.50,x,\"The roof\nleaks \"\"twice\"\"\"\r\n" +
		"\r\n" +
		"2,,5,,,\n" +
		"3,Bo,5,12345678901234567890, ,"
	rows, err := newTable(strings.NewReader(input), ',', []Mapping{{"First name", "first_name"}, {"drop", ""}, {"id", "external_id"}}, "id")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		line int64
		id   string
		lead string
	}{
		{2, "1", `{"external_id":"1","first_name":"Ada","phone":"(555) 010, ext. 4","cost":12.50,"project_details":"The roof\nleaks \"twice\""}`},
		{5, "2", `{"external_id":"2","phone":"5"}`},
		{6, "3", `{"external_id":"3","first_name":"Bo","phone":"5","cost":12345678901234567890}`},
	}
	list := all(t, rows)
	if len(list) != len(want) {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		if row.number != int64(i+1) || row.line != want[i].line || row.id != want[i].id || string(row.lead) != want[i].lead || row.fault != "" {
			t.Errorf("row %d is %+v with %s", i+1, row, row.lead)
		}
	}
}

func TestCSVRowsThatCannotBePostedDoNotStopTheReading(t *testing.T) {
	input := "id,phone,cost\n1,a\"b,\n2,5\n3,5,12;50\n,5,\n4,\xff,\n5,5,1\n"
	rows, err := newTable(strings.NewReader(input), ',', nil, "id")
	if err != nil {
		t.Fatal(err)
	}
	want := []fault{badCSV, wrongColumns, notANumber, noID, notUTF8, ""}
	for i, row := range all(t, rows) {
		if row.fault != want[i] || row.line != int64(i+2) {
			t.Errorf("row %d has the fault %q at line %d", i+1, row.fault, row.line)
		}
	}
}

func TestAnotherDelimiterIsTaken(t *testing.T) {
	rows, err := newTable(strings.NewReader("id;phone\n1;5,6\n"), ';', nil, "id")
	if err != nil {
		t.Fatal(err)
	}
	if list := all(t, rows); len(list) != 1 || string(list[0].lead) != `{"id":"1","phone":"5,6"}` {
		t.Errorf("got %s", list[0].lead)
	}
}

func TestAnIDFieldMayBeAColumnOrTheFieldItIsSentAs(t *testing.T) {
	for _, idField := range []string{"No.", "external_id"} {
		rows, err := newTable(strings.NewReader("No.,phone\n7,5\n"), ',', []Mapping{{"No.", "external_id"}}, idField)
		if err != nil {
			t.Fatal(err)
		}
		if list := all(t, rows); list[0].id != "7" {
			t.Errorf("with %s the id is %q", idField, list[0].id)
		}
	}
}

func TestAHeaderThatCannotBeMeantIsRefused(t *testing.T) {
	for input, mappings := range map[string][]Mapping{
		"":                  nil,
		"name,phone\n":      nil,
		"id,phone,phone\n":  nil,
		"id,a,b\n":          {{"a", "x"}, {"b", "x"}},
		"id,phone \n":       {{"phone", "x"}},
		"id,\xff\n":         nil,
		"id,\"phone\n1,2\n": nil,
	} {
		var setup *SetupError
		if _, err := newTable(strings.NewReader(input), ',', mappings, "id"); !errors.As(err, &setup) {
			t.Errorf("%q gives %v", input, err)
		}
	}
}

func TestAQuoteThatNothingClosesEndsTheReadingWithinItsBound(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("id,phone\n1,5\n2,\"6"), endless{})
	rows, err := newTable(endless, ',', nil, "id")
	if err != nil {
		t.Fatal(err)
	}
	if row, err := rows.next(); err != nil || row.id != "1" {
		t.Errorf("the row before is %+v, %v", row, err)
	}
	if _, err := rows.next(); !errors.Is(err, errRowTooLong) {
		t.Errorf("got %v", err)
	}
}

// endless is text that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestNDJSONLinesAreSentAsTheyAre(t *testing.T) {
	long := `{"id":"8","x":"` + strings.Repeat("x", rowBytesMax) + `"}`
	input := "\ufeff{\"id\": \"1\",  \"cost\":1.10}\r\n\n  \n{\"id\":12345678901234567890}\n[1]\n{\"id\":\"\"}\n{\"id\":true}\n{\"id\":\"\xff\"}\n{\n" +
		long + "\n{\"id\":\"9\"}"
	want := []struct {
		line  int64
		id    string
		lead  string
		fault fault
	}{
		{1, "1", `{"id": "1",  "cost":1.10}`, ""},
		{4, "12345678901234567890", `{"id":12345678901234567890}`, ""},
		{5, "", "", notJSON},
		{6, "", `{"id":""}`, noID},
		{7, "", `{"id":true}`, noID},
		{8, "", "", notUTF8},
		{9, "", "", notJSON},
		{10, "", "", tooLong},
		{11, "9", `{"id":"9"}`, ""},
	}
	list := all(t, newNDJSON(strings.NewReader(input), "id"))
	if len(list) != len(want) {
		t.Fatalf("%d rows", len(list))
	}
	for i, row := range list {
		if row.line != want[i].line || row.id != want[i].id || string(row.lead) != want[i].lead || row.fault != want[i].fault {
			t.Errorf("row %d: line %d, id %q, fault %q, %.60s", i+1, row.line, row.id, row.fault, row.lead)
		}
	}
	if list[len(list)-1].end != int64(len(input)) {
		t.Errorf("the last row ends at %d of %d", list[len(list)-1].end, len(input))
	}
}
