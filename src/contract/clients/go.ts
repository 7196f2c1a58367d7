/**
 * The client of the brief in Go. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../limits.ts";
import { clientIdempotencyKey, clientTriesMax, unindented } from "../snippets.ts";

/** A program of one file that sends a lead, with the standard library alone. */
export function goClient(baseUrl: string): string {
  return unindented(`
    // send_lead.go: for Go 1.21 or later. Run it with a sandbox key in LEAD_API_KEY.
    package main

    import (
    	"bytes"
    	"encoding/json"
    	"errors"
    	"fmt"
    	"math/rand"
    	"net/http"
    	"os"
    	"strconv"
    	"time"
    )

    const intake = "${baseUrl}/v1/intake"

    var client = http.Client{
    	Timeout: ${limits.requestTimeoutMs / 1000} * time.Second,
    	// The key goes to the intake and nowhere else.
    	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
    }

    // Answer has what an acknowledgement has, or what an error has.
    type Answer struct {
    	EventID string            \`json:"event_id"\`
    	Status  string            \`json:"status"\`
    	Flags   []string          \`json:"flags"\`
    	Code    string            \`json:"error"\`
    	Fields  map[string]string \`json:"fields"\`
    	Detail  string            \`json:"detail"\`
    }

    // NotSent is what was answered at last; HTTPStatus is 0 when nothing was.
    type NotSent struct {
    	Answer
    	HTTPStatus int
    	RequestID  string
    }

    func (e *NotSent) Error() string {
    	return fmt.Sprintf("the lead was not sent: %d %s, request %s", e.HTTPStatus, e.Code, e.RequestID)
    }

    // post returns status 0 for no connection, or no answer in time.
    func post(body []byte, idempotencyKey string) (status int, header http.Header, answer Answer) {
    	request, err := http.NewRequest("POST", intake, bytes.NewReader(body))
    	if err != nil {
    		return 0, nil, answer
    	}
    	request.Header.Set("X-API-Key", os.Getenv("LEAD_API_KEY"))
    	request.Header.Set("Content-Type", "application/json")
    	request.Header.Set("Idempotency-Key", idempotencyKey)
    	response, err := client.Do(request)
    	if err != nil {
    		return 0, nil, answer
    	}
    	defer response.Body.Close()
    	if json.NewDecoder(response.Body).Decode(&answer) != nil {
    		answer = Answer{} // Half an answer, or somebody else's.
    	}
    	return response.StatusCode, response.Header, answer
    }

    // SendLead sends one lead and retries as the policy says. Keep the EventID that comes back.
    func SendLead(lead any, idempotencyKey string) (Answer, error) {
    	body, err := json.Marshal(lead)
    	if err != nil {
    		return Answer{}, err
    	}
    	failures := 0
    	for backoff := 500 * time.Millisecond; ; backoff = min(2*backoff, ${limits.backoffCapSeconds}*time.Second) {
    		status, header, answer := post(body, idempotencyKey)
    		if (status == 200 || status == 202) && answer.EventID != "" {
    			return answer, nil
    		}
    		mayRetry := status == 0 || status == 200 || status == 202 || status == 429 || status >= 500
    		if status != 429 { // A 429 does not count: it says when to come back.
    			failures++
    		}
    		if !mayRetry || failures == ${clientTriesMax} {
    			return answer, &NotSent{answer, status, header.Get("X-Request-Id")}
    		}
    		// In seconds; an edge may send a date, which is no number.
    		seconds, _ := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
    		time.Sleep(time.Duration(seconds)*time.Second + time.Duration(rand.Int63n(int64(backoff))))
    	}
    }

    func main() {
    	lead := map[string]any{
    		"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen",
    	}
    	sent, err := SendLead(lead, "${clientIdempotencyKey}")
    	var refused *NotSent
    	if errors.As(err, &refused) && refused.HTTPStatus == 401 {
    		fmt.Fprintln(os.Stderr, "The key is not accepted: tell a person")
    	}
    	if err != nil {
    		fmt.Fprintln(os.Stderr, err, sent.Fields, sent.Detail) // 422: show them fields and detail.
    		os.Exit(1)
    	}
    	fmt.Println(sent.Status, sent.EventID, sent.Flags)
    }
  `);
}
