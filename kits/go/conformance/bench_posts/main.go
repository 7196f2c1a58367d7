// Bench_posts compares the kit with the bare net/http client that it is built on.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"leads.example/leads-go"
)

const leadJSON = `{"first_name":"Ada","last_name":"Lovelace","phone":"555 123 4567","email":"ada@example.com","city":"Springfield","project_area":"kitchen"}`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: bench POSTS ROUNDS")
	}
	posts, err1 := strconv.Atoi(os.Args[1])
	rounds, err2 := strconv.Atoi(os.Args[2])
	if err1 != nil || err2 != nil || posts < 1 || rounds < 1 {
		log.Fatal("usage: bench POSTS ROUNDS")
	}
	kit, bare := newKit(), newBare()
	for round := 0; round <= rounds; round++ {
		var kitRate, bareRate float64
		if round%2 == 0 {
			kitRate = rate(posts, kit)
			bareRate = rate(posts, bare)
		} else {
			bareRate = rate(posts, bare)
			kitRate = rate(posts, kit)
		}
		if round > 0 { // The first round warms both.
			fmt.Printf("{\"kit\":%.1f,\"bare\":%.1f}\n", kitRate, bareRate)
		}
	}
}

// rate gives posts a second.
func rate(posts int, post func(id string) error) float64 {
	began := time.Now()
	for i := range posts {
		if err := post("bench:" + strconv.FormatInt(began.UnixNano(), 36) + strconv.Itoa(i)); err != nil {
			log.Fatal(err)
		}
	}
	return float64(posts) / time.Since(began).Seconds()
}

func newKit() func(string) error {
	client, err := leads.New()
	if err != nil {
		log.Fatal(err)
	}
	var lead leads.Lead
	if err := json.Unmarshal([]byte(leadJSON), &lead); err != nil {
		log.Fatal(err)
	}
	return func(id string) error {
		_, err := client.PostLead(context.Background(), lead, id)
		return err
	}
}

func newBare() func(string) error {
	client := &http.Client{Timeout: 20 * time.Second}
	address := strings.TrimRight(os.Getenv("LEADS_BASE_URL"), "/") + "/v1/intake"
	key := os.Getenv("LEADS_API_KEY")
	return func(id string) error {
		request, err := http.NewRequest(http.MethodPost, address, bytes.NewReader([]byte(leadJSON)))
		if err != nil {
			return err
		}
		request.Header.Set("X-API-Key", key)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", id)
		request.Header.Set("X-Request-Id", "leads-go-0123456789abcdef")
		request.Header.Set("User-Agent", "leads-go/"+leads.Version)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		var answer map[string]any
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if _, ok := answer["event_id"]; !ok {
			return fmt.Errorf("the answer has status %d and no event_id", response.StatusCode)
		}
		return nil
	}
}
