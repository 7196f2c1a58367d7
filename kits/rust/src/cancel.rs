use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Cancels calls from another thread, whatever they are doing: waiting, connecting, or in the middle of a try.
///
/// Clones are the same token. Once cancelled it stays so: take a new one for the next call.
///
/// ```no_run
/// use leads::{CallOptions, CancelToken, Client, Lead};
///
/// let (client, cancel) = (Client::from_env()?, CancelToken::new());
/// let on_shutdown = cancel.clone(); // on_shutdown.cancel() in a signal handler's thread
/// let options = CallOptions::new().cancel(&cancel);
/// client.post_lead_with(&Lead::new("Ada", "Lovelace", "1"), "acme:1843", &options)?;
/// # Ok::<(), leads::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    cancelled: Condvar,
}

#[derive(Default)]
struct State {
    is_cancelled: bool,
    last_hook: u64,
    hooks: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels every call that has this token. They return [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn cancel(&self) {
        let hooks = {
            let mut state = self.state();
            state.is_cancelled = true;
            std::mem::take(&mut state.hooks)
        };
        self.0.cancelled.notify_all();
        for hook in hooks.into_values() {
            hook();
        }
    }

    /// Whether [`cancel`](Self::cancel) was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    /// Waits for so long, or until somebody cancels. Returns whether somebody did. For a [`Clock`](crate::Clock) of
    /// your own.
    pub fn wait(&self, wait: Duration) -> bool {
        let started = Instant::now();
        let mut state = self.state();
        while !state.is_cancelled {
            let Some(left) = wait.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            state = self.0.cancelled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_cancelled
    }

    /// Runs `hook` when somebody cancels, until the returned guard is dropped; at once when somebody already has.
    pub(crate) fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> Hook {
        let mut state = self.state();
        state.last_hook += 1;
        let id = state.last_hook;
        if state.is_cancelled {
            drop(state);
            hook();
        } else {
            state.hooks.insert(id, Box::new(hook));
        }
        Hook { token: self.clone(), id }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("is_cancelled", &self.is_cancelled()).finish()
    }
}

/// Takes a hook back when it is dropped.
pub(crate) struct Hook {
    token: CancelToken,
    id: u64,
}

impl Drop for Hook {
    fn drop(&mut self) {
        let hook = self.token.state().hooks.remove(&self.id);
        drop(hook);
    }
}
