// Posts a lead and treats what comes of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"leads.example/leads-go"
)

func main() {
	client, err := leads.New() // LEADS_API_KEY and LEADS_BASE_URL
	if err != nil {
		log.Fatal(err)
	}
	lead := leads.Lead{FirstName: "Ada", LastName: "Byron", Phone: "555 0100"}
	ack, err := client.PostLead(context.Background(), lead, "acme:4711")
	var failed *leads.Error
	switch errors.As(err, &failed); {
	case err == nil:
		fmt.Println(ack.Status, ack.EventID)
	case failed.Kind == leads.InvalidLead:
		fmt.Println("correct the lead:", failed.Fields)
	case failed.Kind == leads.Unavailable:
		fmt.Println("post it later, with the same idempotency key")
	default:
		log.Fatal(err)
	}
}
