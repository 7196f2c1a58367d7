/** Tests erasing a person while their posts arrive: earlier posts leave no trace, later ones are new leads. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, request } from "node:http";
import { test } from "node:test";
import { freshKey, type IssuedKey, lead, visitor } from "../support/test_env.ts";
import { everyValue } from "../support/every_value.ts";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { deliveryFixture } from "../support/faults/delivery_fixture.ts";
import { assertTally, erase } from "../support/faults/erase.ts";
import { randomOf } from "../support/faults/random.ts";

const fixture = await deliveryFixture({ ownPostgres: true });
const { databaseUrl, tier, testEnv } = fixture;
const { sql } = testEnv;

/** A post whose headers have arrived. */
interface Begun {
  /** Sends the body and returns the answer. */
  finish(): Promise<{ readonly status: number; readonly id: string }>;
}

/** Sends a post's headers and returns when the server requests its body. */
async function begin(
  url: string,
  { key, body, headers = {} }: {
    readonly key: IssuedKey;
    readonly body: Record<string, unknown>;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<Begun> {
  const bytes = Buffer.from(JSON.stringify(body));
  const post: ClientRequest = request(url, {
    method: "POST",
    agent: false,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": bytes.length,
      "X-API-Key": key.text,
      Expect: "100-continue",
      ...headers,
    },
  });
  post.flushHeaders();
  await once(post, "continue");
  return {
    async finish() {
      const answered = once(post, "response");
      post.end(bytes);
      const [response] = await answered;
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      const json = JSON.parse(text);
      return { status: response.statusCode, id: json.event_id ?? json.submission_id };
    },
  };
}

/** Returns the columns that contain a match of the pattern. */
async function traces(pattern: RegExp): Promise<string[]> {
  return (await everyValue(sql)).filter(({ text }) => pattern.test(text)).map(({ column }) => column);
}

/** Returns what remains of an event. */
async function remains(id: string) {
  const [row] = await sql`
    select e.removed_by, e.lead is null and e.raw is null and e.idempotency_key is null as gone,
      (select count(*)::int from outbox as o where o.event_id = e.event_id) as outbox,
      (select count(*)::int from attempt as a where a.event_id = e.event_id) as attempts
    from event as e where e.event_id = ${id}`;
  return { ...row };
}

const erased = { removed_by: "erasure", gone: true, outbox: 0, attempts: 0 };

test("a post that arrived before its person's erasure ended is accepted, neither stored nor sent; a later one is a new lead", async () => {
  const server = await fixture.start();
  const key = await fixture.routed();
  const email = "quillon@vexworth.example";
  const intake = `${server.url}/v1/intake`;
  const { form, key: formsKey } = await testEnv.formWithKey({ required: ["message"] });
  const forms = `${server.urls.forms}/v1/forms/${form.tenant.slug}/${form.formKey}`;
  const theirs = lead({ last_name: "Vexworth", email, cost: 12.5, project_area: "Vexworth's den" });
  const used = freshKey();
  await testEnv.intake({ key: key.text, body: lead(), headers: { "Idempotency-Key": used } }, server);

  const byKey = freshKey();
  const begun = [
    await begin(intake, { key, body: theirs, headers: { "Idempotency-Key": byKey } }),
    await begin(intake, { key, body: { ...theirs, note: "Vexworth, by content" } }),
    await begin(intake, { key, body: lead({ last_name: "Vexworth", email: ` QUILLON@Vexworth.Example ` }) }),
    await begin(intake, { key, body: lead({ last_name: "Vexworth", crm: [{ to: email }] }) }),
    await begin(forms, { key: formsKey, body: visitor({ name: "Vexworth", email: `Q <${email}>` }) }),
    await begin(forms, {
      key: formsKey,
      body: visitor({ name: "Vexworth", email, website: "https://x.example" }),
    }),
  ];
  const aside = await begin(intake, { key, body: theirs, headers: { "Idempotency-Key": used } });
  const others = await begin(intake, { key, body: lead({ email: "not.quillon@vexworth.example.net" }) });
  const { events } = await erase(databaseUrl, "--email", email);
  assert.equal(events, 0, "nothing was stored yet");

  const answers = await Promise.all(begun.map((post) => post.finish()));
  for (const { status, id } of answers) {
    assert.equal(status, 202);
    assert.deepEqual(await remains(id), erased);
  }
  assert.equal((await aside.finish()).status, 200);
  const other = await others.finish();
  assert.deepEqual(await traces(/quillon@vexworth\.example(?!\.net)|"Vexworth|Vexworth's/i), []);
  // Counts and costs are retained.
  const [counts] = await sql`
    select count(*)::int as events, sum(cost_cents)::int as cents from event where removed_by = 'erasure'`;
  assert.deepEqual({ ...counts }, { events: 6, cents: 2_500 });

  // The same lead without a key, and another one, after the erasure.
  const later = await testEnv.intake(
    { key: key.text, body: { ...theirs, note: "Vexworth, by content" } },
    server,
  );
  assert.equal(later.status, 202);
  await until(() => tier.of(later.json.event_id).length === 1 && tier.of(other.id).length === 1, {
    what: "the later lead and the other person's lead are sent",
  });
  await fixture.drained();
  for (const { id } of answers) assert.equal(tier.of(id).length, 0);
  assert.equal((await remains(later.json.event_id)).gone, false);
  // A retry is a duplicate that stores nothing, whatever its content.
  const retry = await testEnv.leavesNothing(() =>
    testEnv.intake({
      key: key.text,
      body: { ...theirs, city: "Springfield" },
      headers: { "Idempotency-Key": byKey },
    }, server)
  );
  assert.deepEqual([retry.status, retry.json.event_id], [200, answers[0]?.id]);
  await assertTally(databaseUrl);
  assert.doesNotMatch(server.output.stdout + server.output.stderr, /vexworth/i);
  await server.stop();
});

test("a phone number is matched in an arriving post in any format", async () => {
  const server = await fixture.start({ ACTIONS_URL: "" });
  const key = await testEnv.issue();
  const url = `${server.url}/v1/intake`;
  const theirs = ["(415) 867-5309", "+1 415 867 5309", "tel:415.867.5309", "٤١٥٨٦٧٥٣٠٩", "415-867-5309 x12"];
  const others = ["(415) 867-5308", "+41 5867 5309", "94158675309"];
  const post = (phone: string) => begin(url, { key, body: lead({ phone }) });
  const begun = await Promise.all([...theirs, ...others].map(post));
  await erase(databaseUrl, "--phone", "1 (415) 867-5309");
  const gone = [];
  for (const one of begun) gone.push((await remains((await one.finish()).id)).gone);
  assert.deepEqual(gone, [...theirs.map(() => true), ...others.map(() => false)]);
  await server.stop();
});

test("an erasure waits for the batch in progress and erases what it commits", async () => {
  const server = await fixture.start({ ACTIONS_URL: "" });
  const key = await testEnv.issue();
  const release = await testEnv.holdCommits();
  const posted = testEnv.intake({ key: key.text, body: lead({ email: "waits@example.org" }) }, server);
  await testEnv.untilWaiting();
  const erasing = erase(databaseUrl, "--email", "waits@example.org");
  await until(async () => {
    const [row] = await sql`
      select count(*)::int as waiting from pg_stat_activity
      where query like '%wait_for_batches%' and state = 'active' and pid <> pg_backend_pid()`;
    return row?.waiting === 1;
  }, { what: "the erasure waits for the batch" });
  await release();
  const { json } = await posted;
  assert.equal((await erasing).events, 1);
  assert.deepEqual(await remains(json.event_id), erased);
  assert.deepEqual(await traces(/waits@example\.org/), []);
  await server.stop();
});

test("an interrupted erasure ends with its lease, and tombstones expire", async () => {
  const server = await fixture.start({ ACTIONS_URL: "" });
  const key = await testEnv.issue();
  const accepted = async () => {
    const answer = await testEnv.intake({ key: key.text, body: lead({ email: "cut@example.org" }) }, server);
    assert.equal(answer.status, 202);
    return (await remains(answer.json.event_id)).gone;
  };
  const lay = (leaseMs: number, aliveMs: number) =>
    sql`select register_erasure(gen_random_uuid(), '{email cut@example.org}', ${leaseMs}, ${aliveMs})`;
  await sql`delete from tombstone`;
  await lay(60_000, 60_000);
  assert.equal(await accepted(), true);
  // The lease ends.
  await sql`update tombstone set posted_until = clock_timestamp() - interval '1 second'`;
  assert.equal(await accepted(), false);
  await sql`update tombstone set expires_at = clock_timestamp() - interval '1 second'`;
  await until(async () => (await sql`select from tombstone`).length === 0, {
    what: "maintenance deletes the tombstone",
  });
  assert.equal(await accepted(), false);

  // The digest is HMAC-SHA-256 with the key in tombstone_key.
  const [row] = await sql<{ digest: Buffer; inner_pad: Buffer; outer_pad: Buffer }[]>`
    select tombstone_digest('email ë@example.org') as digest, k.* from tombstone_key as k`;
  const secret = row?.inner_pad.map((byte) => byte ^ 0x36) ?? new Uint8Array();
  assert.deepEqual(row?.outer_pad.map((byte) => byte ^ 0x5c), secret);
  assert.deepEqual(row?.digest, createHmac("sha256", secret).update("email ë@example.org").digest());
  assert.notDeepEqual(secret, Buffer.alloc(64));
  await server.stop();
});

test("under load, posts from before an erasure leave no trace and posts from after it are stored", async (t) => {
  const chance = randomOf(t);
  const servers = [await fixture.start(), await fixture.start()];
  const key = await fixture.routed();
  const form = await testEnv.form({ tenant: key.tenant, required: ["message"] });
  const formsKey = await testEnv.issue({ tenant: key.tenant, surface: "forms" });
  const email = "canary@example.org";
  const spellings = [email, "Canary@Example.ORG", ` ${email} `];
  const posts: { readonly name: string; readonly sentAtMs: number; answeredAtMs: number }[] = [];
  const used: string[] = [];
  let isOver = false;

  const postOne = async (server: RunningServer) => {
    const name = `canary-${posts.length}-`;
    const post = { name, sentAtMs: Date.now(), answeredAtMs: Infinity };
    posts.push(post);
    const address = chance.pick(spellings);
    // Sometimes other content under a used key, which is a collision.
    const byKey = chance.oneIn(3) && used.length > 0 ? chance.pick(used) : freshKey();
    const headers: Record<string, string> = chance.oneIn(3) ? {} : { "Idempotency-Key": byKey };
    const answer = chance.oneIn(4)
      ? await testEnv.submit(form, { key: formsKey.text, body: visitor({ name, email: address }) }, server)
      : await testEnv.intake({
        key: key.text,
        body: lead({ last_name: name, email: address, project_area: name }),
        headers,
      }, server);
    assert.ok([200, 202].includes(answer.status), `${answer.status}`);
    used.push(byKey);
    // A duplicate stores its content at most as a collision.
    post.answeredAtMs = Date.now();
    return answer.status === 202 ? name : null;
  };
  const kept = new Set<string>();
  const worker = async () => {
    while (!isOver) {
      const name = await postOne(chance.pick(servers));
      if (name !== null) kept.add(name);
    }
  };
  const workers = Array.from({ length: 6 }, worker);
  let endedAtMs = 0;
  let returnedAtMs = 0;
  let events = 0;
  for (let round = 0; round < 3; round++) {
    const before = posts.length;
    await until(() => posts.length > before + 30, { what: "posts arrive", intervalMs: 5 });
    const done = await erase(databaseUrl, "--email", email);
    events += done.events;
    endedAtMs = Date.parse(done.ended_at);
    returnedAtMs = Date.now();
  }
  const before = posts.length;
  await until(() => posts.length > before + 30, { what: "posts arrive after it" });
  isOver = true;
  await Promise.all(workers);

  const found = new Map(
    (await everyValue(sql)).flatMap(({ column, text }) =>
      (text.match(/canary-\d+-/g) ?? []).map((name) => [name, column] as const)
    ),
  );
  const earlier = posts.filter(({ answeredAtMs }) => answeredAtMs <= endedAtMs);
  const later = posts.filter(({ name, sentAtMs }) => sentAtMs > returnedAtMs && kept.has(name));
  const inFlight = posts.filter(({ sentAtMs, answeredAtMs }) =>
    sentAtMs <= endedAtMs && answeredAtMs > endedAtMs
  );
  t.diagnostic(
    `${posts.length} posts, ${events} erased from the store, ${earlier.length} answered before the end, ${inFlight.length} under way then (${
      inFlight.filter(({ name }) => found.has(name)).length
    } of them new leads), ${later.length} accepted afterwards`,
  );
  assert.deepEqual(
    earlier.filter(({ name }) => found.has(name)).map(({ name }) => [name, found.get(name)]),
    [],
  );
  assert.ok(later.length > 0);
  assert.deepEqual(later.filter(({ name }) => !found.has(name)).map(({ name }) => name), []);
  const waiting = () => sql`select from outbox where tenant_id = ${key.tenant.id}`;
  await until(async () => (await waiting()).length === 0, { what: "all is delivered" });
  await assertTally(databaseUrl);
  for (const server of servers) assert.equal(await server.stop(), 0);
});
