//! One request and its answer, as far as they came: everything that knows of `ureq`.
//!
//! `ureq` blocks, so that a try happens on one thread from its first packet to its last byte. What the connection
//! sees of it is therefore kept in a thread-local ([`TRY`]): a pooled connection has no other way to the try that
//! uses it.

use std::cell::RefCell;
use std::io::{self, Read};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::{Request, Response, Uri, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::{Duration as MaybeDuration, Instant as MaybeInstant};
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, Either, NextTimeout, RustlsConnector, ShutdownHandle,
    SocksConnector, TcpConnector, Transport,
};
use ureq::{Agent, Body, Proxy};

use crate::address::Address;
use crate::cancel::{CancelToken, Hook};
use crate::key::KEY_LENGTH;

/// Source: kits/conformance/README.md, Judging an answer.
const BODY_BYTES_MAX: u64 = 1_048_576;
const INTERIM_ANSWERS_MAX: u32 = 20;

/// Chosen: more than any sensible number of threads that share a client. `ureq` keeps three for a host, and opens a new
/// connection for most posts of eight threads.
const IDLE_CONNECTIONS_MAX: usize = 100;

/// What stands in the head of a request where the key belongs; see [`Watched::transmit_output`].
const KEY_PLACEHOLDER: &str = "************************************************";
const KEY_HEADER: &str = "x-api-key";

/// What is sent.
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'static str,
    pub(crate) uri: &'a Uri,
    /// By name and value. The key is not among them.
    pub(crate) headers: &'a [(&'static str, &'a str)],
    /// `None` for a request without body and without key.
    pub(crate) body: Option<&'a [u8]>,
}

/// What came of it.
pub(crate) enum Came {
    /// A whole answer.
    Whole(Answer),
    /// What must not be asked for again, and is not read to an end.
    Unacceptable { status: u16, reason: &'static str },
    /// No whole answer.
    Nothing { reason: &'static str },
}

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) etag: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// A pool of connections to one service.
pub(crate) struct Wire {
    agent: Agent,
}

impl Wire {
    pub(crate) fn new(address: &Address, key: String, root_certs: RootCerts) -> Self {
        debug_assert_eq!(KEY_PLACEHOLDER.len(), KEY_LENGTH);
        // Plain HTTP is only ever to this machine. By a proxy, key and lead would leave it in clear text.
        let proxy = if address.is_encrypted() { Proxy::try_from_env() } else { None };
        let config = Agent::config_builder()
            .proxy(proxy)
            .http_status_as_error(false)
            // Never followed: the key would travel.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(format!("{}/{}", crate::NAME, crate::VERSION))
            .accept("application/json")
            .accept_encoding("")
            .max_idle_connections(IDLE_CONNECTIONS_MAX)
            .max_idle_connections_per_host(IDLE_CONNECTIONS_MAX)
            .tls_config(TlsConfig::builder().root_certs(root_certs).build())
            .build();
        let connector =
            ().chain(SocksConnector::default())
                .chain(ConnectProxyConnector::default())
                .chain(Dialer)
                .chain(Tls(RustlsConnector::default()))
                .chain(Watcher { address: address.clone(), key: Arc::from(key) });
        Self { agent: Agent::with_parts(config, connector, LazyResolver(DefaultResolver::default())) }
    }

    /// Sends a request and reads its answer within the time-out, from the first packet of connecting to the last byte.
    /// Returns what came, and whether bytes of the request went out on an established connection.
    pub(crate) fn exchange(&self, outgoing: &Outgoing<'_>, timeout: Duration, cancel: &CancelToken) -> (Came, bool) {
        let _running = Running::start(cancel);
        let came = self.run(outgoing, timeout);
        let (sent, interim_answers, status) = TRY.with_borrow(|it| (it.sent, it.interim_answers, it.interim_status));
        let came = came.unwrap_or_else(|error| {
            if interim_answers > INTERIM_ANSWERS_MAX {
                let reason = "there is no end of interim answers";
                return Came::Unacceptable { status, reason };
            }
            Came::Nothing { reason: reason_of(&error) }
        });
        (came, sent)
    }

    fn run(&self, outgoing: &Outgoing<'_>, timeout: Duration) -> Result<Came, ureq::Error> {
        let mut request = Request::builder().method(outgoing.method).uri(outgoing.uri.clone());
        if outgoing.body.is_some() {
            request = request.header(KEY_HEADER, KEY_PLACEHOLDER).header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in outgoing.headers {
            request = request.header(*name, *value);
        }
        let response = match outgoing.body {
            Some(body) => self.send(request.body(body)?, timeout)?,
            None => self.send(request.body(())?, timeout)?,
        };
        read_answer(response)
    }

    fn send(&self, request: Request<impl ureq::AsSendBody>, timeout: Duration) -> Result<Response<Body>, ureq::Error> {
        let request = self.agent.configure_request(request).timeout_global(Some(timeout)).build();
        self.agent.run(request)
    }
}

fn read_answer(mut response: Response<Body>) -> Result<Came, ureq::Error> {
    let status = response.status().as_u16();
    if status == 101 {
        let reason = "the answer changes the protocol";
        return Ok(Came::Unacceptable { status, reason });
    }
    let reason = "the answer's body is over 1,048,576 bytes";
    let too_long = Came::Unacceptable { status, reason };
    let announced = response.body().content_length();
    if announced.is_some_and(|bytes| bytes > BODY_BYTES_MAX) {
        return Ok(too_long);
    }
    let is_chunked = response.headers().contains_key(header::TRANSFER_ENCODING);
    let mut body = Vec::new();
    response.body_mut().as_reader().take(BODY_BYTES_MAX + 1).read_to_end(&mut body)?;
    if body.len() as u64 > BODY_BYTES_MAX {
        return Ok(too_long);
    }
    // ureq takes a chunked body for whole when the connection ends right before its last two bytes.
    if is_chunked && TRY.with_borrow(|it| it.ended) {
        return Ok(Came::Nothing { reason: "the answer was cut short" });
    }
    let text = |name| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    Ok(Came::Whole(Answer {
        status,
        retry_after: text(header::RETRY_AFTER),
        cache_control: text(header::CACHE_CONTROL),
        etag: text(header::ETAG),
        body,
    }))
}

/// In our words: those of the errors may quote what was sent or what came.
fn reason_of(error: &ureq::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error {
        ureq::Error::Timeout(_) => "there was no whole answer in time",
        ureq::Error::HostNotFound => "the host was not found",
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => "TLS failed",
        ureq::Error::ConnectProxyFailed(_) | ureq::Error::InvalidProxyUrl => "the proxy refused",
        ureq::Error::Protocol(_) | ureq::Error::Http(_) => "the answer is not HTTP",
        ureq::Error::LargeResponseHeader(..) => "the answer's headers are too long",
        ureq::Error::Io(error) => match error.kind() {
            Kind::ConnectionRefused => "the connection was refused",
            // How rustls tells of certificates and handshakes.
            Kind::InvalidData => "TLS failed",
            Kind::TimedOut | Kind::WouldBlock => "there was no whole answer in time",
            _ => "the connection failed",
        },
        _ => "the connection failed",
    }
}

thread_local! {
    /// What the connection has seen of the try that this thread makes.
    static TRY: RefCell<Try> = RefCell::default();
}

#[derive(Default)]
struct Try {
    /// Bytes of the request were given to an established connection.
    sent: bool,
    /// The connection ended.
    ended: bool,
    interim_answers: u32,
    /// The status of the last of them.
    interim_status: u16,
    cancel: CancelToken,
    /// Ends the connection when somebody cancels.
    hook: Option<Hook>,
    /// The socket that was opened last, until its connection takes it.
    opened: Option<Weak<dyn ShutdownHandle>>,
}

/// A try on this thread, until it is dropped.
struct Running;

impl Running {
    fn start(cancel: &CancelToken) -> Self {
        TRY.set(Try { cancel: cancel.clone(), ..Try::default() });
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its token and its hook belong to the call, and must not outlive it.
        drop(TRY.take());
    }
}

/// From now until the end of the try, cancelling shuts this socket down, which ends whatever waits for it.
fn shut_down_on_cancel(socket: &Weak<dyn ShutdownHandle>) {
    let (cancel, old) = TRY.with_borrow_mut(|it| (it.cancel.clone(), it.hook.take()));
    drop(old);
    let socket = socket.clone();
    let hook = cancel.on_cancel(move || {
        if let Some(socket) = socket.upgrade() {
            socket.shutdown();
        }
    });
    TRY.with_borrow_mut(|it| it.hook = Some(hook));
}

/// Leaves names alone until a connection has to be opened. `ureq` asks its resolver before every request, on a thread
/// of its own when there is a time-out, also when it then takes a connection from its pool.
#[derive(Debug)]
struct LazyResolver(DefaultResolver);

impl Resolver for LazyResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        // What connects to and by a proxy does not come by the dialer with an address that is still to be found.
        if config.proxy().is_some() { self.0.resolve(uri, config, timeout) } else { Ok(self.empty()) }
    }
}

type Tcp = <TcpConnector as Connector<()>>::Out;

/// A socket that goes on to read when it can no longer be written to. A server that has enough of a body that is too
/// long answers and closes; `ureq` would give up at the broken write, and never read that the lead is refused.
#[derive(Debug)]
struct HalfClosed<T> {
    inner: T,
    is_write_broken: bool,
}

impl<T: Transport> Transport for HalfClosed<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        if self.is_write_broken {
            return Ok(());
        }
        match self.inner.transmit_output(amount, timeout) {
            Err(ureq::Error::Io(error)) if matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset) => {
                self.is_write_broken = true;
                Ok(())
            }
            result => result,
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        !self.is_write_broken && self.inner.is_open()
    }
}

/// Finds the host and connects, on a thread of its own: neither can be interrupted, and both have to end when somebody
/// cancels or the time is up. Left alone, that thread closes what it opened; nothing is sent on it.
#[derive(Debug)]
struct Dialer;

enum Dialled {
    Done(Result<Option<Tcp>, ureq::Error>, Option<Weak<dyn ShutdownHandle>>),
    Cancelled,
}

impl<In: Transport> Connector<In> for Dialer {
    type Out = Either<In, HalfClosed<Tcp>>;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        // Something before this one has connected to a proxy.
        if let Some(transport) = chained {
            return Ok(Some(Either::A(transport)));
        }
        let left = time_left(details);
        let (tell, told) = mpsc::sync_channel(2);
        let tell_cancelled = tell.clone();
        let cancel = TRY.with_borrow(|it| it.cancel.clone());
        let _hook = cancel.on_cancel(move || {
            let _ = tell_cancelled.try_send(Dialled::Cancelled);
        });
        let dial = dialling(details, left);
        thread::Builder::new().name("leads-dial".into()).spawn(move || {
            let (result, socket) = dial();
            let _ = tell.try_send(Dialled::Done(result, socket));
        })?;
        let timed_out = |_| ureq::Error::Timeout(details.timeout.reason);
        let came = if left.after.is_not_happening() {
            told.recv().map_err(|_| ureq::Error::ConnectionFailed)?
        } else {
            told.recv_timeout(*left.after).map_err(timed_out)?
        };
        let Dialled::Done(result, socket) = came else {
            return Err(ureq::Error::ConnectionFailed);
        };
        if let Some(socket) = &socket {
            (details.register_shutdown)(socket.clone())?;
            shut_down_on_cancel(socket);
        }
        TRY.with_borrow_mut(|it| it.opened = socket);
        Ok(result?.map(|inner| Either::B(HalfClosed { inner, is_write_broken: false })))
    }
}

type Dial = Box<dyn FnOnce() -> (Result<Option<Tcp>, ureq::Error>, Option<Weak<dyn ShutdownHandle>>) + Send>;

/// What the dialer's thread does, with everything that it needs.
fn dialling(details: &ConnectionDetails, timeout: NextTimeout) -> Dial {
    let (uri, config) = (details.uri.clone(), details.config.clone());
    let (mut addrs, request_level) = (details.addrs.clone(), details.request_level);
    let (current_time, run_connector) = (details.current_time.clone(), details.run_connector.clone());
    Box::new(move || {
        let resolver = DefaultResolver::default();
        if addrs.is_empty() {
            // Without a time-out it does not start yet another thread.
            addrs = match resolver.resolve(&uri, &config, NextTimeout::default()) {
                Ok(found) => found,
                Err(error) => return (Err(error), None),
            };
        }
        let (opened, open) = mpsc::sync_channel(1);
        let details = ConnectionDetails {
            uri: &uri,
            addrs,
            config: &config,
            request_level,
            resolver: &resolver,
            now: current_time(),
            timeout,
            current_time,
            run_connector,
            register_shutdown: Arc::new(move |socket| {
                let _ = opened.try_send(socket);
                Ok(())
            }),
        };
        let result = TcpConnector::default().connect(&details, None);
        (result, open.try_recv().ok())
    })
}

fn time_left(details: &ConnectionDetails) -> NextTimeout {
    let mut timeout = details.timeout;
    if let (MaybeDuration::Exact(after), MaybeInstant::Exact(began)) = (timeout.after, details.now) {
        timeout.after = MaybeDuration::Exact(after.saturating_sub(Instant::now().duration_since(began)));
    }
    timeout
}

/// `ureq`'s TLS, which keeps its settings and sessions for all connections only when a request has no settings of its
/// own. Ours has: its time-out.
#[derive(Debug)]
struct Tls(RustlsConnector);

impl<In: Transport> Connector<In> for Tls {
    type Out = <RustlsConnector as Connector<In>>::Out;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let details = ConnectionDetails {
            uri: details.uri,
            addrs: details.addrs.clone(),
            config: details.config,
            request_level: false,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        self.0.connect(&details, chained)
    }
}

/// Puts a [`Watched`] around each connection to the service once it is established, TLS included.
struct Watcher {
    address: Address,
    key: Arc<str>,
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
    }
}

impl<In: Transport> Connector<In> for Watcher {
    type Out = Either<In, Watched<In>>;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(inner) = chained else { return Ok(None) };
        // A connection to a proxy, over which one to the service will go.
        if !self.address.is_host_of(details.uri) {
            return Ok(Some(Either::A(inner)));
        }
        let socket = TRY.with_borrow_mut(|it| it.opened.take());
        Ok(Some(Either::B(Watched { inner, socket, key: self.key.clone(), awaits_head: false })))
    }
}

/// A connection to the service that notes when bytes go out, counts interim answers, and puts the key in.
struct Watched<T> {
    inner: T,
    socket: Option<Weak<dyn ShutdownHandle>>,
    key: Arc<str>,
    /// Between the request and the head of its answer.
    awaits_head: bool,
}

impl<T> std::fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for Watched<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        if !TRY.with_borrow(|it| it.sent) {
            // ureq_proto writes the head of every request into the log, at its most talkative level. The key is not
            // in it before it is here. The head comes in one piece: it is far shorter than the buffer.
            put_key(&mut self.inner.buffers().output()[..amount], &self.key);
            if let Some(socket) = &self.socket {
                shut_down_on_cancel(socket);
            }
            if TRY.with_borrow(|it| it.cancel.is_cancelled()) {
                return Err(ureq::Error::ConnectionFailed);
            }
            self.awaits_head = true;
            // Before, and not after: of what fails, nobody knows how much went out.
            TRY.with_borrow_mut(|it| it.sent = true);
        }
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let progressed = self.inner.await_input(timeout).map_err(as_broken)?;
        if !progressed {
            TRY.with_borrow_mut(|it| it.ended = true);
        }
        while self.awaits_head {
            match head_of(self.inner.buffers().input()) {
                Head::Partial => break,
                Head::Final => self.awaits_head = false,
                Head::Interim { bytes, status } => {
                    self.inner.buffers().input_consume(bytes);
                    count_interim_answer(status)?;
                }
            }
        }
        Ok(progressed)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

fn put_key(head: &mut [u8], key: &str) {
    let line = format!("{KEY_HEADER}: {KEY_PLACEHOLDER}\r\n");
    if let Some(at) = head.windows(line.len()).position(|window| window == line.as_bytes()) {
        head[at + KEY_HEADER.len() + 2..][..key.len()].copy_from_slice(key.as_bytes());
    }
}

/// A body that goes up to the end of the connection is whole when that is closed in order. `ureq` takes a reset, and
/// TLS that ends without a word, for such an end too; anybody on the way can bring those about.
fn as_broken(error: ureq::Error) -> ureq::Error {
    match error {
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset => {
                ureq::Error::Io(io::ErrorKind::BrokenPipe.into())
            }
            _ => ureq::Error::Io(error),
        },
        other => other,
    }
}

fn count_interim_answer(status: u16) -> Result<(), ureq::Error> {
    let count = TRY.with_borrow_mut(|it| {
        it.interim_answers += 1;
        it.interim_status = status;
        it.interim_answers
    });
    if count > INTERIM_ANSWERS_MAX { Err(ureq::Error::ConnectionFailed) } else { Ok(()) }
}

enum Head {
    /// Too little of it is there.
    Partial,
    /// It is an interim answer's: 100 to 199, but for 101, which is the last one on its connection.
    Interim { bytes: usize, status: u16 },
    /// It is that of the answer, or not HTTP.
    Final,
}

/// `ureq` skips interim answers as well, but any number of them, and not one of 100 that has headers.
fn head_of(input: &[u8]) -> Head {
    let begin = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let head = &input[begin..];
    let Some(line) = head.get(..12) else {
        return Head::Partial;
    };
    let is_interim = line.starts_with(b"HTTP/1.") && line[8..10] == *b" 1" && line[9..].iter().all(u8::is_ascii_digit);
    if !is_interim || line[9..] == *b"101" {
        return Head::Final;
    }
    let status = line[9..].iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    match head.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(at) => Head::Interim { bytes: begin + at + 4, status },
        None => Head::Partial,
    }
}
