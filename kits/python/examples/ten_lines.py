"""Posts a lead; LEADS_API_KEY and LEADS_BASE_URL say as whom and where."""

import sys

import leads_python as leads

lead = leads.Lead("Ada", "Lovelace", "(555) 010-4477", city="London")
try:
    with leads.Client() as client:
        taken = client.post_lead(lead, idempotency_key="acme:1842")
    print(taken.status, taken.event_id)
except leads.InvalidLeadError as error:
    sys.exit(f"Correct the lead: {error.fields}")
except leads.UnavailableError:
    sys.exit("Try later, with the same idempotency key")
except leads.LeadsError as error:
    sys.exit(f"{error.kind}: {error}")
