import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { before, test } from "node:test";
import { CheckedPost } from "../../src/actions/checked_post.ts";
import { crmWebhook, signatureHeaders, webhookBody } from "../../src/actions/crm_webhook.ts";
import type { DeliveredEvent } from "../../src/actions/event.ts";
import type { Outcome } from "../../src/actions/outcome.ts";
import { parseNetworks } from "../../src/http/addresses.ts";
import { Authority } from "../support/authority.ts";
import { type CrmSink, startCrm } from "../support/actions/crm_sink.ts";
import { event, sending } from "../support/actions/event.ts";

let authority: Authority;
let crm: CrmSink;
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const nowMs = Date.UTC(2026, 8, 3, 14, 5, 13);

before(async () => {
  authority = new Authority();
  crm = await startCrm(authority.issue({ name: "crm.test", use: "server" }));
});

function send(what: DeliveredEvent, secrets: readonly string[] = [secret]): Promise<Outcome> {
  const post = new CheckedPost({
    allowedNetworks: parseNetworks("127.0.0.0/8"),
    timeoutMs: 2_000,
    resolve: () => Promise.resolve({ addresses: ["127.0.0.1"], ttlMs: null }),
    ca: authority.pem,
  });
  const address = `https://crm.test:${crm.port}/leads?token=a%2Fb`;
  return crmWebhook(post).send(sending(what, { address, secrets, nowMs }));
}

test("the event is posted once, as JSON, to the path and query of the address", async () => {
  const what = event();
  assert.equal((await send(what)).kind, "done");
  const call = crm.calls.at(-1);
  assert.equal(call?.method, "POST");
  assert.equal(call?.url, "/leads?token=a%2Fb");
  assert.equal(call?.headers.host, `crm.test:${crm.port}`);
  assert.equal(call?.headers["content-type"], "application/json");
  assert.equal(call?.headers["content-length"], String(Buffer.byteLength(call?.body ?? "")));
  assert.deepEqual(JSON.parse(call?.body ?? ""), {
    type: "lead.accepted",
    timestamp: "2026-09-03T14:05:12.345Z",
    data: {
      event_id: what.eventId,
      tenant: "acme",
      source: "partner-x",
      received_at: "2026-09-03T14:05:12.345Z",
      lead: {
        first_name: "Ada",
        last_name: "Lovelace",
        phone: "+15551234567",
        email: "ada@example.com",
        country: "US",
      },
      extra: {},
      flags: [],
    },
  });
});

test("a form submission is posted as form.submitted, with its fields under submission", () => {
  const body = webhookBody(event({ kind: "form", content: '{"name":"Ada","size":1.10}' }), { isTest: false });
  assert.match(body, /^\{"type":"form\.submitted",/);
  assert.match(body, /"submission":\{"name":"Ada","size":1\.10\},/);
  assert.doesNotMatch(body, /"lead"/);
});

test("a test of the route says so in its type and in its data, which is a lead's otherwise", () => {
  const lead = event();
  const [real, tried] = [false, true].map((isTest) => JSON.parse(webhookBody(lead, { isTest })));
  assert.deepEqual(tried, { ...real, type: "route.test", data: { ...real.data, test: true } });
});

test("digits, escapes and member names of extra arrive as they were sent", async () => {
  const extra = '{"n":12345678901234567890,"p":1.10,"z":"a\\u0000b","__proto__":{"x":1e400}, "a b" : [ ] }';
  await send(event({ extra }));
  assert.ok(crm.calls.at(-1)?.body.includes(`"extra":${extra},"flags"`));
});

test("the signature verifies as the Standard Webhooks specification says", async () => {
  const what = event();
  await send(what);
  const call = crm.calls.at(-1);
  assert.ok(call);
  const { headers, body } = call;
  assert.equal(headers["webhook-id"], what.eventId);
  assert.equal(headers["webhook-timestamp"], String(nowMs / 1000));
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = `${what.eventId}.${nowMs / 1000}.${body}`;
  assert.equal(
    headers["webhook-signature"],
    `v1,${createHmac("sha256", key).update(signed, "utf8").digest("base64")}`,
  );
});

test("the signature of the specification's example is the specification's", () => {
  const headers = signatureHeaders(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    '{"test": 2432232314}',
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    1_614_265_330_000,
  );
  assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("while a secret is being rotated there is a signature for each", async () => {
  const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  await send(event(), [other, secret]);
  const [first, second, ...more] = String(crm.calls.at(-1)?.headers["webhook-signature"]).split(" ");
  assert.match(first ?? "", /^v1,/);
  assert.match(second ?? "", /^v1,/);
  assert.notEqual(first, second);
  assert.deepEqual(more, []);
});
