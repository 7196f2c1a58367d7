package leads

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A proxyError is a proxy's refusal to open a tunnel, without its words.
type proxyError struct{ status int }

func (e *proxyError) Error() string { return "leads: the proxy refused" }

var (
	errProxyScheme = errors.New("leads: the proxy's address is not of http, https or socks5")
	errProxyWords  = errors.New("leads: the proxy did not answer as one")
)

// proxyPorts are the ports of addresses that have none, by the schemes that are known.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// tunnel asks the proxy at the other end of conn for a connection to address. What net/http
// tunnels it secures itself, and such a connection could not be guarded.
func tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, address string) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	var err error
	if strings.HasPrefix(proxy.Scheme, "socks5") {
		err = socks(conn, proxy.User, address)
	} else {
		err = connect(conn, proxy.User, address)
	}
	if !stop() {
		return ctx.Err()
	}
	return err
}

// connect is HTTP's way to ask.
func connect(conn net.Conn, user *url.Userinfo, address string) error {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if user != nil {
		password, _ := user.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	reader := bufio.NewReader(io.LimitReader(conn, headerBytesMax))
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return &proxyError{response.StatusCode}
	}
	if reader.Buffered() > 0 {
		return errUnasked // In TLS the service is not the first to speak.
	}
	return nil
}

// socks is RFC 1928's way to ask, with the password of RFC 1929 where there is one. The
// proxy resolves the name.
func socks(conn net.Conn, user *url.Userinfo, address string) error {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := net.LookupPort("tcp", portText)
	if err != nil {
		return err
	}
	const version, none, password = 5, 0, 2
	method := byte(none)
	if user != nil {
		method = password
	}
	var answer [4]byte
	ask := func(request []byte, answer []byte) error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, answer)
		return err
	}
	if err := ask([]byte{version, 1, method}, answer[:2]); err != nil {
		return err
	}
	if answer[0] != version || answer[1] != method {
		return errProxyWords
	}
	if method == password {
		name := user.Username()
		word, _ := user.Password()
		if len(name) > 255 || len(word) > 255 {
			return errProxyWords
		}
		login := append([]byte{1, byte(len(name))}, name...)
		login = append(append(login, byte(len(word))), word...)
		if err := ask(login, answer[:2]); err != nil {
			return err
		}
		if answer[1] != 0 {
			return errProxyWords
		}
	}
	const toConnect, ipv4, domain, ipv6 = 1, 1, 3, 4
	request := []byte{version, toConnect, 0}
	if ip := net.ParseIP(host); ip.To4() != nil {
		request = append(append(request, ipv4), ip.To4()...)
	} else if ip != nil {
		request = append(append(request, ipv6), ip...)
	} else if len(host) > 255 {
		return errProxyWords
	} else {
		request = append(append(request, domain, byte(len(host))), host...)
	}
	if err := ask(append(request, byte(port>>8), byte(port)), answer[:]); err != nil {
		return err
	}
	if answer[0] != version || answer[1] != 0 {
		return errProxyWords
	}
	// The address that the proxy uses, and its port, are of no use here.
	length := map[byte]int64{ipv4: net.IPv4len, ipv6: net.IPv6len}[answer[3]]
	if answer[3] == domain {
		if _, err := io.ReadFull(conn, answer[:1]); err != nil {
			return err
		}
		length = int64(answer[0])
	}
	_, err = io.CopyN(io.Discard, conn, length+2)
	return err
}
