package backfill

import (
	"fmt"
	"io"
	"strings"
	"time"

	"leads.example/leads-go"
)

const (
	drawEvery = 200 * time.Millisecond
	barChars  = 24
	// What is drawn stays within a terminal of 80 columns.
	lineChars = 78
)

// A bar draws how far a run is, over and over on one line. A nil one draws nothing.
type bar struct {
	output   io.Writer
	clock    leads.Clock
	before   int64
	bytes    int64 // Of the input, 0 when that is not known.
	began    time.Time
	drawn    time.Time
	furthest int64
}

func newBar(output io.Writer, clock leads.Clock, before, bytes int64) *bar {
	return &bar{output: output, clock: clock, before: before, bytes: bytes, began: clock.Now()}
}

// passed says up to where in the input a row was settled.
func (b *bar) passed(end int64) {
	if b != nil {
		b.furthest = max(b.furthest, end)
	}
}

// draw draws, unless it has just been done, or ends the line.
func (b *bar) draw(j *journal, last bool) {
	if b == nil {
		return
	}
	now := b.clock.Now()
	if !last && now.Sub(b.drawn) < drawEvery {
		return
	}
	b.drawn = now
	fmt.Fprintf(b.output, "\r%-*s", lineChars, b.text(j.settled.count, j.counts[statusRefused], now))
	if last {
		fmt.Fprintln(b.output)
	}
}

func (b *bar) text(settled, refused int64, now time.Time) string {
	var text strings.Builder
	share := 0.0
	if b.bytes > 0 {
		share = min(1, float64(b.furthest)/float64(b.bytes))
		full := int(share * barChars)
		fmt.Fprintf(&text, "[%s%s] %3d %%  ", strings.Repeat("#", full), strings.Repeat("-", barChars-full), int(share*100))
	}
	fmt.Fprintf(&text, "%s rows", grouped(settled))
	if refused > 0 {
		fmt.Fprintf(&text, ", %s refused", grouped(refused))
	}
	perSecond := float64(settled-b.before) / max(now.Sub(b.began).Seconds(), 0.001)
	fmt.Fprintf(&text, ", %.1f/s", perSecond)
	if left := float64(settled) * (1 - share) / share; share > 0 && perSecond > 0 {
		fmt.Fprintf(&text, ", %s left", remaining(left/perSecond))
	}
	return text.String()
}

// remaining writes a number of seconds as people tell a time.
func remaining(seconds float64) string {
	switch s := int64(seconds); {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min", s/60)
	case s < 100*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%d days", s/86400)
	}
}
