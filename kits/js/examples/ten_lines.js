import { idempotencyKey, LeadsClient } from "@leads-example/leads-js";

const { LEADS_API_KEY: key, LEADS_BASE_URL: baseUrl } = process.env;
const leads = new LeadsClient({ key, baseUrl });
const lead = { first_name: "Ada", last_name: "King", phone: "555-0100" };
try {
  const id = idempotencyKey("acme", "4711");
  const { status, eventId } = await leads.postLead(lead, id);
  console.log(status, eventId);
} catch (error) {
  if (error.kind === "invalid_lead") console.error("Mend", error.fields);
  else if (error.kind === "unavailable") console.error("Post it later");
  else throw error;
}
