package leads_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	"leads.example/leads-go"
)

var proxySchemes = []string{"http", "https", "socks5"}

// serveProxy starts a proxy, whose certificate it adds to authority, and counts its tunnels.
func serveProxy(t *testing.T, scheme string, authority *x509.CertPool) (address *url.URL, tunnels *atomic.Int32) {
	t.Helper()
	tunnels = new(atomic.Int32)
	if scheme == "socks5" {
		at, _ := rawServer(t, func(_ int, reader *bufio.Reader, conn net.Conn) {
			tunnels.Add(1)
			if host := readSOCKS(reader, conn); host == "" {
				t.Error("what came is not SOCKS")
			} else {
				join(reader, conn, host)
			}
		})
		address, _ = url.Parse(at)
		address.Scheme, address.User = scheme, url.UserPassword("gate", "open")
		return address, tunnels
	}
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("X-API-Key") != "" {
			t.Errorf("the proxy was asked to %s, with key: %t", r.Method, r.Header.Get("X-API-Key") != "")
		}
		if r.Header.Get("Proxy-Authorization") != "Basic Z2F0ZTpvcGVu" {
			t.Error("the proxy got no password")
		}
		tunnels.Add(1)
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		join(buffered, conn, r.Host)
	}))
	if scheme == "https" {
		proxy.EnableHTTP2 = true // Which must not be chosen for a tunnel.
		proxy.StartTLS()
		authority.AddCert(proxy.Certificate())
	} else {
		proxy.Start()
	}
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("gate", "open")
	return address, tunnels
}

// readSOCKS answers a login and a request to connect, and gives the address asked for,
// empty when something else came.
func readSOCKS(reader *bufio.Reader, conn net.Conn) (address string) {
	read := func(n int) string {
		p := make([]byte, n)
		io.ReadFull(reader, p)
		return string(p)
	}
	if read(3) != "\x05\x01\x02" {
		return ""
	}
	io.WriteString(conn, "\x05\x02")
	if read(11) != "\x01\x04gate\x04open" {
		return ""
	}
	io.WriteString(conn, "\x01\x00")
	if read(4) != "\x05\x01\x00\x01" {
		return ""
	}
	host, port := net.IP(read(4)), read(2)
	io.WriteString(conn, "\x05\x00\x00\x03\x04gate\x00\x00")
	return net.JoinHostPort(host.String(), strconv.Itoa(int(port[0])<<8|int(port[1])))
}

// join hands bytes back and forth until one side has ended.
func join(reader io.Reader, conn net.Conn, host string) {
	service, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer service.Close()
	go func() {
		io.Copy(service, reader)
		service.Close()
	}()
	io.Copy(conn, service)
}

// A way is how a client reaches a server that writes what it likes.
type way string

// overAll runs a test over each way: directly, and through each kind of proxy.
func overAll(t *testing.T, name string, run func(*testing.T, way)) {
	t.Run(name, func(t *testing.T) { run(t, "") })
	for _, scheme := range proxySchemes {
		t.Run(fmt.Sprintf("%s, through %s", name, scheme), func(t *testing.T) { run(t, way(scheme)) })
	}
}

// serve is rawServer, with the options that a client of it needs. Through a proxy it speaks
// TLS.
func (w way) serve(t *testing.T, talk func(int, *bufio.Reader, net.Conn)) (address string, connections *atomic.Int32, options []leads.Option) {
	t.Helper()
	if w == "" {
		address, connections = rawServer(t, talk)
		return address, connections, nil
	}
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	authority := x509.NewCertPool()
	authority.AddCert(certified.Certificate())
	config := &tls.Config{Certificates: certified.TLS.Certificates}
	address, connections = rawServer(t, func(n int, _ *bufio.Reader, conn net.Conn) {
		secured := tls.Server(conn, config)
		defer secured.Close()
		talk(n, bufio.NewReader(secured), secured)
	})
	proxy, _ := serveProxy(t, string(w), authority)
	return "https" + address[len("http"):], connections, []leads.Option{leads.WithRootCAs(authority), leads.WithProxy(http.ProxyURL(proxy))}
}
