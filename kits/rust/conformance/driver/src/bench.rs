//! Posts a second of the kit and of bare `ureq`, one after the other, over one kept-alive connection each.

use std::env;
use std::time::Instant;

use leads::{Client, Lead};
use serde_json::{Value, json};
use ureq::Agent;

fn main() {
    let arguments: Vec<u32> = env::args().skip(1).map(|each| each.parse().expect("a number")).collect();
    let [posts, rounds] = arguments[..] else { panic!("bench POSTS ROUNDS") };
    let kit = Kit { client: Client::from_env().expect("a key and an address"), lead: lead() };
    let bare = Bare::new();
    // Of the first round nothing is told: it opens the connections and warms both.
    for round in 0..=rounds {
        let (kit, bare) = if round % 2 == 0 {
            let kit = per_second(posts, |n| kit.post(n));
            (kit, per_second(posts, |n| bare.post(n)))
        } else {
            let bare = per_second(posts, |n| bare.post(n));
            (per_second(posts, |n| kit.post(n)), bare)
        };
        if round > 0 {
            println!("{}", json!({"kit": kit, "bare": bare}));
        }
    }
}

fn per_second(posts: u32, post: impl Fn(u32)) -> f64 {
    let began = Instant::now();
    for n in 0..posts {
        post(n);
    }
    f64::from(posts) / began.elapsed().as_secs_f64()
}

fn lead() -> Lead {
    let mut lead = Lead::new("Ada", "Lovelace", "(212) 555-0143");
    lead.project_area = Some("roof".into());
    lead
}

/// A new key for each post, as leads have them.
fn idempotency_key(n: u32) -> String {
    format!("bench:{n}:{}", std::process::id())
}

struct Kit {
    client: Client,
    lead: Lead,
}

impl Kit {
    fn post(&self, n: u32) {
        self.client.post_lead(&self.lead, &idempotency_key(n)).expect("an acknowledgement");
    }
}

struct Bare {
    agent: Agent,
    url: String,
    key: String,
    body: Vec<u8>,
}

impl Bare {
    fn new() -> Self {
        // Without a time-out: with one, ureq starts a thread for each request to find its host, and is the slower one.
        let config = Agent::config_builder().user_agent(format!("leads-rust/{}", leads::VERSION));
        Self {
            agent: config.accept("application/json").build().into(),
            url: format!("{}/v1/intake", env::var("LEADS_BASE_URL").expect("an address").trim_end_matches('/')),
            key: env::var("LEADS_API_KEY").expect("a key"),
            body: serde_json::to_vec(&lead()).expect("JSON"),
        }
    }

    fn post(&self, n: u32) {
        let request = self.agent.post(&self.url).header("X-API-Key", &self.key).content_type("application/json");
        let request =
            request.header("Idempotency-Key", idempotency_key(n)).header("X-Request-Id", format!("b-{n:014}"));
        let answer = request.send(&self.body).expect("an answer").body_mut().read_to_vec().expect("a body");
        let acknowledgement: Value = serde_json::from_slice(&answer).expect("JSON");
        assert!(acknowledgement["event_id"].is_string());
    }
}
