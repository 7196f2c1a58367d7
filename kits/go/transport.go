package leads

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
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

// newTransport makes a transport that asks for nothing of its own (no compression,
// no cookies), follows nothing, and whose connections count what they write.
func newTransport(config *config) *http.Transport {
	dialer := &net.Dialer{Timeout: config.call.tryTimeout}
	return &http.Transport{
		Proxy: config.proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &wire{Conn: conn}, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: config.rootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    config.call.tryTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxIdleConns:           idleConnectionsMax,
		MaxIdleConnsPerHost:    idleConnectionsMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headerBytesMax,
		DisableCompression:     true,
	}
}

// A wire is a connection that counts the bytes that the socket took.
type wire struct {
	net.Conn
	written atomic.Int64
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
