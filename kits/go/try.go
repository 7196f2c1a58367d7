package leads

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// interimAnswersMax bounds the 1xx answers before the real one.
	interimAnswersMax = 20
	// staleConnectionsMax bounds the kept connections that one try may find closed.
	staleConnectionsMax = 1 + idleConnectionsMax
)

// An outcome is what one try came to.
type outcome struct {
	answer  *answer
	refused string  // Why it must not be repeated although no whole answer came.
	problem problem // Why no answer came.
	sent    bool    // Bytes of the request went out on an established connection.
	whole   bool    // A whole answer came.
}

// A problem is a failure in words of our own, with a cause that may be told.
type problem struct {
	reason string
	cause  error
}

// try makes one request within the time-out of a try and what remains of the call.
func (c *call) try(ctx context.Context, remaining time.Duration) outcome {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, min(c.tryTimeout, remaining))
	defer cancel()
	out := c.exchange(ctx)
	if c.observer.Try != nil {
		status := 0
		if out.answer != nil {
			status = out.answer.status
		}
		c.observer.Try(Try{Method: c.method, Status: status, Duration: time.Since(began), RequestID: c.requestID})
	}
	return out
}

// exchange sends the request and reads the answer. A kept connection that turns out
// to be closed before anything went out on it is passed over; net/http itself never
// sends again, because the body cannot be rewound (see newRequest).
func (c *call) exchange(ctx context.Context) outcome {
	c.core.crowd.enter()
	defer c.core.crowd.leave()
	for range staleConnectionsMax {
		watch := newWatch(ctx)
		response, err := c.core.transport.RoundTrip(c.newRequest(watch.context()))
		if err == nil {
			if guard := watch.guard.Load(); guard != nil {
				guard.body(response)
			}
			return readAnswer(response)
		}
		if watch.interim.Load() > interimAnswersMax {
			last := &answer{status: int(watch.interimStatus.Load())}
			return outcome{answer: last, refused: "more than 20 interim answers came", sent: true}
		}
		if watch.reused.Load() && !watch.sent() && ctx.Err() == nil {
			continue
		}
		return outcome{problem: explain(err), sent: watch.sent()}
	}
	return outcome{problem: problem{reason: "all kept connections were closed"}}
}

// newRequest makes the request anew for each sending. It has a body that is not
// http.NoBody and no GetBody, for a GET as well: net/http takes a request with an
// Idempotency-Key, and every GET, for one that it may quietly send twice, unless
// its body cannot be rewound.
func (c *call) newRequest(ctx context.Context) *http.Request {
	request := &http.Request{
		Method:        c.method,
		URL:           c.url,
		Host:          c.url.Host,
		Header:        c.header,
		Body:          io.NopCloser(bytes.NewReader(c.body)),
		ContentLength: int64(len(c.body)),
	}
	return request.WithContext(ctx)
}

func readAnswer(response *http.Response) outcome {
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return outcome{answer: &answer{status: response.StatusCode}, refused: "the answer switches protocols", sent: true}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if len(body) > answerBytesMax {
		return outcome{answer: &answer{status: response.StatusCode}, refused: "the answer is longer than 1,048,576 bytes", sent: true}
	}
	if err != nil {
		return outcome{problem: explain(err), sent: true}
	}
	return outcome{answer: &answer{status: response.StatusCode, header: response.Header, body: body}, sent: true, whole: true}
}

// A watch follows one request through net/http.
type watch struct {
	try           context.Context // Is done when the try is.
	served        chan struct{}   // Closed when the request has got a connection.
	serve         func()
	reused        atomic.Bool
	wrote         atomic.Bool
	interim       atomic.Int32
	interimStatus atomic.Int32
	wire          atomic.Pointer[wire]
	before        atomic.Int64
	guard         atomic.Pointer[guard]
	turn          atomic.Int64
}

var errTooManyInterim = errors.New("leads: too many interim answers")

func newWatch(try context.Context) *watch {
	served := make(chan struct{})
	return &watch{try: try, served: served, serve: sync.OnceFunc(func() { close(served) })}
}

// context gives the request's context, through which net/http tells the watch.
func (w *watch) context() context.Context {
	ctx := context.WithValue(w.try, watchKey{}, w)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			w.reused.Store(info.Reused)
			w.wrote.Store(false)
			w.serve()
			if wire := wireOf(info.Conn); wire != nil {
				w.before.Store(wire.written.Load())
				w.wire.Store(wire)
			}
			if guard, ok := info.Conn.(*guard); ok {
				w.turn.Store(int64(guard.begin()))
				w.guard.Store(guard)
			}
		},
		WroteHeaders: func() { w.wrote.Store(true) },
		PutIdleConn: func(err error) {
			if guard := w.guard.Load(); guard != nil && err == nil {
				guard.rest(int(w.turn.Load()))
			}
		},
		Got1xxResponse: func(status int, _ textproto.MIMEHeader) error {
			w.interimStatus.Store(int32(status))
			if w.interim.Add(1) > interimAnswersMax {
				return errTooManyInterim
			}
			return nil
		},
	})
}

// sent reports whether bytes of the request went out on an established connection:
// net/http began to write it, and the socket took something since. The socket alone
// would not tell, because closing a TLS connection writes to it as well.
func (w *watch) sent() bool {
	if !w.wrote.Load() {
		return false
	}
	if guard := w.guard.Load(); guard != nil && guard.untouched() {
		return false
	}
	wire := w.wire.Load()
	return wire == nil || wire.written.Load() > w.before.Load()
}

// explain puts a failure into words of our own. net/http's errors may quote what
// came back, so only causes that cannot are kept.
func explain(err error) problem {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var system *os.SyscallError
	var proxy *proxyError
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return problem{"no whole answer came in time", context.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return problem{"the try was cancelled", context.Canceled}
	case errors.As(err, &lookup):
		return problem{"the address's name could not be resolved", lookup}
	case errors.As(err, &certificate):
		return problem{"the certificate could not be verified", certificate}
	case errors.As(err, &record):
		return problem{"the other side does not speak TLS", nil}
	case errors.As(err, &alert):
		return problem{"the TLS handshake failed", alert}
	case errors.As(err, &proxy):
		return problem{"the proxy answered " + strconv.Itoa(proxy.status), nil}
	case errors.As(err, &system):
		return problem{"the connection failed: " + system.Error(), system}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return problem{"the connection was closed before a whole answer came", io.ErrUnexpectedEOF}
	case errors.As(err, &network) && network.Timeout():
		return problem{"no whole answer came in time", context.DeadlineExceeded}
	}
	return problem{"the connection failed, or what came is not HTTP", nil}
}
