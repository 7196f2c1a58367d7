package leads

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"time"
)

const (
	// waitMax caps what the waits of our own grow to; a Retry-After may ask for more.
	waitMax = 30 * time.Second
	// waitFirst is the wait before the first retry, before jitter, and what a 429
	// without a readable Retry-After asks for.
	waitFirst = time.Second
)

// A call is one request, repeated until an answer or its bounds settle it.
type call struct {
	core *core
	settings
	method    string
	url       *url.URL
	header    http.Header
	body      []byte
	lead      bool // A post of a lead, whose outcome can be unknown.
	requestID string
	started   time.Time

	tries          int
	status         int
	code           string
	detail         string
	unknownOutcome bool
}

// run repeats the request until settle takes an answer, which is then the call's
// result. All other answers are judged here, in the contract's order.
func (c *call) run(ctx context.Context, settle func(*answer) bool) error {
	limitedInARow := 0
	for {
		if err := ctx.Err(); err != nil {
			return c.ended(ctx)
		}
		remaining := c.remaining()
		if remaining <= 0 {
			return c.failed(Unavailable, "the deadline has passed", context.DeadlineExceeded)
		}
		out := c.try(ctx, remaining)
		c.status, c.code, c.detail = 0, "", ""
		if out.answer != nil {
			c.status, c.code, c.detail = out.answer.status, out.answer.code(), out.answer.detail()
		}
		if c.lead && out.sent && !out.whole {
			c.unknownOutcome = true
		}

		var wait time.Duration
		var limited bool
		var why problem
		switch a := out.answer; {
		case out.refused != "":
			c.tries++
			return c.failed(Refused, out.refused, nil)
		case a == nil:
			if err := ctx.Err(); err != nil {
				c.tries++
				return c.ended(ctx)
			}
			why = out.problem
		case settle(a):
			c.tries++
			return nil
		case a.status/100 == 2:
			if c.lead {
				c.unknownOutcome = true
			}
			why.reason = "an answer came that cannot be the service's"
		case a.status == http.StatusUnauthorized:
			c.tries++
			return c.failed(Unauthorized, "the service does not know the key, or it was revoked", nil)
		case a.status == http.StatusUnprocessableEntity && c.lead && a.fields() != nil:
			c.tries++
			err := c.failed(InvalidLead, "the service refused fields of the lead; Fields names them", nil)
			err.Fields = a.fields()
			return err
		case a.status == http.StatusTooManyRequests:
			limited = true
			why.reason = "the service asks to wait longer than the deadline allows"
		case a.status/100 == 5:
			why.reason = "the service could not take it"
		default:
			c.tries++
			return c.failed(Refused, "the answer must not be repeated", nil)
		}

		if limited {
			limitedInARow++
			wait = c.waitWhenLimited(out.answer, limitedInARow)
		} else {
			limitedInARow = 0
			c.tries++
			if c.tries >= c.settings.tries {
				return c.failed(Unavailable, why.reason, why.cause)
			}
			wait = c.waitBeforeRetry(out.answer)
		}
		if wait >= c.remaining() || outlasts(ctx, wait) {
			return c.failed(Unavailable, why.reason, why.cause)
		}
		if c.observer.Wait != nil {
			c.observer.Wait(Wait{Duration: wait, RateLimited: limited, RequestID: c.requestID})
		}
		if c.clock.Sleep(ctx, wait) != nil {
			return c.ended(ctx)
		}
	}
}

func (c *call) remaining() time.Duration {
	return c.deadline - c.clock.Now().Sub(c.started)
}

// outlasts reports whether a wait would leave nothing of the deadline of the caller's
// context.
func outlasts(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && wait >= time.Until(deadline)
}

// waitBeforeRetry doubles from waitFirst to waitMax with the tries that are spent,
// of which jitter takes up to a half. A Retry-After of a 5xx is a floor without jitter.
func (c *call) waitBeforeRetry(a *answer) time.Duration {
	base := doubled(waitFirst, c.tries-1)
	wait := scaled(base, (1+c.jitter())/2)
	if a != nil && a.status/100 == 5 {
		if floor, ok := retryAfter(a.header, c.clock.Now()); ok {
			wait = max(wait, floor)
		}
	}
	return wait
}

// waitWhenLimited is what the service asks for, doubled for each 429 in a row up to
// waitMax, and jitter of up to a quarter on top, so that clients part.
func (c *call) waitWhenLimited(a *answer, inARow int) time.Duration {
	asked, ok := retryAfter(a.header, c.clock.Now())
	if !ok || asked < waitFirst {
		asked = waitFirst
	}
	return scaled(max(asked, doubled(asked, inARow-1)), 1+c.jitter()/4)
}

// doubled doubles d times over, up to waitMax.
func doubled(d time.Duration, times int) time.Duration {
	for range times {
		if d >= waitMax {
			break
		}
		d *= 2
	}
	return min(d, waitMax)
}

// scaled multiplies and saturates.
func scaled(d time.Duration, factor float64) time.Duration {
	product := float64(d) * factor
	if product >= math.MaxInt64 {
		return forever
	}
	return time.Duration(math.Round(product))
}

// jitter draws from 0 to 1, whatever a replaced source gives.
func (c *call) jitter() float64 {
	r := c.random()
	if !(r >= 0) {
		return 0
	}
	return min(r, 1)
}

// failed makes the call's error of what its last try left behind.
func (c *call) failed(kind Kind, reason string, cause error) *Error {
	return &Error{
		Kind:           kind,
		Status:         c.status,
		Code:           c.code,
		Detail:         c.detail,
		RequestID:      c.requestID,
		Tries:          c.tries,
		UnknownOutcome: c.unknownOutcome,
		reason:         reason,
		cause:          cause,
	}
}

// ended is the error of a call whose context is done. A deadline that the caller
// put on the context is a deadline like the call's own.
func (c *call) ended(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c.failed(Unavailable, "the deadline of the context has passed", context.DeadlineExceeded)
	}
	return c.failed(Cancelled, "the context was cancelled", context.Canceled)
}
