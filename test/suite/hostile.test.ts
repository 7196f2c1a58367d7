import assert from "node:assert/strict";
import { test } from "node:test";
import { randomOf } from "../support/faults/random.ts";
import {
  formsAtLimits,
  hostileForm,
  hostileLead,
  type HostilePost,
  leadsAtLimits,
} from "../support/hostile.ts";
import { listCommands, openHostileStage, visitConsole } from "../support/hostile_stage.ts";
import { ctl, runCtl } from "../support/server.ts";
import { freshKey } from "../support/test_env.ts";
import { until } from "../support/until.ts";

const { stage, fixture, targets, on } = await openHostileStage({
  DELIVERY_ATTEMPTS_MAX: "2",
  DELIVERY_BACKOFF_BASE_MS: "100",
});
const { testEnv } = stage;
const accepted = new Map<string, string[]>();

test("hostile posts are accepted or refused with a documented response", async (t) => {
  const random = randomOf(t);
  const answers = new Map<number, number>();
  const post = async (
    kind: "lead" | "form",
    target: typeof targets[number],
    { body, headers = {} }: HostilePost,
  ) => {
    const answer = kind === "lead"
      ? await testEnv.intake({ key: target.leads.text, body, headers })
      : await testEnv.submit(target.form, { key: target.forms.text, body, headers });
    answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
    assert.ok(answer.status < 500, `${answer.text} to ${body.slice(0, 2_000)}`);
    if (answer.status !== 202) return;
    const ids = accepted.get(target.leads.tenant.slug) ?? [];
    accepted.set(target.leads.tenant.slug, [...ids, answer.json.event_id ?? answer.json.submission_id]);
  };
  for (const target of targets) {
    for (let index = 0; index < 60; index++) {
      const id = `h${index}`;
      // Sometimes the same key with other content: a collision.
      const headers = { "Idempotency-Key": random.oneIn(3) ? `key-${random.below(9)}` : freshKey() };
      await post("lead", target, { body: hostileLead(random, id), headers });
      await post("form", target, { body: hostileForm(random, id), headers });
      await post("lead", target, { body: `${hostileLead(random, id)}${random.pick(["]", "\0", '"'])}` });
    }
  }
  const [first] = targets;
  assert.ok(first);
  for (const one of leadsAtLimits("limit")) await post("lead", first, one);
  for (const one of formsAtLimits("limit")) await post("form", first, one);
  t.diagnostic(JSON.stringify([...answers]));
  for (const status of [202, 400, 413, 422]) assert.ok(answers.has(status), `a ${status}`);
  const { collisions, submissions } = await testEnv.stored();
  assert.ok(collisions > 0 && submissions > 0);
});

/** Answers with the lead, and refuses some leads until they are replayed. */
const refused = new Set<string>();
let refuses = true;
fixture.crm.answer = (response, { body, headers }) => {
  const eventId = String(headers["webhook-id"] ?? JSON.parse(body).id ?? "");
  const isRefused = refuses && eventId.endsWith("0");
  if (isRefused) refused.add(eventId);
  response.writeHead(isRefused ? 400 : 200, { "X-Echo": "\u00ff\u00ad <script>" }).end(body.slice(0, 9_000));
};

/** Resolves when no event is waiting to be delivered. */
const delivered = () =>
  until(async () => {
    const [row] = await testEnv.sql`select count(*)::int as count from outbox`;
    return row?.count === 0;
  }, { what: "the outbox is empty", intervalMs: 200 });

test("every console page opens", async () => {
  await delivered();
  assert.ok(refused.size > 0, "some leads are dead letters");
  const identifiers = ["h1", "key-1", "(555) 123-4567", "\ufdfa", "%00", "<!channel>"];
  const searches = identifiers.map((text) => `/find?q=${encodeURIComponent(text)}`);
  assert.deepEqual(await visitConsole(stage, { perPage: 1_000, from: searches }), []);
});

test("every ctl command that lists, shows or finds something succeeds", async () => {
  const run = async (...words: string[]) => {
    const { code, stderr } = await runCtl(words, on);
    assert.equal(code, 0, `ctl ${words.join(" ")}: ${stderr}`);
  };
  for (const words of await listCommands(on)) await run(...words);
  const month = new Date().toISOString().slice(0, 7);
  for (const { leads: { tenant } } of targets) {
    const statement = ["statement", "--tenant", tenant.slug, "--month", month];
    await run(...statement);
    await run(...statement, "--csv", "--contacts");
  }
  const ids = [...accepted.values()].flat();
  await run("lead", "show", ...ids);
  await run("lead", "show", ...ids, "--json");
  for (const id of [...refused].slice(0, 2)) await run("dead", "show", id);
  const collisions = await testEnv.sql<{ id: string }[]>`select id::text as id from collision order by id`;
  for (const { id } of collisions.slice(0, 2)) await run("collision", "show", id);
  // The seed decides which of the other names, addresses and keys were accepted: the posts at the limits always are.
  const [keyed] = await testEnv.sql<{ key: string }[]>`
    select idempotency_key as key from event where idempotency_key like 'key-%' limit 1`;
  assert.ok(keyed && ids[0]);
  await testEnv.indexed();
  for (const text of [keyed.key, "limit", "(555) 123-4567", "limit@example.com", ids[0]]) {
    await run("find", text);
  }
});

test("every acknowledged post is delivered, once it is released, accepted or replayed", async () => {
  const held = await testEnv.sql<{ id: string }[]>`
    select event_id as id from submission where verdict <> 'clean' order by event_id`;
  // The digest and the pages of its links read the start of each value.
  await testEnv.sql`
    select actions.digest_held(t.id, now() - interval '1 day', now() + interval '1 day') from tenant as t`;
  const [dismissed, ...released] = held.map(({ id }) => id);
  assert.ok(dismissed);
  await ctl(["form", "dismiss", dismissed], on);
  await ctl(["form", "release", ...released, "--yes"], on);
  for (const { id } of await testEnv.sql<{ id: string }[]>`select id::text as id from collision`) {
    const token = await stage.token(`/collisions/${id}`, "/collisions/settle");
    const { status } = await stage.post("/collisions/settle", [["accept", id], ["token", token]]);
    assert.equal(status, 303, id);
  }
  refuses = false;
  await ctl(["dead", "replay", "--all", "--yes"], on);
  await delivered();
  const events = await testEnv.sql<{ id: string; slug: string; isDelivered: boolean }[]>`
    select e.event_id as id, t.slug,
      exists (select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered') as "isDelivered"
    from event as e join tenant as t on t.id = e.tenant_id`;
  assert.deepEqual(events.filter(({ id, isDelivered }) => isDelivered === (id === dismissed)), []);
  const calls = (path: string) =>
    fixture.crm.calls.filter(({ url }) => url === path).map(({ headers, body }) =>
      `${headers["webhook-id"]} ${body}`
    );
  const mails = fixture.smtp.messages.map(({ raw }) => raw.replaceAll("=\r\n", ""));
  const [first] = targets;
  for (const { id, slug } of events.filter(({ id }) => id !== dismissed)) {
    const sent = slug === first?.form.tenant.slug
      ? [calls("/webhook"), calls("/slack"), mails]
      : [calls("/recipe")];
    for (const received of sent) {
      assert.ok(received.some((text) => text.includes(id)), `${id} was sent everywhere`);
    }
  }
});

test("a person with hostile posts is erased, and every page still opens", async () => {
  await ctl(["erase", "--phone", "(555) 123-4567"], on);
  await visitConsole(stage, { perPage: 30 });
});
