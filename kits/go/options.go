package leads

import (
	"context"
	"crypto/x509"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// What holds for every call unless an option says otherwise.
const (
	// DefaultTries is how many tries a call may spend.
	DefaultTries = 5
	// DefaultDeadline bounds a call with all its waits.
	DefaultDeadline = 2 * time.Minute
	// DefaultTryTimeout bounds one try, from connecting to the last byte of the
	// answer. The service answers within 20 s or not at all.
	DefaultTryTimeout = 20 * time.Second
)

// An Option is given to [New].
type Option interface{ apply(*config) }

// A CallOption is given to one call, or to [New], where it holds for every call.
type CallOption func(*settings)

type config struct {
	key     *string
	baseURL *string
	rootCAs *x509.CertPool
	proxy   func(*http.Request) (*url.URL, error)
	product string
	version string
	call    settings
}

type settings struct {
	tries      int
	deadline   time.Duration
	tryTimeout time.Duration
	clock      Clock
	random     func() float64
	observer   Observer
	requestID  *string
}

type clientOption func(*config)

func (o clientOption) apply(c *config) { o(c) }
func (o CallOption) apply(c *config)   { o(&c.call) }

// WithKey gives the API key. Without it, the environment's LEADS_API_KEY is taken.
func WithKey(key string) Option {
	return clientOption(func(c *config) { c.key = &key })
}

// WithBaseURL gives the service's address, such as https://leads.example; a path
// is kept. Without it, the environment's LEADS_BASE_URL is taken. Plain http is
// taken only to this machine itself.
func WithBaseURL(address string) Option {
	return clientOption(func(c *config) { c.baseURL = &address })
}

// WithRootCAs trusts the authorities in pool instead of the system's. To add to
// the system's, start from [x509.SystemCertPool].
func WithRootCAs(pool *x509.CertPool) Option {
	return clientOption(func(c *config) { c.rootCAs = pool })
}

// WithProxy chooses the proxy of each connection, of http, https or socks5, by a
// request that has the base address and nothing more. Without it,
// [http.ProxyFromEnvironment] chooses; nil means none. Plain http, which goes to this
// machine, goes past every proxy.
func WithProxy(proxy func(*http.Request) (*url.URL, error)) Option {
	return clientOption(func(c *config) { c.proxy = proxy })
}

// WithProduct names the program in the User-Agent and in the request ids that are
// made for it, in place of leads-go and [Version]. It is for programs that others
// know by a name, such as leads-cli. The name is letters, digits, dots, dashes and
// underscores, 40 at most; so is the version.
func WithProduct(name, version string) Option {
	return clientOption(func(c *config) { c.product, c.version = name, version })
}

// WithTries sets how many tries a call may spend, [DefaultTries] otherwise.
// 1 never repeats anything but what got a 429.
func WithTries(tries int) CallOption {
	return func(s *settings) { s.tries = tries }
}

// WithDeadline bounds a call with its waits, [DefaultDeadline] otherwise. The
// context's own deadline holds as well, whichever comes first.
func WithDeadline(deadline time.Duration) CallOption {
	return func(s *settings) { s.deadline = deadline }
}

// WithTryTimeout bounds one try, from connecting to the last byte of the answer,
// [DefaultTryTimeout] otherwise.
func WithTryTimeout(timeout time.Duration) CallOption {
	return func(s *settings) { s.tryTimeout = timeout }
}

// WithRequestID sets the X-Request-Id of one call: 1 to 64 characters of printable
// ASCII, no blank at either end. Without it, each call gets the product's name, a
// dash and 16 random letters and digits. [New] refuses it.
func WithRequestID(id string) CallOption {
	return func(s *settings) { s.requestID = &id }
}

// WithObserver tells observer of every try and every wait.
func WithObserver(observer Observer) CallOption {
	return func(s *settings) { s.observer = observer }
}

// WithClock replaces the clock by which deadlines and waits are reckoned. The
// time-out of a try is always real.
func WithClock(clock Clock) CallOption {
	return func(s *settings) { s.clock = clock }
}

// WithRandom replaces the source of jitter: numbers from 0 to 1.
func WithRandom(random func() float64) CallOption {
	return func(s *settings) { s.random = random }
}

// A Clock tells the time and waits. It must be safe for concurrent use.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, and the context's error as soon as ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An Observer hears of tries and waits, never of content. Either function may be
// nil. They run on the goroutine of the call and hold it up while they run; calls
// on several goroutines run them at the same time.
type Observer struct {
	// Try is told when a try has ended.
	Try func(Try)
	// Wait is told when a wait begins.
	Wait func(Wait)
}

// A Try is one request and what became of it.
type Try struct {
	// Method is GET or POST.
	Method string
	// Status is the answer's, 0 when no answer came.
	Status int
	// Duration is how long the try took, by the real clock.
	Duration time.Duration
	// RequestID is the X-Request-Id that was sent.
	RequestID string
}

// A Wait is the time between two requests of one call.
type Wait struct {
	// Duration is how long the call will wait.
	Duration time.Duration
	// RateLimited is true for the wait after a 429.
	RateLimited bool
	// RequestID is the X-Request-Id of the call.
	RequestID string
}

func defaults() config {
	return config{
		proxy:   http.ProxyFromEnvironment,
		product: "leads-go",
		version: Version,
		call: settings{
			tries:      DefaultTries,
			deadline:   DefaultDeadline,
			tryTimeout: DefaultTryTimeout,
			clock:      systemClock{},
			random:     rand.Float64,
		},
	}
}

// check refuses settings with which no call could keep its promises.
func (s *settings) check() *Error {
	switch {
	case s.tries < 1:
		return misconfigured("a call needs at least one try")
	case s.deadline <= 0:
		return misconfigured("the deadline is not a positive duration")
	case s.tryTimeout <= 0:
		return misconfigured("the time-out of a try is not a positive duration")
	case s.clock == nil:
		return misconfigured("the clock is nil")
	case s.random == nil:
		return misconfigured("the source of jitter is nil")
	case s.requestID != nil && !sendable(*s.requestID, requestIDCharsMax):
		return misconfigured("the request id is not 1 to 64 characters of printable ASCII without a blank at either end")
	}
	return nil
}
