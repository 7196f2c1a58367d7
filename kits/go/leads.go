// Package leads is a client of the Lead Intake Service: one HTTPS call that hands
// a sales lead over.
//
// A [Client] checks its key, posts leads and reads the vocabulary. It repeats a
// call only where a repeat cannot do harm, always with the same bytes and the
// same idempotency key, and tells every failure as an [*Error] of one of six
// kinds.
//
//	client, err := leads.New() // LEADS_API_KEY and LEADS_BASE_URL
//	…
//	ack, err := client.PostLead(ctx, leads.Lead{
//		FirstName: "Ada", LastName: "Lovelace", Phone: "555 123 4567",
//	}, "acme:4711")
//
// # Tries, waits and time
//
// A call has 5 tries, a deadline of 2 minutes with its waits, and 20 seconds for
// each try, from connecting to the last byte of the answer. A 5xx, a time-out, a
// broken connection and an answer that cannot be the service's spend a try; the
// waits between them double from one second up to 30, with jitter. A 429 spends
// no try: the call waits as long as the service asks, and longer each time, until
// the deadline. Every other refusal is final.
//
// # Secrets
//
// No key and no content of a lead stands in an error, in a log, or in what fmt
// and log/slog make of the values of this package. Certificates are always
// verified.
package leads

// Version is the version of this module, as it stands in the User-Agent.
const Version = "0.1.0"
