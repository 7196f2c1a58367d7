//! A small server on real sockets, and a clock that does not sleep.

// Each test file uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use leads::{CancelToken, Client, ClientBuilder, Clock, Lead};

pub const KEY: &str = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H";

/// A lead, each of whose values has a word that is searched for.
pub fn lead() -> Lead {
    let mut lead = Lead::new("Canaryada", "Canarylovelace", "(555) 010-4477");
    lead.project_details = Some("The canary sings.".into());
    lead
}

/// Whether the key or the lead stands in a text.
pub fn tells_secrets(text: &str) -> bool {
    text.contains(&KEY[20..28]) || text.to_lowercase().contains("canary") || text.contains("010-4477")
}

/// What the server does with one request.
#[derive(Clone)]
pub enum Answer {
    /// These bytes; the connection stays.
    Bytes(String),
    /// These bytes, and the connection is closed. Signalled by `Server::closed`.
    Last(String),
    /// These bytes, once as many requests as the barrier counts have come.
    Together(Arc<Barrier>, String),
    /// These bytes when the head of a request has come, and a reset: nobody reads the body.
    Enough(String),
    /// Nothing, for as long as the client waits.
    Silence,
}

pub fn status(status: u16, headers: &str, body: &str) -> Answer {
    let length = body.len();
    Answer::Bytes(format!("HTTP/1.1 {status} Word\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

pub const ACCEPTED: &str =
    r#"{"event_id":"e1","status":"accepted","received_at":"2026-11-22T10:00:00Z","source":"acme-web","flags":["f"]}"#;

pub fn accepted() -> Answer {
    status(202, "", ACCEPTED)
}

/// A request as it came: its head in lower-case letters, and its body.
#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub struct Server {
    address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Told of every connection, every request and every close, in the order in which they happen.
    pub connected: mpsc::Receiver<()>,
    pub asked: mpsc::Receiver<()>,
    pub closed: mpsc::Receiver<()>,
}

impl Server {
    /// Gives the answers one after the other, and the last one to all further requests.
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell_connected, connected) = mpsc::channel();
        let (tell_asked, asked) = mpsc::channel();
        let (tell_closed, closed) = mpsc::channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (counter, requests) = (connections.clone(), seen.clone());
        let answers = Arc::new(answers);
        thread::spawn(move || {
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let _ = tell_connected.send(());
                let (answers, requests) = (answers.clone(), requests.clone());
                let (tell_asked, tell_closed) = (tell_asked.clone(), tell_closed.clone());
                thread::spawn(move || {
                    serve(stream.unwrap(), &answers, &requests, &tell_asked);
                    let _ = tell_closed.send(());
                });
            }
        });
        Self { address, connections, seen, connected, asked, closed }
    }

    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    pub fn builder(&self) -> ClientBuilder {
        Client::builder().key(KEY).base_url(self.url("http")).random(|| 0.5)
    }

    pub fn client(&self) -> Client {
        self.builder().clock(SkippingClock::default()).build().unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until it has closed a connection, and on Linux until the client's kernel knows, which may be late.
    pub fn await_closed(&self) {
        self.closed.recv().unwrap();
        // Addresses are hexadecimal; state 04 is FIN_WAIT1: closed, and not acknowledged yet.
        let unacknowledged = format!(":{:04X} ", self.address.port());
        while fs::read_to_string("/proc/net/tcp").is_ok_and(|table| {
            table.lines().any(|line| line.contains(&unacknowledged) && line.split(' ').any(|word| word == "04"))
        }) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn serve(stream: TcpStream, answers: &[Answer], requests: &Mutex<Vec<Seen>>, asked: &mpsc::Sender<()>) {
    let mut reader = BufReader::new(stream);
    if let [Answer::Enough(bytes)] = answers {
        // Byte by byte, so that the body stays unread: that makes the kernel reset the connection.
        let mut byte = [0];
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && reader.get_mut().read(&mut byte).is_ok_and(|count| count > 0) {
            head.push(byte[0]);
        }
        let _ = reader.get_mut().write_all(bytes.as_bytes());
        return;
    }
    while let Some(request) = read_request(&mut reader) {
        let at = {
            let mut requests = requests.lock().unwrap();
            requests.push(request);
            requests.len() - 1
        };
        let _ = asked.send(());
        let mut write = |bytes: &str| reader.get_mut().write_all(bytes.as_bytes()).is_ok();
        match answers.get(at).or(answers.last()).expect("an answer") {
            Answer::Bytes(bytes) if write(bytes) => {}
            Answer::Together(barrier, bytes) => {
                barrier.wait();
                write(bytes);
            }
            Answer::Silence | Answer::Bytes(_) | Answer::Enough(_) => break,
            Answer::Last(bytes) => {
                write(bytes);
                return;
            }
        }
    }
    // What is no request, or gets no answer, keeps its connection until the client has enough.
    let _ = io::copy(&mut reader, &mut io::sink());
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        // Whatever is no text is no request: a TLS handshake, for example.
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let names: Vec<_> = head.lines().map(|line| line.split_once(": ").unwrap_or((line, ""))).collect();
    let length = names.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let lines: Vec<_> = names.iter().map(|(name, value)| format!("{}: {value}\n", name.to_lowercase())).collect();
    Some(Seen { head: lines.concat(), body: String::from_utf8(body).unwrap() })
}

/// A clock that goes on by each wait instead of sleeping, and notes it.
#[derive(Default)]
pub struct SkippingClock {
    pub skipped: Mutex<Duration>,
    pub waits: Mutex<Vec<Duration>>,
}

impl SkippingClock {
    pub fn go_on(&self, by: Duration) {
        *self.skipped.lock().unwrap() += by;
    }
}

impl Clock for SkippingClock {
    fn now(&self) -> SystemTime {
        SystemTime::now() + *self.skipped.lock().unwrap()
    }

    fn monotonic(&self) -> Instant {
        Instant::now() + *self.skipped.lock().unwrap()
    }

    fn sleep(&self, wait: Duration, _: &CancelToken) {
        self.waits.lock().unwrap().push(wait);
        self.go_on(wait);
    }
}
