use std::time::Duration;

use ureq::http::Uri;

use crate::answer::{Other, judge_other, read_code, read_detail};
use crate::cancel::CancelToken;
use crate::client::Inner;
use crate::wire::{Answer, Came, Outgoing};
use crate::{CallOptions, Error, Event, Failure, Fields, Kind, backoff};

/// A call: what is sent on each of its tries, and what may come of it.
pub(crate) struct Call<'a> {
    pub(crate) method: &'static str,
    pub(crate) uri: &'a Uri,
    /// Beside those that every call has.
    pub(crate) header: Option<(&'static str, &'a str)>,
    pub(crate) body: Option<&'a [u8]>,
    /// Whether it posts a lead, of which one has to know whether it may have been stored.
    pub(crate) posts_lead: bool,
    pub(crate) request_id: &'a str,
}

/// What an answer means.
pub(crate) enum Judged<T> {
    Result(T),
    InvalidLead(Fields),
    Other,
}

/// What comes after a try.
enum Next<T> {
    Return(T),
    Fail(Kind, Option<Fields>),
    Retry,
    WaitFor429,
}

/// Chosen: a year, which nobody waits for. What adds a longer time-out to a time may overflow.
const TRY_TIMEOUT_MAX: Duration = Duration::from_secs(31_536_000);

/// Makes tries until one of them settles the call. Returns the result, and how many tries were spent.
///
/// Source: SPEC, Client retry policy.
pub(crate) fn run<T>(
    client: &Inner,
    call: &Call<'_>,
    options: &CallOptions,
    judge: impl Fn(&Answer) -> Judged<T>,
) -> Result<(T, u32), Error> {
    let unasked = CancelToken::new();
    let cancel = options.cancel.as_ref().unwrap_or(&unasked);
    let deadline = options.deadline.unwrap_or(client.deadline);
    let began = client.clock.monotonic();
    let elapsed = || client.clock.monotonic().saturating_duration_since(began);
    let mut failure = Failure {
        status: None,
        code: None,
        detail: None,
        request_id: call.request_id.to_owned(),
        tries: 0,
        unknown_outcome: false,
        reason: None,
    };
    let mut limited_in_a_row = 0;
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled(failure));
        }
        let left = deadline.saturating_sub(elapsed());
        if left.is_zero() {
            return Err(Error::Unavailable(failure));
        }
        let (came, sent) = one_try(client, call, left.min(client.try_timeout).min(TRY_TIMEOUT_MAX), cancel);
        let next = settle(&came, sent && call.posts_lead, &judge, &mut failure);
        // What is settled stays so: whoever cancels a moment too late gets the result all the same.
        if cancel.is_cancelled() && matches!(next, Next::Retry | Next::WaitFor429) {
            return Err(Error::Cancelled(failure));
        }
        let asked = retry_after(&came, client);
        let wait = match next {
            Next::Return(result) => return Ok((result, failure.tries)),
            Next::Fail(kind, fields) => return Err(failed(kind, fields, failure)),
            Next::WaitFor429 => {
                limited_in_a_row += 1;
                backoff::after_429(limited_in_a_row, client.draw(), asked)
            }
            Next::Retry if failure.tries >= client.tries => return Err(Error::Unavailable(failure)),
            Next::Retry => {
                limited_in_a_row = 0;
                let floor = asked.filter(|_| failure.status.is_some_and(|status| status >= 500));
                backoff::after_spent_try(failure.tries, client.draw(), floor)
            }
        };
        // A wait up to the deadline leaves no time for a try: it is not begun either.
        if wait >= deadline.saturating_sub(elapsed()) {
            return Err(Error::Unavailable(failure));
        }
        client.observe(&Event::Wait { duration: wait, rate_limited: limited_in_a_row > 0 });
        client.clock.sleep(wait, cancel);
    }
}

fn one_try(client: &Inner, call: &Call<'_>, timeout: Duration, cancel: &CancelToken) -> (Came, bool) {
    let mut headers = vec![("x-request-id", call.request_id)];
    headers.extend(call.header);
    let outgoing = Outgoing { method: call.method, uri: call.uri, headers: &headers, body: call.body };
    let began = std::time::Instant::now();
    let (came, sent) = client.wire.exchange(&outgoing, timeout, cancel);
    let status = match &came {
        Came::Whole(answer) => Some(answer.status),
        Came::Unacceptable { status, .. } => Some(*status),
        Came::Nothing { .. } => None,
    };
    client.observe(&Event::Try { method: call.method, status, duration: began.elapsed() });
    (came, sent)
}

/// Notes what is known after a try, and says what comes next. `at_stake`: bytes of a lead went out.
fn settle<T>(came: &Came, at_stake: bool, judge: impl Fn(&Answer) -> Judged<T>, failure: &mut Failure) -> Next<T> {
    (failure.status, failure.code, failure.detail, failure.reason) = (None, None, None, None);
    let next = match came {
        Came::Nothing { reason } => {
            failure.reason = Some(reason);
            failure.unknown_outcome |= at_stake;
            Next::Retry
        }
        Came::Unacceptable { status, reason } => {
            (failure.status, failure.reason) = (Some(*status), Some(*reason));
            failure.unknown_outcome |= at_stake;
            Next::Fail(Kind::Refused, None)
        }
        Came::Whole(answer) => {
            (failure.status, failure.code) = (Some(answer.status), read_code(&answer.body));
            failure.detail = failure.code.as_ref().and_then(|_| read_detail(&answer.body)).map(String::into_boxed_str);
            match judge(answer) {
                Judged::Result(result) => Next::Return(result),
                Judged::InvalidLead(fields) => Next::Fail(Kind::InvalidLead, Some(fields)),
                Judged::Other => match judge_other(answer.status) {
                    Other::Unauthorized => Next::Fail(Kind::Unauthorized, None),
                    Other::Refused => Next::Fail(Kind::Refused, None),
                    Other::Limited => Next::WaitFor429,
                    Other::ServerError => Next::Retry,
                    Other::NotOurs => {
                        failure.reason = Some("the answer is not the service's");
                        failure.unknown_outcome |= at_stake;
                        Next::Retry
                    }
                },
            }
        }
    };
    if !matches!(next, Next::WaitFor429) {
        failure.tries += 1;
    }
    next
}

fn retry_after(came: &Came, client: &Inner) -> Option<Duration> {
    let Came::Whole(answer) = came else { return None };
    backoff::read_retry_after(answer.retry_after.as_deref()?, client.clock.now())
}

fn failed(kind: Kind, fields: Option<Fields>, failure: Failure) -> Error {
    match (kind, fields) {
        (Kind::InvalidLead, Some(fields)) => Error::InvalidLead { fields, failure },
        (Kind::Unauthorized, _) => Error::Unauthorized(failure),
        _ => Error::Refused(failure),
    }
}
