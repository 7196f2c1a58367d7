"""What a caller does with the client that openapi-python-client makes."""

import json
import os

from lead_intake_service_client import AuthenticatedClient, Client
from lead_intake_service_client.api.forms import submit_form
from lead_intake_service_client.api.health import get_health
from lead_intake_service_client.api.intake import get_vocabulary, post_lead
from lead_intake_service_client.api.plans import get_plans
from lead_intake_service_client.models import Acknowledgement, ErrorBody, Lead, Submission


def keyed(url, key):
    return AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key")


def acknowledged(answer):
    found = answer.parsed
    assert isinstance(found, Acknowledgement), answer
    return {
        "event_id": found.event_id,
        "status": found.status.value,
        "received_at": round(found.received_at.timestamp() * 1000),
        "source": found.source,
        "flags": found.flags,
    }


def refused(answer):
    found = answer.parsed
    assert isinstance(found, ErrorBody), answer
    return {
        "http": int(answer.status_code),
        "error": found.error,
        "is_named": found.request_id == answer.headers["x-request-id"],
        "fields": found.fields.to_dict() if found.fields else {},
    }


env = os.environ
intake = keyed(env["INTAKE_URL"], env["LEADS_API_KEY"])
forms = keyed(env["FORMS_URL"], env["FORMS_API_KEY"])
lead = Lead(
    first_name="Ada",
    last_name="Lovelace",
    phone="+44 20 7946 0123",
    country="GB",
    project_area="Wine Cellar",
    project_service="Remodel",
    cost=12.5,
)
key = env["IDEMPOTENCY_KEY"]
accepted = acknowledged(post_lead.sync_detailed(client=intake, body=lead, idempotency_key=key))
repeated = acknowledged(post_lead.sync_detailed(client=intake, body=lead, idempotency_key=key))
blank = Lead(first_name="Ada", last_name=" ", phone="(555) 123-4567", cost=1000)
submission = Submission.from_dict(
    {"name": "Grace Hopper", "email": "grace@example.com", "visits": 3, "message": key}
)


def submit(body):
    return submit_form.sync_detailed(env["TENANT"], env["FORM_KEY"], client=forms, body=body)


vocabulary = get_vocabulary.sync(client=intake)
submitted, again = submit(submission).parsed, submit(submission).parsed
report = {
    "accepted": accepted,
    "repeated": repeated,
    "refused": refused(post_lead.sync_detailed(client=intake, body=blank)),
    "unauthorized": refused(
        post_lead.sync_detailed(client=keyed(env["INTAKE_URL"], "mistyped"), body=lead)
    ),
    "areas": len([term for term in vocabulary.project_area if term.status == "confirmed"]),
    "services": vocabulary.project_service,
    "is_well": get_health.sync(client=intake).ok,
    "submitted": [submitted.status.value, again.status.value],
    "is_same": submitted.submission_id == again.submission_id,
    "missing": refused(submit(Submission())),
    "plans": [
        [plan.slug, plan.amount_cents, plan.interval, plan.items[0].title]
        for plan in get_plans.sync(client=Client(base_url=env["SUBSCRIPTION_URL"]))
    ],
}
print(json.dumps(report))
