//! Speaks the driver protocol of the conformance suite: a call a line, each on a thread of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use leads::{
    Acknowledgement, CallOptions, CancelToken, Client, Clock, Error, KeyCheck, Lead, Status, Verdict, Vocabulary,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn main() {
    let calls: Vec<_> = io::stdin()
        .lock()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(&line.expect("a line")).expect("a line of JSON");
            thread::spawn(move || write_line(&answer(&line)))
        })
        .collect();
    for call in calls {
        call.join().expect("no call panics");
    }
}

/// One whole line at a time, whoever else writes.
fn write_line(line: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody reads");
}

/// What a call has of its own, for the clock that all calls of its client share.
#[derive(Default)]
struct Waiting {
    waits_ms: Vec<f64>,
    skipped: Duration,
    cancel_after: Option<u64>,
}

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

/// Notes every wait, and sleeps it or goes on by it.
struct DriverClock {
    real_time: bool,
}

impl Clock for DriverClock {
    fn now(&self) -> SystemTime {
        SystemTime::now() + WAITING.with_borrow(|it| it.skipped)
    }

    fn monotonic(&self) -> Instant {
        Instant::now() + WAITING.with_borrow(|it| it.skipped)
    }

    fn sleep(&self, wait: Duration, cancel: &CancelToken) {
        let is_cancelled = WAITING.with_borrow_mut(|it| {
            it.waits_ms.push(wait.as_secs_f64() * 1000.0);
            it.cancel_after == Some(it.waits_ms.len() as u64)
        });
        if is_cancelled {
            cancel.cancel();
        }
        if self.real_time {
            cancel.wait(wait);
        } else {
            WAITING.with_borrow_mut(|it| it.skipped += wait);
        }
    }
}

/// What a call gives, and all texts of it.
type Outcome = Result<(Value, String), Error>;

fn answer(line: &Value) -> Value {
    WAITING.with_borrow_mut(|it| it.cancel_after = line["cancel_after_waits"].as_u64());
    let outcome = perform(line);
    let waits_ms = WAITING.with_borrow(|it| it.waits_ms.clone());
    match outcome {
        Ok((result, text)) => json!({"id": line["id"], "result": result, "waits_ms": waits_ms, "text": text}),
        Err(error) => {
            let text = format!("{error} {error:?} {error:#?} {:?}", std::error::Error::source(&error));
            json!({"id": line["id"], "error": told(&error), "waits_ms": waits_ms, "text": text})
        }
    }
}

fn told(error: &Error) -> Value {
    let mut told = json!({
        "kind": error.kind().as_str(),
        "status": error.status(),
        "code": error.code(),
        "detail": error.detail(),
        "request_id": error.request_id(),
        "tries": error.tries(),
        "unknown_outcome": error.unknown_outcome(),
    });
    if let Some(fields) = error.fields() {
        told["fields"] = json!(**fields);
    }
    told
}

fn perform(line: &Value) -> Outcome {
    let text = |name: &str| line[name].as_str().unwrap_or_default();
    if line["call"] == "idempotency_key" {
        let key = leads::idempotency_key(text("namespace"), text("item"))?;
        return Ok((json!({"idempotency_key": key}), key));
    }
    let client = client_of(line)?;
    let mut options = CallOptions::new().cancel(&CancelToken::new());
    if let Some(id) = line["request_id"].as_str() {
        options = options.request_id(id);
    }
    if let Some(deadline) = duration(&line["options"]["deadline_ms"]) {
        options = options.deadline(deadline);
    }
    match line["call"].as_str() {
        Some("check_key") => client.check_key_with(&options).map(|check| shown(&check, &client, key_check(&check))),
        Some("vocabulary") => client.vocabulary_with(&options).map(|read| shown(&read, &client, vocabulary(&read))),
        _ => {
            let (json, key) = (text("lead_json"), text("idempotency_key"));
            // A lead of other types than its own goes as any value that can be written as JSON.
            let done = match serde_json::from_str::<Lead>(json) {
                Ok(lead) => client.post_lead_with(&lead, key, &options),
                Err(_) => {
                    let lead: Box<RawValue> = serde_json::from_str(json).expect("a lead of JSON");
                    client.post_lead_with(&lead, key, &options)
                }
            }?;
            Ok(shown(&done, &client, acknowledgement(&done)))
        }
    }
}

fn shown(result: &impl Debug, client: &Client, value: Value) -> (Value, String) {
    (value, format!("{result:?} {result:#?} {client:?} {client:#?}"))
}

fn key_check(check: &KeyCheck) -> Value {
    let verdict = match check.verdict {
        Verdict::Valid => "valid",
        Verdict::Invalid => "invalid",
    };
    json!({"verdict": verdict, "request_id": check.request_id, "tries": check.tries})
}

fn vocabulary(read: &Vocabulary) -> Value {
    let areas = read.areas.iter().map(|each| json!({"area": each.area, "status": each.status}));
    json!({"areas": areas.collect::<Vec<_>>(), "services": read.services, "required": read.required})
}

fn acknowledgement(done: &Acknowledgement) -> Value {
    let status = match done.status {
        Status::Accepted => "accepted",
        Status::Duplicate => "duplicate",
    };
    json!({
        "event_id": done.event_id,
        "status": status,
        "received_at": done.received_at,
        "source": done.source,
        "flags": done.flags,
        "request_id": done.request_id,
        "tries": done.tries,
    })
}

/// The client of a line, made by the first line that names it.
fn client_of(line: &Value) -> Result<Client, Error> {
    type Made = Arc<OnceLock<Result<Client, Error>>>;
    static CLIENTS: LazyLock<Mutex<HashMap<String, Made>>> = LazyLock::new(Mutex::default);
    let name = line["client"].as_str().unwrap_or_default().to_owned();
    let made = CLIENTS.lock().expect("no call panics").entry(name).or_default().clone();
    made.get_or_init(|| make_client(line)).clone()
}

fn make_client(line: &Value) -> Result<Client, Error> {
    let real_time = line["real_time"] == true;
    let mut builder = Client::builder().clock(DriverClock { real_time });
    if let Some(key) = line["key"].as_str() {
        builder = builder.key(key);
    }
    if let Some(base_url) = line["base_url"].as_str() {
        builder = builder.base_url(base_url);
    }
    if let Some(file) = line["ca_file"].as_str() {
        builder = builder.root_certificates(std::fs::read(file).expect("a file of certificates"));
    }
    if let Some(tries) = line["options"]["tries"].as_u64() {
        builder = builder.tries(u32::try_from(tries).expect("a number of tries"));
    }
    if let Some(timeout) = duration(&line["options"]["try_timeout_ms"]) {
        builder = builder.try_timeout(timeout);
    }
    if let Some(random) = line["random"].as_f64() {
        builder = builder.random(move || random);
    }
    builder.build()
}

fn duration(ms: &Value) -> Option<Duration> {
    ms.as_f64().map(|ms| Duration::from_secs_f64(ms / 1000.0))
}
