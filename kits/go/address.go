package leads

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// parseBaseURL checks an address and drops its trailing slash. What url.Parse has
// to say is withheld: it quotes the address, which may hold a password.
func parseBaseURL(address string) (*url.URL, *Error) {
	if address == "" {
		return nil, misconfigured("no address: use WithBaseURL or set LEADS_BASE_URL")
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, misconfigured("the address is not a URL such as https://leads.example")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, misconfigured("the address has no port from 1 to 65535")
		}
	}
	switch {
	case u.User != nil:
		return nil, misconfigured("the address holds user information; the key does not belong there")
	case strings.ContainsRune(address, '?'):
		return nil, misconfigured("the address has a query")
	case strings.ContainsRune(address, '#'):
		return nil, misconfigured("the address has a fragment")
	case u.Scheme == "https":
	case u.Scheme == "http" && isThisMachine(u.Hostname()):
	case u.Scheme == "http":
		return nil, misconfigured("the address is plain http, which would show the key; https is needed")
	default:
		return nil, misconfigured("the address does not start with https://")
	}
	u, err = url.Parse(strings.TrimRight(address, "/"))
	if err != nil {
		return nil, misconfigured("the address is not a URL such as https://leads.example")
	}
	return u, nil
}

// below gives the address of path under base, whose own path is kept as it is spelled.
func below(base *url.URL, path string) *url.URL {
	u := *base
	if u.RawPath != "" {
		u.RawPath += path
	}
	u.Path += path
	return &u
}

// isThisMachine takes 127.0.0.0/8, ::1 and localhost, spelled so: nothing that
// would have to be looked up first.
func isThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	return addr == netip.IPv6Loopback() || addr.Is4() && addr.IsLoopback()
}
