package leads_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"leads.example/leads-go"
)

// standIn sets the environment to a server of this machine that always answers so.
func standIn(status int, body string) (stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, status, body) }))
	os.Setenv("LEADS_API_KEY", testKey)
	os.Setenv("LEADS_BASE_URL", server.URL)
	return func() {
		server.CloseClientConnections()
		server.Close()
		os.Unsetenv("LEADS_API_KEY")
		os.Unsetenv("LEADS_BASE_URL")
	}
}

func Example() {
	defer standIn(202, accepted)()

	client, err := leads.New() // LEADS_API_KEY and LEADS_BASE_URL
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := leads.IdempotencyKey("acme", "4711")
	if err != nil {
		fmt.Println(err)
		return
	}
	ack, err := client.PostLead(context.Background(), leads.Lead{
		FirstName: "Ada",
		LastName:  "Byron",
		Phone:     "555 0100",
		Cost:      "12.50",
		Extra:     map[string]any{"campaign": "spring"},
	}, key)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ack.Status, ack.EventID)
	// Output: accepted ev_1
}

func ExampleError() {
	defer standIn(422, `{"error":"validation_failed","fields":{"phone":"required"}}`)()

	client, err := leads.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.PostLead(context.Background(), leads.Lead{FirstName: "Ada", LastName: "Byron"}, "acme:4711")
	var failed *leads.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Kind, failed.Status, failed.Code, failed.Fields["phone"])
	}
	// Output: invalid_lead 422 validation_failed required
}

func ExampleKind() {
	defer standIn(400, `{"error":"invalid_json"}`)()

	client, err := leads.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.PostJSON(context.Background(), json.RawMessage(`{"cost":"12.50"}`), "acme:4711")
	switch {
	case errors.Is(err, leads.Unavailable), errors.Is(err, leads.Cancelled):
		fmt.Println("later, with the same idempotency key")
	case errors.Is(err, leads.Refused):
		fmt.Println("never as it is")
	}
	// Output: never as it is
}

func ExampleClient_CheckKey() {
	defer standIn(422, `{"error":"validation_failed","fields":{"phone":"required"}}`)()

	client, err := leads.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	check, err := client.CheckKey(context.Background())
	if err != nil {
		fmt.Println("not found out:", err)
		return
	}
	fmt.Println(check.Verdict)
	// Output: valid
}

func ExampleClient_Vocabulary() {
	defer standIn(200, `{"project_area":[{"area":"attic","status":"confirmed"}],
		"project_service":["repair"],"required":["first_name","last_name","phone"]}`)()

	client, err := leads.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	vocabulary, err := client.Vocabulary(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(vocabulary.Areas[0].Area, vocabulary.Services, vocabulary.Required)
	// Output: attic [repair] [first_name last_name phone]
}

func ExampleIdempotencyKey() {
	key, err := leads.IdempotencyKey("acme", "4711")
	fmt.Println(key, err)
	_, err = leads.IdempotencyKey("acme", " ")
	fmt.Println(err)
	// Output:
	// acme:4711 <nil>
	// leads: misconfigured: an idempotency key needs a namespace and an id that are not blank
}

func ExampleWithObserver() {
	defer standIn(202, accepted)()

	client, err := leads.New(leads.WithObserver(leads.Observer{
		Try: func(try leads.Try) { fmt.Println("try:", try.Method, try.Status) },
		Wait: func(wait leads.Wait) {
			fmt.Println("wait:", wait.Duration, "rate limited:", wait.RateLimited)
		},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.PostLead(context.Background(), leads.Lead{FirstName: "Ada", LastName: "Byron", Phone: "555 0100"}, "acme:4711")
	fmt.Println(err)
	// Output:
	// try: POST 202
	// <nil>
}

// A clock whose waits are over at once, for a test of what a program does when the
// service is down.
func ExampleWithClock() {
	defer standIn(503, `{"error":"not_accepting"}`)()

	clock := &impatientClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	client, err := leads.New(leads.WithClock(clock), leads.WithRandom(func() float64 { return 1 }))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.PostLead(context.Background(), leads.Lead{FirstName: "Ada", LastName: "Byron", Phone: "555 0100"}, "acme:4711")
	fmt.Println(errors.Is(err, leads.Unavailable), clock.now.Format(time.TimeOnly))
	// Output: true 03:04:20
}

type impatientClock struct{ now time.Time }

func (c *impatientClock) Now() time.Time { return c.now }

func (c *impatientClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}
