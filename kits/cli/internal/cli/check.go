package cli

import (
	"fmt"

	"leads.example/leads-go"
)

func (in *invocation) check() error {
	key, err := in.key()
	if err != nil {
		return err
	}
	client, _, err := in.client(key)
	if err != nil {
		return err
	}
	check, err := client.CheckKey(in.ctx, in.callOptions()...)
	if err != nil {
		return err
	}
	if in.options.json {
		in.print(map[string]any{"verdict": check.Verdict, "request_id": check.RequestID, "tries": check.Tries})
	}
	if check.Verdict == leads.Valid {
		if !in.options.json {
			fmt.Fprintln(in.stdout, "The key is valid.")
		}
		return nil
	}
	fmt.Fprintf(in.stderr, "leads: The key is not valid: the service does not know it, or it was revoked. Ask whoever issued it. Request id %s.\n",
		printable(check.RequestID))
	return silent(ExitRefused)
}
