package cli

import (
	"fmt"
	"strings"
)

func (in *invocation) vocabulary() error {
	client, _, err := in.client(nobodysKey)
	if err != nil {
		return err
	}
	vocabulary, err := client.Vocabulary(in.ctx, in.callOptions()...)
	if err != nil {
		return err
	}
	if in.options.json {
		in.print(vocabulary)
		return nil
	}
	fmt.Fprintf(in.stdout, "Required fields: %s\n", printable(strings.Join(vocabulary.Required, ", ")))
	fmt.Fprintf(in.stdout, "project_service: %s\n", printable(strings.Join(vocabulary.Services, ", ")))
	fmt.Fprintln(in.stdout, "project_area, where other terms are accepted, too:")
	for _, area := range vocabulary.Areas {
		fmt.Fprintf(in.stdout, "  %s (%s)\n", printable(area.Area), printable(area.Status))
	}
	return nil
}
