// Bench_posts compares a backfill, from the file to the journal, with the bare net/http
// client below it.
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
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"leads.example/leads-cli/internal/cli"
	"leads.example/leads-go"
)

const leadJSON = `{"first_name":"Ada","last_name":"Lovelace","phone":"555 123 4567","email":"ada@example.com","city":"Springfield","project_area":"kitchen","external_id":"%s"}`

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
	folder, err := os.MkdirTemp("", "leads-bench-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	client, err := leads.New(leads.WithProduct("leads-cli", cli.Version))
	if err != nil {
		log.Fatal(err)
	}
	bare := newBare()
	for round := 0; round <= rounds; round++ {
		var kitRate, bareRate float64
		if round%2 == 0 {
			kitRate = backfill(client, folder, round, posts)
			bareRate = posted(bare, round, posts)
		} else {
			bareRate = posted(bare, round, posts)
			kitRate = backfill(client, folder, round, posts)
		}
		if round > 0 { // The first round warms both.
			fmt.Printf("{\"kit\":%.1f,\"bare\":%.1f}\n", kitRate, bareRate)
		}
	}
}

// backfill posts a file, one lead after the other, and gives posts a second.
func backfill(client *leads.Client, folder string, round, posts int) float64 {
	var text bytes.Buffer
	for i := range posts {
		fmt.Fprintf(&text, leadJSON+"\n", strconv.Itoa(i))
	}
	file := filepath.Join(folder, strconv.Itoa(round)+".ndjson")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
	deps := cli.Deps{NewClient: func(...leads.Option) (*leads.Client, error) { return client, nil }}
	namespace := "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	args := []string{"post", "--ndjson", file, "--namespace", namespace, "--id-field", "external_id", "--rate", "100000", "--concurrency", "1"}
	began := time.Now()
	if code := cli.Run(context.Background(), args, os.LookupEnv, strings.NewReader(""), io.Discard, os.Stderr, deps); code != cli.ExitDone {
		log.Fatalf("the backfill ended with %d", code)
	}
	return float64(posts) / time.Since(began).Seconds()
}

func posted(post func(id string) error, round, posts int) float64 {
	began := time.Now()
	for i := range posts {
		if err := post(fmt.Sprintf("bare-%d-%s:%d", round, strconv.FormatInt(began.UnixNano(), 36), i)); err != nil {
			log.Fatal(err)
		}
	}
	return float64(posts) / time.Since(began).Seconds()
}

func newBare() func(string) error {
	client := &http.Client{Timeout: 20 * time.Second}
	address := strings.TrimRight(os.Getenv("LEADS_BASE_URL"), "/") + "/v1/intake"
	key := os.Getenv("LEADS_API_KEY")
	return func(id string) error {
		request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(fmt.Sprintf(leadJSON, "1")))
		if err != nil {
			return err
		}
		request.Header.Set("X-API-Key", key)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", id)
		request.Header.Set("X-Request-Id", "leads-cli-0123456789abcdef")
		request.Header.Set("User-Agent", "leads-cli/"+cli.Version)
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
