//! What calls do, against a server on real sockets.

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use leads::{CallOptions, CancelToken, Client, Error, Event, Kind, Status, Verdict};
use serde::{Serialize, Serializer, ser};
use support::{ACCEPTED, Answer, KEY, Server, SkippingClock, accepted, lead, status};

#[test]
fn a_lead_is_posted_with_its_key_and_idempotency_key_and_acknowledged() {
    let server = Server::start(vec![accepted()]);
    let done = server.client().post_lead(&lead(), "acme:1").unwrap();
    assert_eq!((done.event_id.as_str(), done.status, done.tries), ("e1", Status::Accepted, 1));
    assert_eq!((done.source.as_str(), done.flags), ("acme-web", vec!["f".to_owned()]));
    let request = &server.seen()[0];
    assert!(request.head.starts_with("post /v1/intake http/1.1"), "{}", request.head);
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("idempotency-key"), Some("acme:1"));
    assert_eq!(request.header("x-request-id"), Some(done.request_id.as_str()));
    assert_eq!(request.header("user-agent"), Some(format!("leads-rust/{}", leads::VERSION).as_str()));
    assert_eq!(request.body, serde_json::to_string(&lead()).unwrap());
}

#[test]
fn anything_that_serializes_is_a_lead() {
    let server = Server::start(vec![accepted()]);
    let client = server.client();
    client.post_lead(&BTreeMap::from([("first_name", "Ada"), ("zip", "1")]), "acme:1").unwrap();
    client.post_lead(&serde_json::json!({"phone": "1"}), "acme:2").unwrap();
    let bodies: Vec<_> = server.seen().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [r#"{"first_name":"Ada","zip":"1"}"#, r#"{"phone":"1"}"#]);
}

#[test]
fn a_lead_that_cannot_be_written_is_not_sent_and_not_quoted() {
    struct Bad;
    impl Serialize for Bad {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(ser::Error::custom("Canaryada"))
        }
    }
    let server = Server::start(vec![accepted()]);
    let error = server.client().post_lead(&Bad, "acme:1").unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::Misconfigured, 0));
    assert!(!support::tells_secrets(&format!("{error} {error:?}")));
    assert_eq!(server.connections(), 0);
}

#[test]
fn the_observer_hears_of_every_try_and_every_wait() {
    let server = Server::start(vec![
        status(503, "", r#"{"error":"not_accepting"}"#),
        status(429, "Retry-After: 2\r\n", ""),
        Answer::Last(String::new()),
        accepted(),
    ]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = heard.clone();
    let client = server
        .builder()
        .clock(SkippingClock::default())
        .observer(move |event| hearing.lock().unwrap().push(*event))
        .build()
        .unwrap();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap().tries, 3);
    let heard: Vec<_> = heard.lock().unwrap().iter().map(short).collect();
    assert_eq!(
        heard,
        [
            "POST Some(503)",
            "wait 750ms false",
            "POST Some(429)",
            "wait 2.25s true",
            "POST None",
            "wait 1.5s false",
            "POST Some(202)",
        ]
    );
}

fn short(event: &Event) -> String {
    match event {
        Event::Try { method, status, .. } => format!("{method} {status:?}"),
        Event::Wait { duration, rate_limited, .. } => format!("wait {duration:?} {rate_limited}"),
        _ => "something new".into(),
    }
}

#[test]
fn threads_share_a_client_and_its_connections() {
    const THREADS: usize = 8;
    const POSTS: usize = 40;
    // All of them are under way at once, and then none: so many connections are idle, and none is opened twice.
    let server = Server::start(vec![Answer::Together(Arc::new(Barrier::new(THREADS)), bytes(&accepted()))]);
    let (client, idle) = (server.client(), Barrier::new(THREADS));
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (client, idle) = (client.clone(), &idle);
            scope.spawn(move || {
                for post in 0..POSTS {
                    let key = leads::idempotency_key("acme", &format!("{n}-{post}")).unwrap();
                    let done = client.post_lead(&lead(), &key);
                    idle.wait();
                    assert_eq!(done.unwrap().tries, 1);
                }
            });
        }
    });
    let seen = server.seen();
    let keys: HashSet<_> = seen.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    let ids: HashSet<_> = seen.iter().map(|request| request.header("x-request-id").unwrap()).collect();
    assert_eq!((seen.len(), keys.len(), ids.len()), (THREADS * POSTS, THREADS * POSTS, THREADS * POSTS));
    assert_eq!(server.connections(), THREADS);
}

#[test]
fn a_client_is_for_all_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    fn is_sent<T: Send + Sync + 'static>() {}
    is_shared::<Client>();
    is_shared::<CancelToken>();
    is_shared::<CallOptions>();
    is_sent::<Error>();
}

#[test]
fn one_try_never_tries_again() {
    let server = Server::start(vec![status(503, "", "")]);
    let client = server.builder().tries(1).build().unwrap();
    let error = client.post_lead(&lead(), "acme:1").unwrap_err();
    assert_eq!((error.kind(), error.tries(), error.status()), (Kind::Unavailable, 1, Some(503)));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn times_without_end_are_taken_for_what_they_are() {
    let server = Server::start(vec![accepted()]);
    let client = server.builder().try_timeout(Duration::MAX).deadline(Duration::MAX).build().unwrap();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap().tries, 1);
}

#[test]
fn a_replaced_clock_is_waited_on_and_ends_the_call_at_its_deadline() {
    let server = Server::start(vec![status(503, "", "")]);
    let clock = Arc::new(SkippingClock::default());
    let client = server.builder().clock(clock.clone()).build().unwrap();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap_err().tries(), 5);
    assert_eq!(clock.waits.lock().unwrap().as_slice(), [750, 1500, 3000, 6000].map(Duration::from_millis));
    let options = CallOptions::new().deadline(Duration::from_secs(5));
    let error = client.post_lead_with(&lead(), "acme:1", &options).unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::Unavailable, 3));
    assert_eq!(clock.waits.lock().unwrap().len(), 6);
}

#[test]
fn the_body_and_the_ids_are_the_same_on_every_try() {
    let server = Server::start(vec![status(503, "", ""), Answer::Last(String::new()), accepted()]);
    let options = CallOptions::new().request_id("mine 1");
    let done = server.client().post_lead_with(&lead(), "acme:1", &options).unwrap();
    let seen = server.seen();
    assert_eq!((done.tries, done.request_id.as_str(), seen.len()), (3, "mine 1", 3));
    for request in &seen {
        assert_eq!((&request.head, &request.body), (&seen[0].head, &seen[0].body));
    }
}

#[test]
fn cancelling_ends_a_wait() {
    // Nobody would live to see the end of this wait.
    let server = Server::start(vec![status(503, "Retry-After: 1000000000\r\n", "")]);
    let (tell_waiting, waiting) = mpsc::channel();
    let client = server
        .builder()
        .deadline(Duration::from_secs(2_000_000_000))
        .observer(move |event| {
            if matches!(event, Event::Wait { .. }) {
                tell_waiting.send(()).unwrap();
            }
        })
        .build()
        .unwrap();
    let error = cancelled_once(&client, || waiting.recv().unwrap());
    assert_eq!((error.kind(), error.tries(), error.status()), (Kind::Cancelled, 1, Some(503)));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn cancelling_ends_a_try_that_waits_for_its_answer() {
    let server = Server::start(vec![Answer::Silence]);
    let error = cancelled_once(&server.client(), || server.asked.recv().unwrap());
    assert_eq!((error.kind(), error.tries()), (Kind::Cancelled, 1));
    assert!(error.unknown_outcome());
    // And not because the time was up.
    assert_eq!(error.failure().unwrap().reason(), Some("the connection failed"));
}

#[test]
fn cancelling_ends_a_try_on_a_connection_that_is_used_again() {
    let server = Server::start(vec![accepted(), Answer::Silence]);
    let client = server.client();
    client.post_lead(&lead(), "acme:1").unwrap();
    server.asked.recv().unwrap();
    let error = cancelled_once(&client, || server.asked.recv().unwrap());
    assert_eq!((error.kind(), server.connections()), (Kind::Cancelled, 1));
    assert_eq!(error.failure().unwrap().reason(), Some("the connection failed"));
}

#[test]
fn cancelling_ends_a_handshake_and_nothing_was_sent() {
    let server = Server::start(vec![Answer::Silence]);
    let client = Client::new(KEY, server.url("https")).unwrap();
    let error = cancelled_once(&client, || server.connected.recv().unwrap());
    assert_eq!(error.kind(), Kind::Cancelled);
    assert!(!error.unknown_outcome());
    assert_ne!(error.failure().unwrap().reason(), Some("there was no whole answer in time"));
}

#[test]
fn a_token_that_is_cancelled_already_sends_nothing() {
    let server = Server::start(vec![accepted()]);
    let token = CancelToken::new();
    token.cancel();
    let error = server.client().post_lead_with(&lead(), "acme:1", &CallOptions::new().cancel(&token)).unwrap_err();
    assert_eq!((error.kind(), error.tries(), server.connections()), (Kind::Cancelled, 0, 0));
}

/// Posts a lead on another thread, cancels once `until` returns, and gives the error.
fn cancelled_once(client: &Client, until: impl FnOnce()) -> Error {
    let token = CancelToken::new();
    let options = CallOptions::new().cancel(&token);
    thread::scope(|scope| {
        let call = scope.spawn(|| client.post_lead_with(&lead(), "acme:1", &options));
        until();
        token.cancel();
        call.join().unwrap().unwrap_err()
    })
}

#[test]
fn a_connection_that_was_closed_meanwhile_costs_no_try() {
    let server = Server::start(vec![Answer::Last(bytes(&accepted())), accepted()]);
    let client = server.client();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap().tries, 1);
    server.await_closed();
    assert_eq!(client.post_lead(&lead(), "acme:2").unwrap().tries, 1);
    assert_eq!(server.connections(), 2);
}

#[test]
fn twenty_interim_answers_are_skipped_with_whatever_headers_they_have() {
    let interim = "HTTP/1.1 100 Continue\r\nLink: <x>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n".repeat(10);
    let server = Server::start(vec![
        Answer::Bytes(interim.clone() + &bytes(&accepted())),
        Answer::Bytes(interim + "HTTP/1.1 102 Processing\r\n\r\n" + &bytes(&accepted())),
    ]);
    let client = server.client();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap().tries, 1);
    let error = client.post_lead(&lead(), "acme:1").unwrap_err();
    // An interim answer is none: nobody knows what became of the lead.
    assert_eq!((error.kind(), error.tries(), error.status()), (Kind::Refused, 1, Some(102)));
    assert!(error.unknown_outcome());
}

/// Elsewhere a reset may take with it what came before.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_is_read_though_nobody_reads_the_lead_to_its_end() {
    let body = r#"{"error":"body_too_large"}"#;
    let server = Server::start(vec![Answer::Enough(bytes(&status(413, "", body)))]);
    let mut lead = lead();
    // More than the buffers of two sockets hold.
    lead.project_details = Some("x".repeat(32 << 20));
    let error = server.client().post_lead(&lead, "acme:1").unwrap_err();
    assert_eq!((error.kind(), error.status(), error.tries()), (Kind::Refused, Some(413), 1), "{error}");
    assert!(!error.unknown_outcome());
}

#[test]
fn a_chunked_answer_without_its_end_is_not_whole() {
    let cut = format!(
        "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{ACCEPTED}\r\n0\r\n",
        ACCEPTED.len()
    );
    let server = Server::start(vec![Answer::Last(cut.clone()), Answer::Bytes(cut + "\r\n")]);
    let client = server.client();
    assert_eq!(client.post_lead(&lead(), "acme:1").unwrap().tries, 2);
}

#[test]
fn an_outcome_stays_unknown_until_an_acknowledgement() {
    let lost = Answer::Last(String::new());
    let server = Server::start(vec![lost.clone(), status(422, "", r#"{"error":"validation_failed","fields":{}}"#)]);
    let error = server.client().post_lead(&lead(), "acme:1").unwrap_err();
    assert!(matches!(error, Error::InvalidLead { .. }) && error.unknown_outcome(), "{error}");
    let server = Server::start(vec![lost]);
    let error = server.client().check_key().unwrap_err();
    assert!(!error.unknown_outcome(), "{error}");
}

#[test]
fn a_key_check_tells_valid_from_invalid_and_sends_no_lead() {
    let server = Server::start(vec![
        status(422, "", r#"{"error":"validation_failed"}"#),
        status(401, "", r#"{"error":"unauthorized"}"#),
        status(422, "", r#"{"error":"else"}"#),
    ]);
    let client = server.client();
    assert_eq!(client.check_key().unwrap().verdict, Verdict::Valid);
    assert_eq!(client.check_key().unwrap().verdict, Verdict::Invalid);
    assert_eq!(client.check_key().unwrap_err().kind(), Kind::Refused);
    assert!(server.seen().iter().all(|it| it.body == "{}" && it.header("idempotency-key").is_none()));
}

#[test]
fn a_vocabulary_is_kept_for_its_max_age_and_renewed_by_its_etag() {
    let body =
        r#"{"project_area":[{"area":"roof","status":"confirmed"}],"project_service":["repair"],"required":["phone"]}"#;
    let server = Server::start(vec![
        status(200, "Cache-Control: public, max-age=300\r\nETag: \"v1\"\r\n", body),
        Answer::Bytes("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\n\r\n".into()),
        status(200, "", body),
    ]);
    let clock = Arc::new(SkippingClock::default());
    let client = server.builder().clock(clock.clone()).build().unwrap();
    let read = client.vocabulary().unwrap();
    assert_eq!(read.areas[0].area, "roof");
    client.vocabulary().unwrap();
    assert_eq!(server.seen().len(), 1);
    clock.go_on(Duration::from_secs(301));
    assert_eq!(client.vocabulary().unwrap(), read);
    client.vocabulary().unwrap();
    assert_eq!(server.seen().len(), 2);
    clock.go_on(Duration::from_secs(61));
    client.vocabulary().unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!([0, 1, 2].map(|n| seen[n].header("if-none-match")), [None, Some("\"v1\""), Some("\"v1\"")]);
    assert!(seen.iter().all(|it| it.head.starts_with("get /v1/vocabulary") && it.header("x-api-key").is_none()));
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_opened() {
    let server = Server::start(vec![accepted()]);
    let builder = || server.builder();
    assert!(builder().tries(0).build().is_err());
    assert!(builder().deadline(Duration::ZERO).build().is_err());
    assert!(builder().root_certificates("no PEM").build().is_err());
    let client = server.client();
    for key in ["", "  ", " a:1", "a:1 ", "a\nb", "\u{e9}", &"a".repeat(201)] {
        assert_eq!(client.post_lead(&lead(), key).unwrap_err().kind(), Kind::Misconfigured);
    }
    for id in ["", " ", " a", "a ", "a\nb", &"a".repeat(65)] {
        let options = CallOptions::new().request_id(id);
        assert_eq!(client.check_key_with(&options).unwrap_err().kind(), Kind::Misconfigured);
    }
    assert_eq!(server.connections(), 0);
}

fn bytes(answer: &Answer) -> String {
    match answer {
        Answer::Bytes(bytes) => bytes.clone(),
        _ => unreachable!("no other is made of bytes alone"),
    }
}
