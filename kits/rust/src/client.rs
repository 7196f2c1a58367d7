use std::env;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

use crate::address::Address;
use crate::answer::{read_acknowledgement, read_code, read_fields};
use crate::call::{self, Call, Judged};
use crate::key::{check_idempotency_key, check_key, check_request_id};
use crate::vocabulary::{Kept, read_max_age, read_vocabulary};
use crate::wire::Wire;
use crate::{Acknowledgement, CancelToken, Clock, Error, Event, KeyCheck, SystemClock, Verdict, Vocabulary, random};

/// Source: SPEC, Limits (handler time bound); kits/conformance/README.md, Tries, waits and time.
const TRIES: u32 = 5;
const TRY_TIMEOUT: Duration = Duration::from_secs(20);
const DEADLINE: Duration = Duration::from_secs(120);

/// A client of the service, with one key.
///
/// It opens nothing until it is used. Threads may share it and its clones; all of them use one pool of connections.
/// `Debug` does not show the key.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

pub(crate) struct Inner {
    address: Address,
    intake: Uri,
    vocabulary: Uri,
    kept: Mutex<Option<Kept>>,
    pub(crate) wire: Wire,
    pub(crate) tries: u32,
    pub(crate) try_timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    random: Arc<Random>,
    observer: Option<Arc<Observer>>,
}

type Random = dyn Fn() -> f64 + Send + Sync;
type Observer = dyn Fn(&Event) + Send + Sync;

impl Inner {
    /// A draw of jitter, from 0 to 1 whatever a random function of somebody's own gives.
    pub(crate) fn draw(&self) -> f64 {
        let drawn = (self.random)();
        if drawn.is_nan() { 1.0 } else { drawn.clamp(0.0, 1.0) }
    }

    pub(crate) fn observe(&self, event: &Event) {
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}

impl Client {
    /// A client with this key, for the service at this address.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] when the key cannot be one for leads, or the address is not an `https://` one.
    /// `http://` is taken to this machine: 127.0.0.0/8, `[::1]` and `localhost`.
    pub fn new(key: impl Into<String>, base_url: impl Into<String>) -> Result<Self, Error> {
        Self::builder().key(key).base_url(base_url).build()
    }

    /// A client with the key in `LEADS_API_KEY`, for the service at `LEADS_BASE_URL`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and when one of them is not there.
    pub fn from_env() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// What a client can be given besides key and address.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Posts a lead: a [`Lead`](crate::Lead), or anything else that serializes to such a JSON object. It is sent as
    /// given, with the same bytes and the same idempotency key on each try.
    ///
    /// The idempotency key is yours and stable for this lead; see [`idempotency_key`](crate::idempotency_key).
    /// Posting again with it never stores a second lead, so whatever went wrong may be posted again.
    ///
    /// # Errors
    ///
    /// Any of [`Error`]. [`Error::Misconfigured`] when the idempotency key is blank, over 200 characters, not
    /// printable ASCII or with a blank at an end, or the lead cannot be written as JSON.
    pub fn post_lead<L: Serialize + ?Sized>(&self, lead: &L, idempotency_key: &str) -> Result<Acknowledgement, Error> {
        self.post_lead_with(lead, idempotency_key, &CallOptions::new())
    }

    /// [`post_lead`](Self::post_lead), with options for this call.
    ///
    /// # Errors
    ///
    /// As `post_lead`, and [`Error::Misconfigured`] for a request id that cannot be one.
    pub fn post_lead_with<L: Serialize + ?Sized>(
        &self,
        lead: &L,
        idempotency_key: &str,
        options: &CallOptions,
    ) -> Result<Acknowledgement, Error> {
        check_idempotency_key(idempotency_key)?;
        let request_id = options.checked_request_id()?;
        // The error may quote the lead.
        let body = serde_json::to_vec(lead).map_err(|_| Error::misconfigured("the lead cannot be written as JSON"))?;
        let call = Call {
            method: "POST",
            uri: &self.0.intake,
            header: Some(("idempotency-key", idempotency_key)),
            body: Some(&body),
            posts_lead: true,
            request_id: &request_id,
        };
        let judge = |answer: &crate::wire::Answer| match answer.status {
            200 | 202 => read_acknowledgement(&answer.body).map_or(Judged::Other, Judged::Result),
            422 => read_fields(&answer.body).map_or(Judged::Other, Judged::InvalidLead),
            _ => Judged::Other,
        };
        let (acknowledgement, tries) = call::run(&self.0, &call, options, judge)?;
        Ok(Acknowledgement { request_id, tries, ..acknowledgement })
    }

    /// Asks the service whether it takes the key. Stores nothing.
    ///
    /// # Errors
    ///
    /// What kept it from finding out: [`Error::Refused`], [`Error::Unavailable`] or [`Error::Cancelled`].
    pub fn check_key(&self) -> Result<KeyCheck, Error> {
        self.check_key_with(&CallOptions::new())
    }

    /// [`check_key`](Self::check_key), with options for this call.
    ///
    /// # Errors
    ///
    /// As `check_key`, and [`Error::Misconfigured`] for a request id that cannot be one.
    pub fn check_key_with(&self, options: &CallOptions) -> Result<KeyCheck, Error> {
        let request_id = options.checked_request_id()?;
        let call = Call {
            method: "POST",
            uri: &self.0.intake,
            header: None,
            body: Some(b"{}"),
            posts_lead: false,
            request_id: &request_id,
        };
        let judge = |answer: &crate::wire::Answer| match answer.status {
            401 => Judged::Result(Verdict::Invalid),
            422 if read_code(&answer.body).as_deref() == Some("validation_failed") => Judged::Result(Verdict::Valid),
            _ => Judged::Other,
        };
        let (verdict, tries) = call::run(&self.0, &call, options, judge)?;
        Ok(KeyCheck { verdict, request_id, tries })
    }

    /// The controlled words of a lead. They are kept for as long as the service says, then asked for again.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Unavailable`] or [`Error::Cancelled`]. It is asked for without the key.
    pub fn vocabulary(&self) -> Result<Arc<Vocabulary>, Error> {
        self.vocabulary_with(&CallOptions::new())
    }

    /// [`vocabulary`](Self::vocabulary), with options for this call.
    ///
    /// # Errors
    ///
    /// As `vocabulary`, and [`Error::Misconfigured`] for a request id that cannot be one.
    pub fn vocabulary_with(&self, options: &CallOptions) -> Result<Arc<Vocabulary>, Error> {
        let request_id = options.checked_request_id()?;
        let kept = self.kept().clone();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh(self.0.clock.monotonic())) {
            return Ok(kept.vocabulary.clone());
        }
        let etag = kept.as_ref().and_then(|kept| kept.etag.as_deref());
        let call = Call {
            method: "GET",
            uri: &self.0.vocabulary,
            header: etag.map(|etag| ("if-none-match", etag)),
            body: None,
            posts_lead: false,
            request_id: &request_id,
        };
        let judge = |answer: &crate::wire::Answer| {
            // Only who gave an ETag may hear that nothing has changed.
            let renewed = kept.as_ref().filter(|kept| answer.status == 304 && kept.etag.is_some());
            let vocabulary = match (answer.status, renewed) {
                (200, _) => read_vocabulary(&answer.body).map(Arc::new),
                (_, Some(kept)) => Some(kept.vocabulary.clone()),
                _ => None,
            };
            let Some(vocabulary) = vocabulary else {
                return Judged::Other;
            };
            let told = answer.cache_control.as_deref().map(|value| read_max_age(value).unwrap_or_default());
            Judged::Result(Kept {
                vocabulary,
                etag: answer.etag.clone().or_else(|| renewed?.etag.clone()),
                max_age: told.or_else(|| Some(renewed?.max_age)).unwrap_or_default(),
                read_at: self.0.clock.monotonic(),
            })
        };
        let (read, _) = call::run(&self.0, &call, options, judge)?;
        let vocabulary = read.vocabulary.clone();
        *self.kept() = Some(read);
        Ok(vocabulary)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.0.address.as_str()).finish_non_exhaustive()
    }
}

/// What a client is made of. Each method has a default; see there.
///
/// ```
/// use std::time::Duration;
/// use leads::{Client, Event};
///
/// let client = Client::builder()
///     .key("lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H")
///     .base_url("https://leads.example")
///     .deadline(Duration::from_secs(30))
///     .observer(|event| if let Event::Wait { duration, .. } = event { eprintln!("waiting {duration:?}") })
///     .build()?;
/// # Ok::<(), leads::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct ClientBuilder {
    key: Option<String>,
    base_url: Option<String>,
    tries: u32,
    try_timeout: Duration,
    deadline: Duration,
    root_certificates: Vec<u8>,
    clock: Arc<dyn Clock>,
    random: Arc<Random>,
    observer: Option<Arc<Observer>>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            key: None,
            base_url: None,
            tries: TRIES,
            try_timeout: TRY_TIMEOUT,
            deadline: DEADLINE,
            root_certificates: Vec::new(),
            clock: Arc::new(SystemClock),
            random: Arc::new(random::fraction),
            observer: None,
        }
    }
}

impl ClientBuilder {
    /// The key. Default: the environment variable `LEADS_API_KEY`.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The service's address, with a path where there is one. Default: the environment variable `LEADS_BASE_URL`.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// How many tries a call has: 1 never tries again. Default: 5.
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// How long a try may take, from the first packet of connecting to the last byte of the answer. Default: 20
    /// seconds.
    pub fn try_timeout(mut self, timeout: Duration) -> Self {
        self.try_timeout = timeout;
        self
    }

    /// How long a call may take, its waits included. Default: 2 minutes.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Trusts the authorities in these PEM certificates, in place of Mozilla's, which are compiled in: for a service
    /// behind an authority of your own. To trust both, give the system's file of authorities with yours behind it.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates = pem.into();
        self
    }

    /// Hears of every try and every wait. Default: nobody.
    pub fn observer(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// The clock, for tests. Default: the real time.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What draws jitter, from 0 to 1, for tests. Default: random.
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.random = Arc::new(random);
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] when key or address are missing or cannot be right, there are no tries or no time, or
    /// the certificates cannot be read.
    pub fn build(self) -> Result<Client, Error> {
        let key = self.key.or_else(|| env::var("LEADS_API_KEY").ok());
        let key = key.ok_or(Error::misconfigured("there is no key: give one, or set LEADS_API_KEY"))?;
        check_key(&key)?;
        let base_url = self.base_url.or_else(|| env::var("LEADS_BASE_URL").ok());
        let base_url = base_url.ok_or(Error::misconfigured("there is no address: give one, or set LEADS_BASE_URL"))?;
        let address = Address::parse(&base_url)?;
        if self.tries == 0 || self.try_timeout.is_zero() || self.deadline.is_zero() {
            return Err(Error::misconfigured("a call needs at least one try, and time for it"));
        }
        let root_certs = read_root_certificates(&self.root_certificates)?;
        Ok(Client(Arc::new(Inner {
            intake: address.join("/v1/intake")?,
            vocabulary: address.join("/v1/vocabulary")?,
            kept: Mutex::new(None),
            wire: Wire::new(&address, key, root_certs),
            address,
            tries: self.tries,
            try_timeout: self.try_timeout,
            deadline: self.deadline,
            clock: self.clock,
            random: self.random,
            observer: self.observer,
        })))
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the key nor the address: nobody has looked yet whether a password is in it.
        f.debug_struct("ClientBuilder")
            .field("tries", &self.tries)
            .field("try_timeout", &self.try_timeout)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

fn read_root_certificates(pem: &[u8]) -> Result<RootCerts, Error> {
    if pem.is_empty() {
        return Ok(RootCerts::WebPki);
    }
    let unreadable = || Error::misconfigured("the root certificates cannot be read as PEM");
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| unreadable())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() { Err(unreadable()) } else { Ok(certificates.into()) }
}

/// Options for one call.
///
/// ```
/// use std::time::Duration;
/// use leads::CallOptions;
///
/// let options = CallOptions::new().request_id("import-7").deadline(Duration::from_secs(10));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct CallOptions {
    request_id: Option<String>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cancel: Option<CancelToken>,
}

impl CallOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The `X-Request-Id` of all tries: 1 to 64 characters of printable ASCII, no blank at an end. Default: the kit's
    /// name and something random.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// How long this call may take, its waits included. Default: the client's.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Lets this token cancel the call.
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    fn checked_request_id(&self) -> Result<String, Error> {
        let Some(id) = &self.request_id else {
            return Ok(random::request_id());
        };
        check_request_id(id)?;
        Ok(id.clone())
    }
}
