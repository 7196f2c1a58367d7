import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { keys } from "../../kits/conformance/secrets.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { temporaryFolder } from "../support/folder.ts";
import { listen } from "../support/listen.ts";
import { all, runIn, testedKits } from "../support/kits/kit.ts";

/** The checks of every kit, in their order. */
const names = ["format", "lint", "units", "docs", "example", "package", "local"];

const posting: ReadonlySet<string> = new Set(["example", "package", "local"]);
const repository = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

for (const kit of testedKits) {
  test(`${kit.name} passes its language's and registry's checks`, async (t) => {
    assert.deepEqual(names.filter((name) => kit.checks[name] === undefined), [], "every check has a command");
    for (const [name, command] of Object.entries(kit.checks)) {
      if (isSkipped(`test/kits/: ${kit.name}: ${name}`)) continue;
      await t.test(`${kit.name}: ${name}`, async () => {
        if (!posting.has(name)) return void await runIn(kit.folder, command);
        const folder = name === "local" ? temporaryFolder(kit.id) : kit.folder;
        const install = { REPO: repository, LOCAL: kit.local };
        const leads = await leadsFrom((address) =>
          runIn(folder, command, { LEADS_BASE_URL: address, LEADS_API_KEY: keys.key, ...install })
        );
        assert.notEqual(leads.length, 0, "a lead was posted");
        for (const { headers, lead } of leads) {
          assert.equal(headers["x-api-key"], keys.key);
          assert.equal(headers["user-agent"], `${kit.name}/${all.version}`);
          assert.match(String(headers["idempotency-key"]), /^.+:.+$/);
          assert.equal(typeof lead.first_name, "string");
        }
      });
    }
  });
}

/** Returns the leads that `run` posts to a server that accepts all. */
async function leadsFrom(run: (address: string) => Promise<unknown>) {
  const leads: { headers: IncomingMessage["headers"]; lead: Record<string, unknown> }[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    if (request.url === "/v1/intake") leads.push({ headers: request.headers, lead: JSON.parse(text) });
    response.writeHead(202, { "Content-Type": "application/json" }).end(JSON.stringify({
      event_id: `event-${leads.length}`,
      status: "accepted",
      received_at: "2026-11-22T09:00:00.000Z",
      source: "example",
      flags: [],
    }));
  });
  await run(`http://127.0.0.1:${await listen(server)}`);
  return leads;
}
