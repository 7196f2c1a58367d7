import assert from "node:assert/strict";
import { hostname, userInfo } from "node:os";
import { test } from "node:test";
import { send } from "../support/client.ts";
import { plain as plainText } from "../support/console/plain.ts";
import { ConsoleStage } from "../support/console/stage.ts";
import { ctl, runCtl } from "../support/server.ts";
import { lead } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const proxy = "127.0.0.9";
const host = "ops.example";
const { stage, fixture, env } = await ConsoleStage.openWithActions({
  OPS_URL: `https://${host}`,
  OPS_TRUSTED_PROXIES: `${proxy}/32`,
});
const { testEnv } = stage;
const on = { databaseUrl: fixture.databaseUrl, env };
const account = `${userInfo().username}@${hostname()}`;
const [acme] = await testEnv.sql<{ id: number }[]>`select id from tenant where slug = 'acme'`;
const key = await testEnv.issue({ tenant: { id: acme?.id ?? 0, slug: "acme" } });

const plain = (text: string) => plainText({ text: text.replaceAll(/<\/(td|h\d|strong|span)>/g, " ") });
const page = async (id: string) => plain((await stage.get(`/leads/${id}`)).text);
const show = async (id: string, ...options: string[]) =>
  (await runCtl(["lead", "show", id, ...options], on)).stdout.replaceAll(/\s+/g, " ");

/** Waits until the page and ctl show each of these sentences about an event. */
async function shows(id: string, ...sentences: readonly RegExp[]): Promise<void> {
  let texts: readonly string[] = [];
  const showAll = async () => {
    texts = [await page(id), await show(id)];
    return texts.every((text) => sentences.every((sentence) => sentence.test(text)));
  };
  await until(showAll).catch(() => {
    for (const text of texts) for (const sentence of sentences) assert.match(text, sentence);
  });
}

/** Makes the CRM refuse leads for good, with a response that quotes them. */
function refuse(): void {
  fixture.crm.answer = (response) =>
    response.writeHead(422, {
      "Content-Type": "text/plain",
      "X-Acme-Request-Id": "req-of-Zquoted",
      "X-RateLimit-Remaining": "7",
      "Set-Cookie": "session=hunter2",
    }).end("Zquoted is refused");
}
const accept = () =>
  fixture.crm.answer = (response) => response.writeHead(201, { "X-Request-Id": "req-2" }).end("welcome");

/** Posts a lead that the CRM refuses, and waits until it is dead. */
async function deadLead(): Promise<string> {
  refuse();
  const id = await testEnv.accept(key, { last_name: "Zquoted" });
  await shows(id, /CRM to localhost:\d+: refused/);
  await until(async () => /dead Delivery failed/.test(await page(id)));
  return id;
}

/** Posts a form of an event's page through the peer at an address, with this `X-Forwarded-User`. */
async function act(
  id: string,
  path: string,
  { fields, user, peer }: {
    readonly fields: readonly (readonly [string, string])[];
    readonly user: string;
    readonly peer: string;
  },
): Promise<void> {
  const token = await stage.token(`/leads/${id}`, path);
  const { status, text } = await send(`${stage.url}${path}`, {
    method: "POST",
    // As bytes, so that Node's client does not encode the header's bytes again.
    body: new TextEncoder().encode(
      new URLSearchParams([...fields, ["token", token]] as [string, string][]).toString(),
    ),
    headers: {
      "Host": host,
      "Origin": `https://${host}`,
      "Sec-Fetch-Site": "same-origin",
      "Content-Type": "application/x-www-form-urlencoded",
      "X-Forwarded-User": Buffer.from(user).toString("latin1"),
    },
    localAddress: peer,
  });
  assert.equal(status, 303, text);
}

test("a lead's page and ctl lead show tell what was answered, replayed and sent again, and by whom, until it is erased", async () => {
  const id = await deadLead();
  await shows(
    id,
    /Attempt 1: refused/,
    /Email to s…@acme\.example done 250 /,
    /CRM to localhost:\d+ refused 422 .*http_422.* x-acme-request-id: req-of-Zquoted x-ratelimit-remaining: 7 Zquoted is refused/,
  );

  const { idempotency_key: idempotencyKey } = await ctl(["lead", "show", id], on);
  const headers = { "Idempotency-Key": idempotencyKey };
  for (const city of ["", "Springfield"]) {
    const members = { last_name: "Zquoted", ...(city === "" ? {} : { city }) };
    assert.equal((await testEnv.intake({ key: key.text, body: lead(members), headers })).status, 200);
  }
  await shows(
    id,
    /Duplicate.* with the same Idempotency-Key/,
    /Another lead was posted with the same Idempotency-Key/,
  );

  accept();
  const asAlice = { user: "Ålice <ops>", peer: proxy };
  await act(id, "/dead/replay", { fields: [["only", id], ["page", "lead"]], ...asAlice });
  await shows(
    id,
    /Replayed by Ålice <ops>/,
    /Attempt 2: delivered/,
    /CRM to localhost:\d+: done/,
    /x-request-id: req-2 welcome/,
  );
  const fields = [["only", id], ["effect", "crm"], ["seen", "2"]] as const;
  await act(id, "/leads/send-again", { fields, user: "mallory", peer: "127.0.0.1" });
  await shows(id, /Sent again by console/, /Attempt 3: delivered/);
  const again = { key: key.text, body: lead({ last_name: "Zquoted" }), headers };
  await Promise.all(Array.from({ length: 60 }, () => testEnv.intake(again)));
  await shows(id, /\d\d\+ older entries left out/, /Attempt 1: refused/, /Another lead/, /Replayed by Ålice/);
  assert.deepEqual((await stage.audit()).map(({ claimed }) => claimed), ["Ålice <ops>", "console"]);
  assert.match(plain((await stage.get("/audit")).text), /Ålice <ops>/);
  assert.match((await runCtl(["audit", "list"], on)).stdout, /Ålice <ops>/);
  for (const text of [(await stage.get(`/leads/${id}`)).text, await show(id, "--json")]) {
    assert.doesNotMatch(text, /hunter2|mallory/);
  }

  await ctl(["erase", "--event", id], on);
  await shows(id, new RegExp(`Erased by ${account}`), /Replayed by Ålice/, /Attempt 3: delivered/);
  for (const text of [(await stage.get(`/leads/${id}`)).text, await show(id, "--json")]) {
    assert.doesNotMatch(text, /Zquoted|welcome|req-/);
  }
  assert.equal((await stage.get(`/leads/${id}/sent`)).status, 404);
});

test("a dead letter that is marked as done is never shown or counted as delivered, and nothing is sent", async () => {
  const id = await deadLead();
  accept();
  const calls = fixture.crm.calls.length;
  assert.deepEqual(await ctl(["dead", "done", id], on), { done: [id] });
  await shows(
    id,
    new RegExp(`Marked as done by ${account}, nothing was sent`),
    new RegExp(
      `CRM to localhost:\\d+ marked as done by ${account}, nothing was sent, .*the last response was 422`,
    ),
    /An operator marked it as done\. Nothing was sent then\./,
    /Email to s…@acme\.example done 250/,
  );
  for (const text of [await page(id), await show(id)]) {
    assert.doesNotMatch(text, /delivered|CRM to localhost:\d+:? done/i);
  }
  const { delivery, effects } = await ctl(["lead", "show", id], on);
  assert.equal(delivery.state, "marked");
  assert.deepEqual(delivery.attempts.map((one: { outcome: string }) => one.outcome), ["refused", "marked"]);
  assert.deepEqual(effects.map((one: { state: string }) => one.state), ["marked", "done"]);
  assert.match((await stage.get("/leads?state=marked")).text, new RegExp(id));
  assert.doesNotMatch((await stage.get("/leads?state=delivered")).text, new RegExp(id));
  assert.equal(fixture.crm.calls.length, calls);
  assert.match((await runCtl(["dead", "done", id], on)).stderr, /\(marked\)/, "not twice");
  const reported = async () => {
    await testEnv.sql`select roll_up_hours(100)`;
    const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const { json } = await stage.get(`/v1/report?since=${since}`);
    return json.rows.reduce((sum: number, row: { delivered: number }) => sum + row.delivered, 0);
  };
  // Later, when the hour of the lead is final.
  await testEnv.setClock(new Date(Date.now() + 2 * 3_600_000).toISOString());
  const before = await reported();
  const [{ delivered } = { delivered: 0 }, ...others] = await testEnv.sql<{ delivered: number }[]>`
    select coalesce(sum(s.value::int), 0)::int as delivered
    from hour_figures(now() - interval '1 day', now() + interval '1 day') as h
    cross join json_each_text(h.seconds) as s`;
  const [{ count } = { count: -1 }] = await testEnv.sql<{ count: number }[]>`
    select count(distinct event_id)::int as count from attempt where outcome = 'delivered'`;
  assert.deepEqual([delivered, others], [count, []]);

  await act(id, "/leads/send-again", {
    fields: [["only", id], ["effect", "crm"], ["seen", "2"]],
    user: "bo",
    peer: proxy,
  });
  await shows(id, /Sent again by bo/, /Attempt 3: delivered/, /CRM to localhost:\d+ done 201/);
  assert.equal(await reported(), before + 1, "once it was sent, it counts as delivered");
  await testEnv.setClock(null);
});

test("what is sent is rendered again with secrets masked, and says so when the actions process is down", async () => {
  accept();
  const id = await testEnv.accept(key, { last_name: "Zpreviewed" });
  await shows(id, /CRM to localhost:\d+: done/);
  const before = [fixture.crm.calls.length, fixture.smtp.messages.length, await stage.everything()];
  assert.match((await stage.get(`/leads/${id}`)).text, new RegExp(`href="/leads/${id}/sent"`));
  const texts = async () => [plain((await stage.get(`/leads/${id}/sent`)).text), await show(id, "--sent")];
  for (const text of await texts()) {
    assert.match(
      text,
      /POST https:\/\/localhost:\d+\/hook .*webhook-signature: \*\*\*.*"last_name": "Zpreviewed"/,
    );
    assert.match(text, /SMTP mailto:s…@acme\.example To: s…@acme\.example Subject: .* Zpreviewed/);
    assert.doesNotMatch(text, /whsec_|sales@acme/);
  }
  assert.deepEqual(
    [fixture.crm.calls.length, fixture.smtp.messages.length, await stage.everything()],
    before,
  );
  await fixture.actions.stop();
  for (const text of await texts()) assert.match(text, /The actions process .*does not respond/);
  await shows(id, /Attempt 1: delivered/);
});

test("a long timeline keeps its first entry and the newest fifty, and counts the others", async () => {
  // Without a route, nothing is delivered.
  const id = await testEnv.accept(await testEnv.issue());
  await testEnv.sql`
    insert into attempt (event_id, number, at, outcome, reason, spent)
    select ${id}, n, now() + n * interval '1 minute', 'refused', 'crm_unauthorized', false from generate_series(1, 70) as n`;
  const texts = [await page(id), await show(id)];
  for (const text of texts) {
    assert.match(
      text,
      /Received and committed.*20 older entries left out.*Attempt 21: refused.*Attempt 70: refused/,
    );
    assert.doesNotMatch(text, /Attempt 20: /);
  }
});
