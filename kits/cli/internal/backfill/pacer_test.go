package backfill

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A manualClock moves by what is slept, at once.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func TestTurnsAreEvenlySpacedAndNothingIsSavedUp(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := &manualClock{now: start}
	p := newPacer(clock, 2)
	at := func() time.Duration {
		if err := p.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		return clock.Now().Sub(start)
	}
	for i := range 5 {
		if got, want := at(), time.Duration(i)*500*time.Millisecond; got != want {
			t.Errorf("turn %d is at %s and not %s", i+1, got, want)
		}
	}
	clock.Sleep(t.Context(), time.Minute)
	idle := at()
	if next := at(); next-idle != 500*time.Millisecond {
		t.Errorf("after a minute's rest the second turn is %s behind the first", next-idle)
	}
}

func TestAHoldKeepsEverybodyBack(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := &manualClock{now: start}
	p := newPacer(clock, 1000)
	p.hold(7 * time.Second)
	p.hold(3 * time.Second)
	if p.wait(t.Context()) != nil || clock.Now().Sub(start) < 7*time.Second {
		t.Errorf("a turn was given after %s", clock.Now().Sub(start))
	}
}

func TestAHoldReachesThoseThatAlreadyWait(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := &holdingClock{manualClock: manualClock{now: start}}
	p := newPacer(clock, 1)
	clock.during = func() { p.hold(10 * time.Second) }
	p.wait(t.Context())
	p.wait(t.Context())
	if waited := clock.Now().Sub(start); waited < 10*time.Second {
		t.Errorf("a turn was given after %s", waited)
	}
}

// A holdingClock does something once, while somebody sleeps.
type holdingClock struct {
	manualClock
	during func()
}

func (c *holdingClock) Sleep(ctx context.Context, d time.Duration) error {
	if during := c.during; during != nil {
		c.during = nil
		during()
	}
	return c.manualClock.Sleep(ctx, d)
}

func TestATurnIsNotWaitedForOnceTheRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if newPacer(&manualClock{}, 1).wait(ctx) == nil {
		t.Error("a turn was given")
	}
}
