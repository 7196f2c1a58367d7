import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { digestJob } from "../../src/actions/digests.ts";
import { openMail } from "../../src/actions/smtp.ts";
import { createLog } from "../../src/observe/log.ts";
import { DigestStore } from "../../src/store/delivery/digests.ts";
import { createRole } from "../support/actions/actions_process.ts";
import { type SmtpListener, startSmtp } from "../support/actions/smtp_listener.ts";
import { openPool } from "../support/pool.ts";
import { openStore } from "../support/store.ts";
import { ctl } from "../support/server.ts";

const { databaseUrl, sql } = await openStore();
let smtp: SmtpListener;
let lines: string[];
/** The jobs of two processes, each with the role of an actions process. */
let jobs: ReturnType<typeof digestJob>[];
const address = "boss@acme.example";

before(async () => {
  smtp = await startSmtp();
  const role = await createRole(databaseUrl, "lead_actions");
  const sendMail = openMail({
    host: "127.0.0.1",
    port: smtp.port,
    isSecure: false,
    login: null,
    timeoutMs: 20_000,
    from: { name: "Leads", address: "leads@intake.example" },
  });
  jobs = [1, 2].map(() =>
    digestJob({
      store: new DigestStore(openPool(role.url)),
      sendMail,
      heldLinks: null,
      timeoutMs: 20_000,
      nowMs: () => Date.now(),
      observe: () => {},
      log: createLog({ push: (line) => void lines.push(line) }, () => new Date()),
    })
  );
  await ctl(["tenant", "add", "acme", "--name", "Acme Remodeling"], { databaseUrl });
  await sql`update tenant set time_zone = 'America/Los_Angeles', digest_at = '07:00'`;
  await route(1, address);
  await sql`
    insert into api_key (tenant_id, surface, label, digest, last4)
    values (1, 'intake', 'partner-x', sha256('a'), 'aaaa'), (1, 'forms', 'acme-web', sha256('b'), 'bbbb'),
      (1, 'intake', 'quiet', sha256('c'), 'cccc')`;
  // A second key with the label, as after a rotation.
  await sql`insert into campaign (tenant_id, slug) values (1, 'spring'), (1, 'fall')`;
  await sql`update api_key set campaign_id = 1 where label = 'partner-x'`;
  await sql`
    insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
    values (1, 2, 'intake', 'partner-x', sha256('d'), 'dddd')`;
});
beforeEach(async () => {
  lines = [];
  smtp.answers.clear();
  await sql`delete from actions.digest`;
  await sql`delete from hour_total`;
  await sql`delete from hour_rolled`;
});

async function route(tenantId: number, to: string): Promise<void> {
  await sql`insert into actions.route (tenant_id, kind, address) values (${tenantId}, 'email', ${to})`;
}

/** Sets the clock and rolls up the hours before it. */
async function at(time: string): Promise<void> {
  await sql.unsafe(`create or replace function service_clock() returns timestamptz
    language sql volatile parallel safe as $$ select timestamptz '${time}' $$`);
  await sql`insert into hour_rolled values (date_trunc('hour', ${time}::timestamptz, 'UTC') - interval '1 hour', null)
    on conflict do nothing`;
}

const accepted = (hour: string, keyId: number, count: number, cents = 0) =>
  sql`insert into hour_total values (${hour}, ${keyId}, ${count}, ${cents}, '{}', '{}')`;

/** Runs both jobs until none is due and returns the emails sent. */
async function sent() {
  const before = smtp.messages.length;
  for (let isDue = true; isDue;) {
    isDue = (await Promise.all(jobs.map((job) => job.runOnce()))).includes(true);
  }
  return smtp.messages.slice(before);
}

const subjectOf = (raw: string) => /^Subject: (.*(?:\r\n .*)*)/m.exec(raw)?.[1]?.replace(/\r\n/g, "");
const textOf = (raw: string) => {
  const part = raw.slice(raw.indexOf("text/plain"));
  return part.slice(part.indexOf("\r\n\r\n") + 4, part.indexOf("\r\n--")).replace(/=\r\n/g, "").replaceAll(
    "\r\n",
    "\n",
  )
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
};

test("a digest is sent once per day at the tenant's time, by one of several processes, with counts by source", async () => {
  await at("2026-11-20T14:59:00Z");
  assert.equal((await sent()).length, 0);
  await accepted("2026-11-19T16:00:00Z", 1, 5, 1000);
  await accepted("2026-11-19T14:00:00Z", 1, 2);
  await accepted("2026-11-18T20:00:00Z", 1, 2);
  await accepted("2026-11-20T14:00:00Z", 2, 1);
  await accepted("2026-11-17T14:00:00Z", 3, 9);
  await at("2026-11-20T15:00:00Z");
  const mails = await sent();
  assert.equal(mails.length, 1);
  const [{ raw, to }] = mails as [typeof mails[number]];
  assert.deepEqual(to, [`<${address}>`]);
  assert.equal(subjectOf(raw), "Acme Remodeling, Friday, November 20: 5 leads, 1 message");
  const text = textOf(raw);
  assert.match(
    text,
    /^Nov 19, 7:00 AM PST to Nov 20, 7:00 AM PST$/m,
  );
  assert.match(text, /^Leads: 5 \(4 before\)$/m);
  assert.match(text, /^Spent: \$10\.00 \(returns not deducted\)$/m);
  assert.match(
    text,
    /^By source:\n\npartner-x: 5 leads, 4 before, \$10\.00, campaign fall, spring\nacme-web: 1 message, 0 before$/m,
  );
  assert.match(text, /^Silent sources:\n\nquiet: nothing since Nov 17/m);
  assert.match(text, /^Not delivered:\n\nNone: Everything was delivered$/m);
  assert.equal((await sent()).length, 0);
  await at("2026-11-21T14:59:00Z");
  assert.equal((await sent()).length, 0);
});

test("missed digests are sent late as one digest for all days", async () => {
  await at("2026-11-20T12:00:00Z");
  await sent();
  await accepted("2026-11-20T20:00:00Z", 1, 3);
  await accepted("2026-11-22T20:00:00Z", 1, 4);
  // The hours are rolled up in between.
  await at("2026-11-23T15:00:00Z");
  await at("2026-11-24T03:00:00Z");
  const mails = await sent();
  assert.equal(mails.length, 1);
  assert.match(subjectOf(mails[0]?.raw ?? "") ?? "", /: 7 leads$/);
});

test("no digest is sent while the tenant or its email is paused, and one for all days on resume", async () => {
  await at("2026-11-20T12:00:00Z");
  await sent();
  await accepted("2026-11-20T20:00:00Z", 1, 3);
  await at("2026-11-21T15:00:00Z");
  for (const kind of ["", "email"]) {
    await sql`select from pause_tenant('acme', ${[kind]}, null)`;
    assert.equal((await sent()).length, 0);
    await sql`select from resume_tenant('acme', ${[kind]})`;
  }
  await sql`select from pause_tenant('acme', '{crm}', null)`;
  const mails = await sent();
  assert.equal(mails.length, 1);
  assert.match(subjectOf(mails[0]?.raw ?? "") ?? "", /: 3 leads$/);
});

test("a deferred digest is retried with backoff until the next day's digest replaces it", async () => {
  await at("2026-11-20T12:00:00Z");
  await sent();
  await accepted("2026-11-20T13:00:00Z", 1, 3);
  smtp.answers.set("RCPT", "451 later");
  await at("2026-11-20T15:00:00Z");
  assert.equal((await sent()).length, 0);
  await at("2026-11-20T15:00:30Z");
  assert.equal(await jobs[0]?.runOnce(), false);
  await at("2026-11-20T15:01:00Z");
  assert.equal(await jobs[0]?.runOnce(), true);
  await at("2026-11-20T15:02:30Z");
  assert.equal(await jobs[0]?.runOnce(), false);
  assert.equal(lines.filter((line) => line.includes("digest_failed")).length, 2);
  assert.match(lines.join("\n"), /smtp_deferred_451/);
  assert.doesNotMatch(lines.join("\n"), /boss/);
  smtp.answers.clear();
  await at("2026-11-21T15:00:00Z");
  const mails = await sent();
  assert.equal(mails.length, 1);
  assert.match(textOf(mails[0]?.raw ?? ""), /^Leads: 3 /m);
});

test("after the clock was set back, the next day's digest is sent, and an interrupted one is repeated", async () => {
  await at("2026-11-20T12:00:00Z");
  await sent();
  await accepted("2026-11-20T13:00:00Z", 1, 3);
  await at("2026-11-27T15:00:00Z");
  assert.equal((await sent()).length, 1);
  await at("2026-11-20T15:00:30Z");
  assert.equal((await sent()).length, 0);
  await accepted("2026-11-20T16:00:00Z", 1, 2);
  smtp.answers.set("RCPT", "451 later");
  await at("2026-11-28T15:00:00Z");
  assert.equal((await sent()).length, 0);
  smtp.answers.clear();
  // The lease of a process that died, and the pause before its next try.
  await sql`update actions.digest set lease = gen_random_uuid(), lease_until = '2026-11-28T15:01:00Z'`;
  await at("2026-11-21T15:00:00Z");
  assert.equal((await sent()).length, 0);
  await at("2026-11-21T15:02:00Z");
  const mails = await sent();
  assert.equal(mails.length, 1);
  assert.match(textOf(mails[0]?.raw ?? ""), /^Leads: 2 /m);
});
