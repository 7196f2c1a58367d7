package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"leads.example/leads-cli/internal/object"
	"leads.example/leads-go"
)

func (in *invocation) post() error {
	if in.options.csv != nil || in.options.ndjson != nil {
		return in.backfill()
	}
	for _, option := range backfillOptions {
		if in.options.given[option.name] {
			return usageError("--" + option.name + " is for --csv and --ndjson.")
		}
	}
	if err := in.checkNaming(); err != nil {
		return err
	}
	key, err := in.key()
	if err != nil {
		return err
	}
	client, address, err := in.client(key)
	if err != nil {
		return err
	}
	lead, err := in.lead()
	if err != nil {
		return err
	}
	idempotencyKey, err := in.nameOf(lead)
	if err != nil {
		return err
	}
	if in.options.dryRun {
		in.show(address, key, idempotencyKey, lead)
		return nil
	}
	ack, err := client.PostJSON(in.ctx, lead, idempotencyKey, in.callOptions()...)
	if err != nil {
		return err
	}
	in.acknowledge(ack)
	return nil
}

// checkNaming sees to it that exactly one way to name the lead was chosen.
func (in *invocation) checkNaming() error {
	o := &in.options
	ways := 0
	for _, given := range []bool{o.idempotencyKey != nil, o.id != nil, o.idField != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return usageError("The lead needs a stable name, so that it is stored once however often it is posted: --idempotency-key, or --namespace with --id or --id-field.")
	case ways > 1:
		return usageError("Give one of --idempotency-key, --id and --id-field.")
	case (o.idempotencyKey == nil) != (o.namespace != nil):
		return usageError("--namespace goes with --id or --id-field, and they with it; keys of all your programs share one set of names.")
	}
	return nil
}

func (in *invocation) nameOf(lead []byte) (string, error) {
	o := &in.options
	if o.idempotencyKey != nil {
		return *o.idempotencyKey, nil
	}
	if o.id != nil {
		return leads.IdempotencyKey(*o.namespace, *o.id)
	}
	members, _ := object.Members(lead)
	raw := members[*o.idField]
	var id string
	if digits, ok := object.Number(string(raw)); ok {
		id = string(digits)
	} else if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &id) != nil {
		return "", usageError("The lead has no text or number in the field that --id-field names.")
	}
	return leads.IdempotencyKey(*o.namespace, id)
}

// lead reads the lead, which is sent as it stands unless --field changes it.
func (in *invocation) lead() ([]byte, error) {
	var text []byte
	var err error
	switch {
	case len(in.args) == 1 && in.args[0] != "-":
		var file *os.File
		if file, err = os.Open(in.args[0]); err != nil {
			return nil, usageError("The file of the lead cannot be opened.")
		}
		defer file.Close()
		text, err = readBounded(in.ctx, file)
	case len(in.args) == 1 || len(in.options.fields) == 0:
		if in.deps.StdinIsTerminal {
			fmt.Fprintln(in.stderr, "Type the lead as a JSON object, and end it with a line of its own and Ctrl-D (Ctrl-Z on Windows).")
		}
		text, err = readBounded(in.ctx, in.stdin)
	default:
		text = []byte("{}")
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, stopped("Stopped before anything was sent.")
	case errors.Is(err, errTooLarge):
		return nil, usageError("The lead is over 1 MiB, and the service takes 64 KiB.")
	case err != nil:
		return nil, usageError("The lead cannot be read.")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, usageError("There is no lead: the input is empty.")
	case len(in.options.fields) == 0:
		return text, nil
	}
	return withFields(text, in.options.fields)
}

// withFields sets fields of a lead, cost as a number and others as text.
func withFields(text []byte, fields []field) ([]byte, error) {
	members, ok := object.Members(text)
	if !ok {
		return nil, usageError("The lead is not a JSON object, so that --field can set nothing in it.")
	}
	for _, field := range fields {
		if field.name == "cost" {
			if members[field.name], ok = object.Number(strings.TrimSpace(field.value)); !ok {
				return nil, usageError("--field cost=… needs a number, such as 12.50.")
			}
			continue
		}
		// Text in UTF-8 can always be written as JSON.
		members[field.name], _ = json.Marshal(field.value)
	}
	var lead object.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lead.Add(name, members[name])
	}
	return lead.JSON(), nil
}

// show prints a request as it would be sent, but for the key.
func (in *invocation) show(address, key, idempotencyKey string, lead []byte) {
	requestID := "(made for each call)"
	if in.options.requestID != nil {
		requestID = *in.options.requestID
	}
	body := string(lead)
	if in.deps.StdoutIsTerminal {
		body = visible(body)
	}
	headers := [][2]string{
		{"X-API-Key", "lead_" + keyMode(key) + "_… (not shown)"},
		{"Content-Type", "application/json"},
		{"Idempotency-Key", idempotencyKey},
		{"X-Request-Id", requestID},
		{"User-Agent", product + "/" + Version},
	}
	if in.options.json {
		named := map[string]string{}
		for _, header := range headers {
			named[header[0]] = header[1]
		}
		in.print(map[string]any{"method": "POST", "url": address + "/v1/intake", "headers": named, "body": body})
		return
	}
	fmt.Fprintf(in.stdout, "POST %s/v1/intake\n", address)
	for _, header := range headers {
		fmt.Fprintf(in.stdout, "%s: %s\n", header[0], printable(header[1]))
	}
	fmt.Fprintf(in.stdout, "\n%s\n", strings.TrimSpace(body))
}

// keyMode is live or test.
func keyMode(key string) string {
	if strings.HasPrefix(key, "lead_live_") {
		return "live"
	}
	return "test"
}

func (in *invocation) acknowledge(ack *leads.Acknowledgement) {
	if in.options.json {
		in.print(map[string]any{
			"event_id": ack.EventID, "status": ack.Status, "received_at": ack.ReceivedAt, "source": ack.Source,
			"flags": ack.Flags, "request_id": ack.RequestID, "tries": ack.Tries,
		})
		return
	}
	if ack.Status == leads.Duplicate {
		fmt.Fprintf(in.stdout, "A lead with this idempotency key was there already: event %s, received at %s.\n", printable(ack.EventID), printable(ack.ReceivedAt))
	} else {
		fmt.Fprintf(in.stdout, "Accepted as event %s from source %s.\n", printable(ack.EventID), printable(ack.Source))
	}
	if len(ack.Flags) > 0 {
		fmt.Fprintf(in.stdout, "The service observed: %s. That rejects nothing.\n", printable(strings.Join(ack.Flags, ", ")))
	}
}
