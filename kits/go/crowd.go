package leads

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A crowd keeps the connections at no more than the requests that are under way at
// one time. net/http dials for every request that finds no idle connection, and when
// another's answer frees one first, the dialed one is left over: eight goroutines end
// up with more than eight connections. Here a request that has a connection to look
// forward to waits for it.
type crowd struct {
	mu          sync.Mutex
	requests    int
	connections int // Open or being dialed.
	waiting     int
	changed     chan struct{} // Closed when a waiting dial may go ahead.
}

// connectionWaitMax is when a dial goes ahead all the same: an open connection may
// be one that no request is given, such as one to another proxy.
const connectionWaitMax = 2 * time.Second

var errNotNeeded = errors.New("leads: the request has got another connection")

func newCrowd() *crowd { return &crowd{changed: make(chan struct{})} }

func (c *crowd) enter() { c.change(1, 0) }
func (c *crowd) leave() { c.change(-1, 0) }

// closed says that an admitted connection is gone, or was never made.
func (c *crowd) closed() { c.change(0, -1) }

func (c *crowd) change(requests, connections int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests += requests
	c.connections += connections
	if c.waiting > 0 && c.connections < c.requests {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// admit returns nil when the request of watch shall dial, and an error when it has a
// connection already.
func (c *crowd) admit(watch *watch) error {
	timer := time.NewTimer(connectionWaitMax)
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for late := false; !late && c.connections >= c.requests; {
		changed := c.changed
		c.waiting++
		c.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-timer.C:
			late = true
		case <-watch.served:
			err = errNotNeeded
		case <-watch.try.Done():
			err = watch.try.Err()
		}
		c.mu.Lock()
		c.waiting--
		if err != nil {
			return err
		}
	}
	c.connections++
	return nil
}

type watchKey struct{}

// forRequest gives the context of a dial, which net/http parts from its request's,
// an end: when the request has failed without a connection, nobody needs this one.
// A dial whose request was served by another goes on, for the next.
func forRequest(ctx context.Context) (context.Context, *watch, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	watch := ctx.Value(watchKey{}).(*watch)
	stop := context.AfterFunc(watch.try, func() {
		select {
		case <-watch.served:
		default:
			cancel()
		}
	})
	return ctx, watch, func() { stop(); cancel() }
}
