//! The log of everything below has neither key nor lead. A file of its own: all tests of a process have one log.

mod support;

use std::sync::Mutex;

use log::{LevelFilter, Log, Metadata, Record};
use support::{Answer, KEY, Server, accepted, lead, status, tells_secrets};

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Everything;

impl Log for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LOGGED.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

#[test]
fn the_log_of_everything_below_has_neither_key_nor_lead() {
    log::set_logger(&Everything).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let server = Server::start(vec![status(503, "", ""), Answer::Last(String::new()), accepted()]);
    server.client().post_lead(&lead(), "acme:1").unwrap();
    let logged = LOGGED.lock().unwrap();
    assert!(!tells_secrets(&logged.join("\n")));
    // ureq_proto writes bytes in rows of sixteen, as hexadecimal digits and then as characters.
    let rows = logged.iter().map(|line| line.chars().rev().take(16).collect::<String>());
    let written: String = rows.map(|row| row.chars().rev().collect::<String>()).collect();
    assert!(written.contains("x-api-key"), "the head of a request is not logged any more: the key may go in sooner");
    assert!(!tells_secrets(&written));
    assert!(server.seen().iter().all(|request| request.header("x-api-key") == Some(KEY)));
}
