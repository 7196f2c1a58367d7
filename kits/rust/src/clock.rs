use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::CancelToken;

/// Time, for a client: [`ClientBuilder::clock`](crate::ClientBuilder::clock) replaces it in tests.
///
/// Each method has the real one as its default. A clock that does not really sleep has to move both of its times on by
/// what it did not sleep, or a call that is retried will not see its deadline coming. The time-out of a try is always
/// real.
pub trait Clock: Send + Sync {
    /// The time of day, against which an HTTP date in `Retry-After` is read.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// A time that never goes back: for deadlines, and for how long a vocabulary is kept.
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    /// Waits, and returns early when the call is cancelled.
    fn sleep(&self, wait: Duration, cancel: &CancelToken) {
        cancel.wait(wait);
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> SystemTime {
        (**self).now()
    }

    fn monotonic(&self) -> Instant {
        (**self).monotonic()
    }

    fn sleep(&self, wait: Duration, cancel: &CancelToken) {
        (**self).sleep(wait, cancel);
    }
}

/// The real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {}
