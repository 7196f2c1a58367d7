use std::net::{Ipv4Addr, Ipv6Addr};

use ureq::http::Uri;
use ureq::http::uri::{Authority, Scheme};

use crate::Error;

/// Chosen: 2,048, because the head of a request has to fit into one write; see `wire::Watched`.
const ADDRESS_CHARACTERS_MAX: usize = 2048;

/// Where the service is, checked, without a slash at its end.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    text: String,
    scheme: Scheme,
    authority: Authority,
}

impl Address {
    /// Refuses whatever is not `https://`, but for `http://` to this machine. No message shows the address: it may
    /// hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > ADDRESS_CHARACTERS_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::misconfigured("the address has over 2048 characters, or some that no address has"));
        }
        if text.contains(['?', '#']) {
            return Err(Error::misconfigured("the address has a query or a fragment"));
        }
        let uri: Uri = text.parse().map_err(|_| Error::misconfigured("the address cannot be read"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::misconfigured("the address is not an https:// address"));
        };
        if authority.as_str().contains('@') {
            return Err(Error::misconfigured("the address has user information"));
        }
        if authority.host().is_empty() || (authority.as_str() != authority.host() && authority.port_u16().is_none()) {
            return Err(Error::misconfigured("the address has no host, or no port after its colon"));
        }
        if *scheme == Scheme::HTTP && !is_this_machine(authority.host()) {
            return Err(Error::misconfigured("http:// is taken only to this machine: use https://"));
        }
        if *scheme != Scheme::HTTPS && *scheme != Scheme::HTTP {
            return Err(Error::misconfigured("the address is not an https:// address"));
        }
        let text = format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/'));
        Ok(Self { text, scheme: scheme.clone(), authority: authority.clone() })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The address of a call: `/v1/intake`, for example, behind what was given.
    pub(crate) fn join(&self, path: &str) -> Result<Uri, Error> {
        format!("{}{path}", self.text).parse().map_err(|_| Error::misconfigured("the address cannot be read"))
    }

    /// Whether what is sent there may leave this machine.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Whether a connection is one to the service, and not to a proxy on the way.
    pub(crate) fn is_host_of(&self, uri: &Uri) -> bool {
        uri.scheme() == Some(&self.scheme) && uri.authority() == Some(&self.authority)
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    match bare {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok_and(|address| address == Ipv6Addr::LOCALHOST),
        None => host.eq_ignore_ascii_case("localhost") || host.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback()),
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_keep_their_path_and_lose_a_slash_at_the_end() {
        for (given, kept) in [
            ("https://a.example", "https://a.example"),
            ("https://a.example/", "https://a.example"),
            ("https://a.example/leads/", "https://a.example/leads"),
            ("HTTPS://A.example:8443/x", "https://A.example:8443/x"),
            ("http://127.1.2.3:80", "http://127.1.2.3:80"),
            ("http://[::1]:9000/", "http://[::1]:9000"),
            ("http://LOCALHOST:1", "http://LOCALHOST:1"),
        ] {
            assert_eq!(Address::parse(given).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn addresses_that_would_carry_a_key_to_the_wrong_place_are_refused() {
        for given in [
            "",
            "a.example",
            "/leads",
            "ftp://a.example",
            "http://a.example",
            "http://127.0.0.1.a.example",
            "http://127.0.0.1@a.example",
            "http://localhost.a.example",
            "http://[::2]",
            "http://0.0.0.0",
            "https://",
            "https:///x",
            "https://a.example:99999",
            "https://a.example:",
            "https://user@a.example",
            "https://user:word@a.example",
            "https://a.example?x",
            "https://a.example/#x",
            "https://a.example/ x",
            "https://a.example/\u{e9}",
            " https://a.example",
        ] {
            assert!(Address::parse(given).is_err(), "{given}");
        }
    }
}
