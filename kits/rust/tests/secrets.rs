//! No text of anything public has the key or the lead in it, whatever was sent and whatever came.

mod support;

use leads::{CallOptions, Client, Lead};
use support::{KEY, Server, lead, status, tells_secrets};

#[test]
fn no_text_of_anything_public_has_key_or_lead() {
    let echo = format!(r#"{{"error":"{KEY}","fields":{{"Canaryada":"(555) 010-4477","phone":"required"}}}}"#);
    let server = Server::start(vec![status(422, &format!("Retry-After: {KEY}\r\n"), &echo), status(400, "", &echo)]);
    let client = server.client();
    let mut texts = vec![
        format!("{client:?} {client:#?}"),
        format!("{:?}", server.builder()),
        format!("{:?} {:#?}", lead(), lead()),
        format!("{:?}", CallOptions::new()),
    ];
    for _ in 0..2 {
        let error = client.post_lead(&lead(), "acme:1").unwrap_err();
        assert!(std::error::Error::source(&error).is_none());
        assert_eq!(error.code(), None);
        texts.push(format!("{error} {error:?} {error:#?}"));
    }
    for key in [&KEY[..47], &KEY.to_lowercase(), &KEY.replace("lead", "form"), &KEY.replace("lead_", "")] {
        let error = Client::new(key, "https://a.example").unwrap_err();
        texts.push(format!("{error} {error:?}"));
    }
    let address = format!("https://user:{KEY}@a.example/{KEY}?{KEY}");
    texts.push(format!("{:?}", Client::builder().key(KEY).base_url(address.as_str())));
    texts.push(format!("{:?}", Client::new(KEY, address).unwrap_err()));
    texts.push(serde_json::from_str::<Lead>(r#"{"first_name":["Canaryada"]}"#).unwrap_err().to_string());
    for text in texts {
        assert!(!text.is_empty() && !tells_secrets(&text), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_lead_is_told_by_the_names_that_there_are() {
    let body = r#"{"error":"validation_failed","fields":{"phone":"required","cost":"out_of_range","own":"odd"}}"#;
    let server = Server::start(vec![status(422, "", body)]);
    let error = server.client().post_lead(&lead(), "acme:1").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("cost out_of_range, phone required, one other field"), "{text}");
    assert_eq!(error.fields().unwrap()["own"], "odd");
}
