package backfill

import (
	"context"
	"sync"
	"time"

	"leads.example/leads-go"
)

// catchUp is how late a turn may be taken without moving the turns after it: timers
// fire late, and at high rates that would add up.
const catchUp = 10 * time.Millisecond

// A pacer gives turns to requests, evenly spaced, so that no more than the rate go
// out in any second. What was not used is not saved up.
type pacer struct {
	clock    leads.Clock
	interval time.Duration
	// door lets one row that is new wait for its turn. The others have none yet, so that
	// a retry, whose call has a deadline, comes before them.
	door chan struct{}

	mu   sync.Mutex
	next time.Time // The first turn that is free.
	held time.Time // Nobody goes before.
}

func newPacer(clock leads.Clock, perSecond float64) *pacer {
	return &pacer{clock: clock, door: make(chan struct{}, 1), interval: time.Duration(float64(time.Second) / perSecond)}
}

// waitForNew is wait for a row that was not tried yet.
func (p *pacer) waitForNew(ctx context.Context) error {
	select {
	case p.door <- struct{}{}:
		defer func() { <-p.door }()
		return p.wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns at the caller's turn, or with the context's error.
func (p *pacer) wait(ctx context.Context) error {
	for {
		turn, now := p.take()
		if wait := turn.Sub(now); wait > 0 {
			if err := p.clock.Sleep(ctx, wait); err != nil {
				return err
			}
		} else if err := ctx.Err(); err != nil {
			return err
		}
		p.mu.Lock()
		held := p.held.After(turn)
		p.mu.Unlock()
		if !held {
			return nil
		}
	}
}

func (p *pacer) take() (turn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = p.clock.Now()
	turn = p.next
	if earliest := now.Add(-catchUp); turn.Before(earliest) {
		turn = now
	}
	if turn.Before(p.held) {
		turn = p.held
	}
	p.next = turn.Add(p.interval)
	return turn, now
}

// hold keeps everybody back for a time, because the service asked one to wait.
func (p *pacer) hold(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.clock.Now().Add(d); until.After(p.held) {
		p.held = until
	}
}

// pacedClock is the clock of the posts: a retry, too, takes a turn. stopping ends
// waits when the run stops, while requests that are under way may go on.
type pacedClock struct {
	leads.Clock
	pacer    *pacer
	stopping context.Context
}

func (c pacedClock) Sleep(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopping, cancel)()
	if err := c.Clock.Sleep(ctx, d); err != nil {
		return err
	}
	return c.pacer.wait(ctx)
}
