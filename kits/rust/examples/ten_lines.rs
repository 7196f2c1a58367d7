use leads::{Client, Error, Lead};

fn main() -> Result<(), Error> {
    // The key is in LEADS_API_KEY, the address in LEADS_BASE_URL.
    let client = Client::from_env()?;
    let lead = Lead::new("Ada", "Lovelace", "(212) 555-0143");
    match client.post_lead(&lead, "acme:1843") {
        Ok(done) => println!("stored as {}", done.event_id),
        Err(Error::InvalidLead { fields, .. }) => println!("mend {fields}"),
        Err(Error::Unavailable(_)) => println!("post later, same key"),
        Err(other) => return Err(other),
    }
    Ok(())
}
