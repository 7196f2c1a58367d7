import leads = require("@leads-example/leads-node");

export const client: leads.LeadsClient = new leads.LeadsClient({ tries: 1 });
export const key: string = leads.idempotencyKey("acme", "1");
