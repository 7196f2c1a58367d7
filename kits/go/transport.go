package leads

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
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
		// Plain http goes to this machine, and past every proxy; what goes through one is
		// dialed here.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, watch, done := forRequest(ctx)
			defer done()
			conn, err := dial(ctx, watch, network, address)
			if err != nil {
				return nil, err
			}
			return &guard{Conn: conn}, nil
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, watch, done := forRequest(ctx)
			defer done()
			ctx, cancel := context.WithTimeout(ctx, config.call.tryTimeout)
			defer cancel()
			first, proxy, err := route(config, base, address)
			if err != nil {
				return nil, err
			}
			conn, err := dial(ctx, watch, network, first)
			if err != nil {
				return nil, err
			}
			secured, err := secureConn(ctx, conn, secure, proxy, address)
			if err != nil {
				conn.Close()
				return nil, err
			}
			return secured, nil
		},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConns:           idleConnectionsMax,
		MaxIdleConnsPerHost:    idleConnectionsMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headerBytesMax,
		ReadBufferSize:         bufferBytes,
		DisableCompression:     true,
	}
}

// route gives the address to dial for the service's, and the proxy that it is, nil for
// none.
func route(config *config, base *url.URL, address string) (first string, proxy *url.URL, err error) {
	if config.proxy == nil {
		return address, nil, nil
	}
	asked := *base
	proxy, err = config.proxy(&http.Request{Method: http.MethodPost, URL: &asked, Host: asked.Host, Header: http.Header{}})
	if err != nil || proxy == nil {
		return address, nil, err
	}
	port := proxyPorts[proxy.Scheme]
	if port == "" {
		return "", nil, errProxyScheme
	}
	return hostPort(proxy, port), proxy, nil
}

// secureConn makes a TLS connection to the service over conn, through a proxy where there
// is one, which has to speak HTTP/1.1. The service may choose HTTP/2: net/http takes a
// *tls.Conn for that, and any other connection for HTTP/1.1.
func secureConn(ctx context.Context, conn net.Conn, config *tls.Config, proxy *url.URL, address string) (net.Conn, error) {
	if proxy != nil {
		if proxy.Scheme == "https" {
			secured, err := handshake(ctx, conn, config, hostPort(proxy, ""), "http/1.1")
			if err != nil {
				return nil, err
			}
			conn = secured
		}
		if err := tunnel(ctx, conn, proxy, address); err != nil {
			return nil, err
		}
	}
	secured, err := handshake(ctx, conn, config, address, "h2", "http/1.1")
	if err != nil {
		return nil, err
	}
	if secured.ConnectionState().NegotiatedProtocol == "h2" {
		return secured, nil
	}
	return &guard{Conn: secured}, nil
}

func handshake(ctx context.Context, conn net.Conn, config *tls.Config, address string, versions ...string) (*tls.Conn, error) {
	config = config.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	config.NextProtos = versions
	secured := tls.Client(conn, config)
	return secured, secured.HandshakeContext(ctx)
}

// hostPort is what to dial for an address that may have no port.
func hostPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
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
