//! Posts sales leads to the Lead Intake Service: one HTTPS call, with an idempotency key, retried only when it may be.
//!
//! ```no_run
//! use leads::{Client, Error, Lead};
//!
//! let client = Client::from_env()?; // LEADS_API_KEY and LEADS_BASE_URL
//! let lead = Lead::new("Ada", "Lovelace", "(212) 555-0143");
//! match client.post_lead(&lead, "acme:1843") {
//!     Ok(done) => println!("{:?} as {}", done.status, done.event_id),
//!     Err(Error::InvalidLead { fields, .. }) => println!("correct {:?}", fields.keys()),
//!     Err(Error::Unavailable(_)) => println!("try later, with the same idempotency key"),
//!     Err(other) => println!("{other}"),
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! # What is retried
//!
//! A call has five tries and a deadline of two minutes. Server errors, time-outs, broken connections and answers that
//! cannot be the service's spend a try; a 429 is waited for and spends none. Everything else is never repeated. Each
//! try sends the same bytes with the same idempotency key, so that a lead is stored once however often it arrives.
//!
//! # Blocking, and async programs
//!
//! Every call blocks its thread, at most for the deadline and what is left of a wait. In an async program, hand it to a
//! thread for such calls, for example `tokio::task::spawn_blocking(move || client.post_lead(&lead, &key))`. A
//! [`Client`] is cheap to clone, and all clones share their connections.
//!
//! # Secrets
//!
//! Neither keys nor leads stand in a message, `Debug` or `Display` text or a log, and what an answer said is only shown
//! where it has the form of an error code. TLS verification cannot be turned off.

#![deny(missing_docs)]

mod address;
mod answer;
mod backoff;
mod call;
mod cancel;
mod client;
mod clock;
mod decimal;
mod error;
mod http_date;
mod key;
mod lead;
mod members;
mod observe;
mod random;
mod vocabulary;
mod wire;

pub use answer::{Acknowledgement, KeyCheck, Status, Verdict};
pub use cancel::CancelToken;
pub use client::{CallOptions, Client, ClientBuilder};
pub use clock::{Clock, SystemClock};
pub use decimal::{Decimal, ParseDecimalError};
pub use error::{Error, Failure, Fields, Kind, Misconfigured};
pub use key::idempotency_key;
pub use lead::Lead;
pub use observe::Event;
pub use vocabulary::{Area, Vocabulary};

/// The version of this crate, as `User-Agent` tells it: `leads-rust/0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The kit's name: in `User-Agent`, and before the 16 random characters of a request id.
const NAME: &str = env!("CARGO_PKG_NAME");

/// The examples of the README are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
