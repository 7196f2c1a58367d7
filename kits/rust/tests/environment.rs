//! Key and address come from the environment when they are not given. Each test is a process of its own: an environment
//! belongs to a whole process.

mod support;

use std::env;
use std::process::Command;

use leads::Client;
use support::{ACCEPTED, Answer, KEY, Server, accepted, lead};

/// Runs `this_process_posts_a_lead` in a process with these variables, and returns what it said.
fn post_with(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "this_process_posts_a_lead", "--ignored", "--nocapture"]);
    command.env_remove("LEADS_API_KEY").env_remove("LEADS_BASE_URL");
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
#[ignore = "it is run by the others, with an environment"]
fn this_process_posts_a_lead() {
    // One try: what is shown here needs no second one, and nobody wants to wait for it.
    let builder = Client::builder().tries(1);
    match builder.build().and_then(|client| client.post_lead(&lead(), "acme:1")) {
        Ok(done) => println!("stored as {}", done.event_id),
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn key_and_address_are_read_from_the_environment() {
    let server = Server::start(vec![accepted()]);
    let said = post_with(&[("LEADS_API_KEY", KEY), ("LEADS_BASE_URL", &server.url("http"))]);
    assert!(said.contains("stored as e1"), "{said}");
    assert_eq!(server.seen()[0].header("x-api-key"), Some(KEY));
}

#[test]
fn what_is_missing_is_named() {
    let said = post_with(&[("LEADS_BASE_URL", "https://a.example")]);
    assert!(said.contains("there is no key: give one, or set LEADS_API_KEY"), "{said}");
    let said = post_with(&[("LEADS_API_KEY", KEY)]);
    assert!(said.contains("there is no address: give one, or set LEADS_BASE_URL"), "{said}");
}

#[test]
fn a_proxy_of_the_environment_is_used_and_does_not_hear_the_key() {
    let proxy = Server::start(vec![support::status(407, "", "")]);
    let said = post_with(&[
        ("LEADS_API_KEY", KEY),
        ("LEADS_BASE_URL", "https://leads.example"),
        ("HTTPS_PROXY", &proxy.url("http")),
    ]);
    assert!(said.contains("the proxy refused") && said.contains("1 try)"), "{said}");
    let seen = proxy.seen();
    assert!(seen[0].head.starts_with("connect leads.example:443 http/1.1"), "{seen:?}");
    assert!(seen.iter().all(|request| !support::tells_secrets(&format!("{request:?}"))));
}

#[test]
fn nothing_goes_into_a_tunnel_before_there_is_tls_in_it() {
    // The proxy opens the tunnel, and answers like a service without TLS.
    let opened = format!("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 202 Word\r\n\r\n{ACCEPTED}");
    let proxy = Server::start(vec![Answer::Last(opened)]);
    let said = post_with(&[
        ("LEADS_API_KEY", KEY),
        ("LEADS_BASE_URL", "https://leads.example"),
        ("HTTPS_PROXY", &proxy.url("http")),
    ]);
    assert!(said.contains("error: ") && said.contains("1 try)"), "{said}");
    let seen = proxy.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(!support::tells_secrets(&format!("{seen:?}")));
}

#[test]
fn no_proxy_hears_what_goes_to_this_machine_without_tls() {
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let (server, proxy) = (Server::start(vec![accepted()]), Server::start(vec![Answer::Last(String::new())]));
        let environment =
            [("LEADS_API_KEY", KEY), ("LEADS_BASE_URL", &server.url("http")), (variable, &proxy.url("http"))];
        let said = post_with(&environment);
        assert!(said.contains("stored as e1"), "{variable}: {said}");
        assert_eq!((proxy.connections(), server.seen().len()), (0, 1), "{variable}");
    }
}
