package leads

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// idleConnectionsMax is how many connections are kept between calls.
	idleConnectionsMax = 64
	// idleTimeout gives connections back that no call has used.
	idleTimeout = time.Minute
	// headerBytesMax bounds the header of an answer.
	headerBytesMax = 64 << 10
	// A connection of HTTP/2 that is silent for pingAfter is asked whether it still
	// lives, so that a dead one is found within one try and not given to the next.
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// newTransport makes a transport for one address that asks for nothing of its own
// (no compression, no cookies) and follows nothing. Its connections count what they
// write, and those of HTTP/1.1 are guarded.
func newTransport(config *config, base *url.URL, crowd *crowd) *http.Transport {
	dialer := &net.Dialer{Timeout: config.call.tryTimeout}
	dial := func(ctx context.Context, watch *watch, network, address string) (net.Conn, error) {
		if err := crowd.admit(watch); err != nil {
			return nil, err
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			crowd.closed()
			return nil, err
		}
		return &wire{Conn: conn, closed: sync.OnceFunc(crowd.closed)}, nil
	}
	secure := &tls.Config{RootCAs: config.rootCAs, MinVersion: tls.VersionTLS12}
	return &http.Transport{
		Proxy: config.proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, watch, done := forRequest(ctx)
			defer done()
			conn, err := dial(ctx, watch, network, address)
			if err != nil || base.Scheme == "https" {
				return conn, err // Under https this is a proxy, and TLS goes over it.
			}
			return &guard{Conn: conn}, nil
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, watch, done := forRequest(ctx)
			defer done()
			ctx, cancel := context.WithTimeout(ctx, config.call.tryTimeout)
			defer cancel()
			conn, err := dial(ctx, watch, network, address)
			if err != nil {
				return nil, err
			}
			return handshake(ctx, conn, secure, address, strings.EqualFold(address, hostPort(base)))
		},
		TLSClientConfig:        secure.Clone(), // For what goes through a proxy; net/http changes it.
		TLSHandshakeTimeout:    config.call.tryTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConns:           idleConnectionsMax,
		MaxIdleConnsPerHost:    idleConnectionsMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headerBytesMax,
		ReadBufferSize:         bufferBytes,
		DisableCompression:     true,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
			if response.StatusCode != http.StatusOK {
				return &proxyError{response.StatusCode}
			}
			return nil
		},
	}
}

// A proxyError is a proxy's refusal to open a tunnel, without its words.
type proxyError struct{ status int }

func (e *proxyError) Error() string { return "leads: the proxy refused" }

// handshake makes a TLS connection: to the service itself, which may choose HTTP/2,
// or to a proxy, which has to speak HTTP/1.1. net/http takes a *tls.Conn for HTTP/2
// and any other connection for HTTP/1.1.
func handshake(ctx context.Context, conn net.Conn, config *tls.Config, address string, toService bool) (net.Conn, error) {
	config = config.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	if toService {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		return secured, nil
	}
	return &guard{Conn: secured}, nil
}

// hostPort is what net/http dials for an address.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// A wire is a connection that counts the bytes that the socket took.
type wire struct {
	net.Conn
	written atomic.Int64
	closed  func()
}

func (w *wire) Close() error {
	err := w.Conn.Close()
	w.closed()
	return err
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.written.Add(int64(n))
	return n, err
}

// wireOf finds the wire under TLS, nil where there is none.
func wireOf(conn net.Conn) *wire {
	for {
		switch outer := conn.(type) {
		case *wire:
			return outer
		case interface{ NetConn() net.Conn }:
			conn = outer.NetConn()
		default:
			return nil
		}
	}
}
