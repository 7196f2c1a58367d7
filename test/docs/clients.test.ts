import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClientLanguage, clients } from "../../src/documents/clients.ts";
import { clientIdempotencyKey } from "../../src/documents/snippets.ts";
import { openFront, runClient } from "../support/docs/clients.ts";
import { isSkipped } from "../../scripts/test_plan.ts";
import { TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const { url } = await testEnv.start();
const key = await testEnv.issue();
const brief = (await testEnv.send("/api/INTEGRATION.md")).text;
const languages = Object.keys(clients) as ClientLanguage[];

test("the brief has a client in each of the languages tested here", () => {
  assert.deepEqual(languages, ["TypeScript", "Python", "Go", "PHP", "Ruby"]);
  for (const language of languages) {
    const { fence, files } = clients[language];
    assert.ok(brief.includes(`<details name="client"><summary>${language}</summary>`));
    for (const text of files(url)) assert.ok(brief.includes(`\`\`\`${fence}\n${text}\`\`\``), language);
  }
});

/** With two tries instead of eight, so that giving up is quick. */
const twoTries = (text: string) => text.replace(/((?:failures ={2,3}|triesMax =) )8\b/, "$12");

for (const language of languages) {
  if (isSkipped(`test/docs/clients: ${language}`)) continue;
  const named = (text: string) => text.replaceAll(clientIdempotencyKey, `acme:lead:${language}`);
  const run = (edit = named, options: { baseUrl?: string; key?: string } = {}) =>
    runClient(language, { baseUrl: url, key: key.text, edit, ...options });

  test(`${language}: the lead is accepted and its repeat is a duplicate`, async () => {
    const sent = await run();
    assert.match(sent.stdout, /^accepted [0-9a-z]+ \[\]\n$/, sent.stderr);
    assert.deepEqual([sent.code, sent.stderr], [0, ""]);
    assert.equal((await run()).stdout, sent.stdout.replace("accepted", "duplicate"));
  });

  test(`${language}: a 422 is not retried and reports fields and detail`, async () => {
    const front = await openFront(url, []);
    const misspelled = (text: string) => named(text).replace(/(["' {])last_name/g, "$1surname");
    const refused = await testEnv.leavesNothing(() => run(misspelled, { baseUrl: front.url }));
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, "");
    assert.match(refused.stderr, /not sent: 422 validation_failed, request [0-9a-z]+/);
    assert.match(refused.stderr, /\Wlast_name\W.*required.*surname is no field of a lead; last_name is/s);
    assert.equal(front.asked.filter(({ body }) => body !== "{}").length, 1);
  });

  test(`${language}: a 401 alerts a person once and never prints the key`, async () => {
    const front = await openFront(url, []);
    const refused = await run(named, { baseUrl: front.url, key: "lead_live_mistyped" });
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /The key is not accepted: alert a person/);
    assert.doesNotMatch(refused.stdout + refused.stderr, /mistyped/);
    assert.equal(front.asked.length, 1);
  });

  test(`${language}: after 429, 503, a cut connection and a truncated response, the lead is accepted under one Idempotency-Key`, async () => {
    const front = await openFront(url, [
      // One client checks its key first.
      ...(language === "TypeScript" ? [{ status: 422 }] : []),
      { status: 429, headers: { "Retry-After": "1" }, body: '{"error":"rate_limited"}' },
      { status: 503, headers: { "Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT" } },
      null,
      { status: 202, body: '{"event_id":' },
    ]);
    const another = (text: string) => text.replaceAll(clientIdempotencyKey, `acme:retried:${language}`);
    const sent = await run(another, { baseUrl: front.url });
    assert.match(sent.stdout, /^accepted [0-9a-z]+ \[\]\n$/, sent.stderr);
    const posts = front.asked.filter(({ body }) => body !== "{}");
    assert.equal(posts.length, 5);
    for (const { headers, body } of posts) {
      assert.equal(headers["idempotency-key"], `acme:retried:${language}`);
      assert.equal(headers["x-api-key"], key.text);
      assert.equal(body, posts[0]?.body);
    }
    const waitedMs = (posts[1]?.atMs ?? 0) - (posts[0]?.atMs ?? 0);
    assert.ok(waitedMs >= 999, `${waitedMs} ms after a Retry-After of 1`);
  });

  test(`${language}: a Retry-After of years counts as a day`, async () => {
    const front = await openFront(url, [
      ...(language === "TypeScript" ? [{ status: 422 }] : []),
      { status: 429, headers: { "Retry-After": "9".repeat(400) }, body: '{"error":"rate_limited"}' },
    ]);
    // A second instead of a day.
    const impatient = (text: string) =>
      text.replaceAll(clientIdempotencyKey, `acme:day:${language}`).replace("86_400", "1");
    const sent = await run(impatient, { baseUrl: front.url });
    assert.match(sent.stdout, /^accepted [0-9a-z]+ \[\]\n$/, sent.stderr);
    const [first, second] = front.asked.filter(({ body }) => body !== "{}");
    const waitedMs = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    assert.ok(waitedMs >= 999, `${waitedMs} ms`);
  });

  test(`${language}: a 429 does not count as a try, and the last response is reported`, async () => {
    const front = await openFront(url, [
      ...(language === "TypeScript" ? [{ status: 422 }] : []),
      { status: 429 },
      { status: 503 },
      { status: 503, headers: { "X-Request-Id": "the-last" }, body: '{"error":"not_accepting"}' },
    ]);
    const refused = await run((text) => twoTries(named(text)), { baseUrl: front.url });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /not sent: 503 not_accepting, request the-last/);
    assert.equal(front.asked.filter(({ body }) => body !== "{}").length, 3);
  });

  test(`${language}: a redirect is not followed, so the key is sent nowhere else`, async () => {
    const elsewhere = await openFront(url, []);
    const moved = { status: 307, headers: { Location: `${elsewhere.url}/v1/intake` } };
    const front = await openFront(url, [...(language === "TypeScript" ? [{ status: 422 }] : []), moved]);
    const refused = await run(named, { baseUrl: front.url });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /not sent: 307 /);
    assert.equal(elsewhere.asked.length, 0);
  });
}
