package cli

import (
	"fmt"

	"leads.example/leads-go"
)

func (in *invocation) idempotencyKey() error {
	key, err := leads.IdempotencyKey(in.args[0], in.args[1])
	if err != nil {
		return err
	}
	if in.options.json {
		in.print(map[string]string{"idempotency_key": key})
	} else {
		fmt.Fprintln(in.stdout, key)
	}
	return nil
}
