/** What `npm start` delivers. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import postgres from "postgres";
import { copyCheckout } from "../support/scripts/checkout.ts";
import { postServed } from "../support/served.ts";
import { until } from "../support/until.ts";
import { killAll, onDeno, onNode, start, welcome } from "../support/scripts/npm_start.ts";

const checkout = copyCheckout();
afterEach(killAll);

/** Runs `ctl` in the same folder. */
// deno-lint-ignore no-explicit-any
function ctl(args: readonly string[], env: Readonly<Record<string, string>> = {}): any {
  const { stdout, stderr } = spawnSync(process.execPath, ["scripts/ctl.ts", ...args, "--json"], {
    cwd: checkout,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  });
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout);
}

async function accepted(url: string, key: string): Promise<string> {
  // The same lead posted twice would be a duplicate.
  const lead = { first_name: "Ada", last_name: "Lovelace", phone: "555-123-4567", external_id: randomUUID() };
  const answer = await postServed(`${url}/v1/intake`, { key, body: lead });
  assert.equal(answer.status, 202);
  return answer.json.event_id;
}

function stateOf(eventId: string, env: Readonly<Record<string, string>> = {}): string {
  return ctl(["lead", "show", eventId], env).delivery.state;
}

async function delivered(eventId: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  await until(() => stateOf(eventId, env) === "delivered", { what: `${eventId} is delivered` });
}

for (const [runtime, command] of [["Node", onNode], ["Deno", onDeno]] as const) {
  test(`on ${runtime}, a lead of the development tenant becomes an email and a signed webhook, shown on the page`, async () => {
    const started = start(checkout, {}, command);
    const { url, text } = await welcome(started);
    const key = /^ {2}development key +(lead_live_\S+)$/m.exec(text)?.[1] ?? "";
    const page = /^ {2}emails and webhooks +(\S+)$/m.exec(text)?.[1] ?? "";
    const eventId = await accepted(url, key);
    await delivered(eventId);
    const read = async (path: string) => (await fetch(new URL(path, page))).text();
    const list = await read("/");
    const webhook = await read(/href="(\/webhook\/\d+)"/.exec(list)?.[1] ?? "");
    assert.match(webhook, /The signature is valid for this body, timestamp and secret/);
    assert.ok(webhook.includes(eventId));
    const mail = await read(/href="(\/mail\/\d+)"/.exec(list)?.[1] ?? "");
    assert.match(mail, /leads@customer\.example/);
    assert.match(mail, /Lovelace/);
    started.child.kill("SIGINT");
    assert.equal(await started.ended, 0);
  });
}

test("both processes use separate roles on the embedded database, without the owner's rights", async () => {
  const started = start(checkout);
  await welcome(started);
  const { databaseUrl } = JSON.parse(readFileSync(join(checkout, ".data/running.json"), "utf8"));
  const sql = postgres(databaseUrl, { max: 1 });
  const at = await sql<{ usename: string }[]>`
    select distinct usename from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() order by 1`;
  assert.deepEqual(at.map(({ usename }) => usename), ["npm_start_lead_actions", "npm_start_lead_service"]);
  const roles = await sql`
    select rolname from pg_roles where rolname like 'npm_start_%' and (rolsuper or rolcreaterole or rolcreatedb)`;
  assert.equal(roles.length, 0);
  await sql.end();
  started.child.kill("SIGINT");
  assert.equal(await started.ended, 0);
});
