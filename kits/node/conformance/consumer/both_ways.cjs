const assert = require("node:assert/strict");
const required = require("@leads-example/leads-node");

async function main() {
  const imported = await import("@leads-example/leads-node");
  // One class in both, so that instanceof holds.
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
  const { version } = require("@leads-example/leads-node/package.json");
  assert.equal(required.version, version);
  assert.throws(() => new imported.LeadsClient({ key: "lead_test_1" }), required.MisconfiguredError);
  const { status } = await new required.LeadsClient().postLead('{"first_name":"Ada"}', "acme:1");
  assert.equal(status, "accepted");
}

main();
