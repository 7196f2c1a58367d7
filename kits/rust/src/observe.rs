use std::time::Duration;

/// What an observer hears of: every try and every wait, and nothing of their content. For logs and counters.
///
/// An observer is called on the thread of the call, between tries; the call goes on when it returns.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A try ended.
    #[non_exhaustive]
    Try {
        /// `POST` or `GET`.
        method: &'static str,
        /// The status of its answer; `None` when no whole answer came.
        status: Option<u16>,
        /// How long it took, from the first packet of connecting to the last byte of the answer.
        duration: Duration,
    },
    /// A wait begins.
    #[non_exhaustive]
    Wait {
        /// How long it will be.
        duration: Duration,
        /// Whether it is for a 429, and not for a try that was spent.
        rate_limited: bool,
    },
}
