package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leads.example/leads-cli/internal/backfill"
	"leads.example/leads-go"
)

// options is what the options of a command line say.
type options struct {
	json    bool
	help    bool
	verbose bool

	baseURL    *string
	keyFile    string
	caFile     string
	deadline   time.Duration
	tryTimeout time.Duration
	tries      *int
	requestID  *string

	idempotencyKey *string
	namespace      *string
	id             *string
	idField        *string
	fields         []field
	dryRun         bool

	ndjson      *string
	csv         *string
	mappings    []backfill.Mapping
	delimiter   rune
	rate        *float64
	concurrency *int
	journal     *string
	refused     *string
	given       map[string]bool
}

// A field is one of --field.
type field struct{ name, value string }

// An option is a name and what it does. Without a value's name it takes none.
type option struct {
	name  string
	value string
	about string
	file  bool // The value is a file's name.
	set   func(*options, string) error
}

var errValue = errors.New("value")

func text(into func(*options) **string) func(*options, string) error {
	return func(o *options, value string) error {
		*into(o) = &value
		return nil
	}
}

func duration(into func(*options) *time.Duration) func(*options, string) error {
	return func(o *options, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errValue
		}
		*into(o) = d
		return nil
	}
}

func number(into func(*options) **int, least, most int) func(*options, string) error {
	return func(o *options, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return errValue
		}
		*into(o) = &n
		return nil
	}
}

func flag(into func(*options) *bool) func(*options, string) error {
	return func(o *options, _ string) error {
		*into(o) = true
		return nil
	}
}

var (
	generalOptions = []option{
		{name: "json", about: "print one line of JSON", set: flag(func(o *options) *bool { return &o.json })},
		{name: "help", about: "tell about the command", set: flag(func(o *options) *bool { return &o.help })},
	}
	callOptions = []option{
		{name: "base-url", value: "URL", about: "the service's address (or LEADS_BASE_URL)", set: text(func(o *options) **string { return &o.baseURL })},
		{name: "ca-file", value: "FILE", about: "trust the authorities in this PEM file, too", file: true, set: func(o *options, value string) error {
			o.caFile = value
			return nil
		}},
		{name: "tries", value: "N", about: "how many tries to spend, " + strconv.Itoa(leads.DefaultTries) + " otherwise", set: number(func(o *options) **int { return &o.tries }, 1, 1000)},
		{name: "try-timeout", value: "TIME", about: "the time of one try, " + leads.DefaultTryTimeout.String() + " otherwise", set: duration(func(o *options) *time.Duration { return &o.tryTimeout })},
		{name: "deadline", value: "TIME", about: "the time of all tries and waits, 2m otherwise", set: duration(func(o *options) *time.Duration { return &o.deadline })},
		{name: "request-id", value: "ID", about: "the X-Request-Id to send", set: text(func(o *options) **string { return &o.requestID })},
		{name: "verbose", about: "tell of every try and every wait", set: flag(func(o *options) *bool { return &o.verbose })},
	}
	keyOptions = []option{
		{name: "key-file", value: "FILE", about: "read the API key from a file (or LEADS_API_KEY)", file: true, set: func(o *options, value string) error {
			o.keyFile = value
			return nil
		}},
	}
	postOptions = []option{
		{name: "idempotency-key", value: "KEY", about: "the lead's stable name, with your namespace in front", set: text(func(o *options) **string { return &o.idempotencyKey })},
		{name: "namespace", value: "NAME", about: "with --id or --id-field: makes the key NAME:ID", set: text(func(o *options) **string { return &o.namespace })},
		{name: "id", value: "ID", about: "your id of the lead", set: text(func(o *options) **string { return &o.id })},
		{name: "id-field", value: "FIELD", about: "the field of the lead that has your id", set: text(func(o *options) **string { return &o.idField })},
		{name: "field", value: "NAME=VALUE", about: "set a field of the lead; may be repeated", set: setField},
		{name: "dry-run", about: "show what would be sent, and send nothing", set: flag(func(o *options) *bool { return &o.dryRun })},
	}
	backfillOptions = []option{
		{name: "csv", value: "FILE", about: "post each row of a CSV file; its first row names the fields", file: true, set: text(func(o *options) **string { return &o.csv })},
		{name: "ndjson", value: "FILE", about: "post each line of a file of JSON objects", file: true, set: text(func(o *options) **string { return &o.ndjson })},
		{name: "map", value: "COLUMN=FIELD", about: "send a CSV column as this field, or with no field not at all; may be repeated", set: setMapping},
		{name: "delimiter", value: "CHAR", about: "what stands between the cells of the CSV file, or tab; a comma otherwise", set: setDelimiter},
		{name: "rate", value: "N", about: "requests a second, 2 otherwise; ask the operator before you raise it", set: setRate},
		{name: "concurrency", value: "N", about: "posts under way at once, " + strconv.Itoa(backfill.ConcurrencyDefault) + " otherwise", set: number(func(o *options) **int { return &o.concurrency }, 1, backfill.ConcurrencyMax)},
		{name: "journal", value: "FILE", about: "where to keep how far the run is, FILE.journal beside the input otherwise", file: true, set: text(func(o *options) **string { return &o.journal })},
		{name: "refused", value: "FILE", about: "where to put refused rows and why, FILE.refused.ndjson beside the input otherwise", file: true, set: text(func(o *options) **string { return &o.refused })},
	}
)

func setField(o *options, value string) error {
	name, value, ok := strings.Cut(value, "=")
	if !ok || name == "" || !utf8.ValidString(name+value) {
		return errValue
	}
	o.fields = append(o.fields, field{name, value})
	return nil
}

func setMapping(o *options, value string) error {
	// A column's name may have an equals sign, a field's has none.
	at := strings.LastIndex(value, "=")
	if at < 1 {
		return errValue
	}
	o.mappings = append(o.mappings, backfill.Mapping{Column: value[:at], Field: value[at+1:]})
	return nil
}

func setDelimiter(o *options, value string) error {
	if value == "tab" {
		value = "\t"
	}
	delimiter, size := utf8.DecodeRuneInString(value)
	if size != len(value) || size == 0 || delimiter == utf8.RuneError || strings.ContainsRune("\"\r\n\x00", delimiter) {
		return errValue
	}
	o.delimiter = delimiter
	return nil
}

func setRate(o *options, value string) error {
	rate, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(rate) || rate < 0.001 || rate > backfill.RateMax {
		return errValue
	}
	o.rate = &rate
	return nil
}

// parse reads options wherever they stand, and returns the other arguments. It never
// repeats a value: it may be content of a lead.
func (o *options) parse(c *command, args []string) ([]string, error) {
	var rest []string
	o.given = map[string]bool{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), nil
		}
		if arg == "-h" {
			arg = "--help"
		}
		if arg == "-" || !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		option := c.option(name)
		if option == nil || !strings.HasPrefix(arg, "--") {
			return nil, usageError("leads " + c.name + " has no option " + shown(strings.SplitN(arg, "=", 2)[0]) + ". leads help " + c.name + " lists them.")
		}
		switch {
		case option.value == "" && hasValue:
			return nil, usageError("--" + name + " takes no value.")
		case option.value != "" && !hasValue && len(args) == 0:
			return nil, usageError("--" + name + " needs a value: --" + name + " " + option.value + ".")
		case option.value != "" && !hasValue:
			value, args = args[0], args[1:]
		}
		if err := option.set(o, value); err != nil {
			return nil, usageError("--" + name + " cannot be understood: it is --" + name + " " + option.value + ", " + option.about + ".")
		}
		o.given[name] = true
	}
	return rest, nil
}
