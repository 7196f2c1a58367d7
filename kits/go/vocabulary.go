package leads

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Area is a term of project_area.
type Area struct {
	Area string `json:"area"`
	// Status is "confirmed" or "proposed"; both are accepted alike.
	Status string `json:"status"`
}

// A Vocabulary is what the service understands. Other terms are accepted too, and
// flagged.
type Vocabulary struct {
	// Areas are the terms of project_area.
	Areas []Area `json:"areas"`
	// Services are the values of project_service.
	Services []string `json:"services"`
	// Required are the fields that a lead must have.
	Required []string `json:"required"`
}

func (v *Vocabulary) clone() *Vocabulary {
	return &Vocabulary{slices.Clone(v.Areas), slices.Clone(v.Services), slices.Clone(v.Required)}
}

// maxAgeMax bounds how long a vocabulary is kept, whatever the answer says.
const maxAgeMax = 24 * time.Hour

// A vocabularyCache keeps the last vocabulary. turn is its lock, a channel so that
// waiting for it ends with the context: of many callers one asks.
type vocabularyCache struct {
	turn   chan struct{}
	last   *Vocabulary
	etag   string
	maxAge time.Duration
	until  time.Time
}

func newVocabularyCache() vocabularyCache {
	return vocabularyCache{turn: make(chan struct{}, 1)}
}

// Vocabulary gives the service's vocabulary: the kept one while the service's
// max-age lasts, else it is asked for. The key is not sent. The caller may change
// what it gets.
func (c *Client) Vocabulary(ctx context.Context, options ...CallOption) (*Vocabulary, error) {
	call, err := c.core.newCall(options)
	if err != nil {
		return nil, err
	}
	cache := &c.core.vocabulary
	queued, cancel := context.WithTimeout(ctx, call.deadline)
	defer cancel()
	select {
	case cache.turn <- struct{}{}:
		defer func() { <-cache.turn }()
	case <-queued.Done():
		call.requestID = ""
		return nil, call.ended(queued)
	}
	if cache.last != nil && call.clock.Now().Before(cache.until) {
		return cache.last.clone(), nil
	}
	call.method, call.url = http.MethodGet, c.core.vocabularyURL
	if cache.last != nil && cache.etag != "" {
		call.header.Set("If-None-Match", cache.etag)
	}
	asked := call.clock.Now()
	var fresh *Vocabulary
	var settled *answer
	if err := call.run(ctx, func(a *answer) bool {
		settled = a
		if a.status == http.StatusNotModified && call.header.Get("If-None-Match") != "" {
			fresh = cache.last
		} else {
			fresh = readVocabulary(a)
		}
		return fresh != nil
	}); err != nil {
		return nil, err
	}
	age, stated := maxAge(settled.header)
	if stated || settled.status == http.StatusOK {
		cache.maxAge = age
	}
	if etag := settled.header.Get("ETag"); etag != "" || settled.status == http.StatusOK {
		cache.etag = etag
	}
	cache.last, cache.until = fresh, asked.Add(cache.maxAge)
	return fresh.clone(), nil
}

// readVocabulary gives nil for what is not a vocabulary.
func readVocabulary(a *answer) *Vocabulary {
	if a.status != http.StatusOK {
		return nil
	}
	members := a.object()
	services, ok1 := readList(members["project_service"])
	required, ok2 := readList(members["required"])
	raw := members["project_area"]
	if !ok1 || !ok2 || len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var objects []map[string]json.RawMessage
	if json.Unmarshal(raw, &objects) != nil {
		return nil
	}
	areas := make([]Area, len(objects))
	for i, object := range objects {
		area, ok1 := readString(object["area"])
		status, ok2 := readString(object["status"])
		if !ok1 || !ok2 {
			return nil
		}
		areas[i] = Area{area, status}
	}
	return &Vocabulary{areas, services, required}
}

// maxAge reads max-age of Cache-Control; no-store and no-cache count as 0.
func maxAge(header http.Header) (age time.Duration, stated bool) {
	for _, directive := range strings.Split(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0, true
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 32)
			if err != nil {
				seconds = 0
			}
			age, stated = min(time.Duration(seconds)*time.Second, maxAgeMax), true
		}
	}
	return age, stated
}
