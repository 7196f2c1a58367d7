import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { before, test } from "node:test";
import { CheckedPost } from "../../src/actions/checked_post.ts";
import { sendWebhook, signatureHeaders, webhookBody } from "../../src/actions/destinations.ts";
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
    timeoutMs: 20_000,
    resolve: () => Promise.resolve({ addresses: ["127.0.0.1"], ttlMs: null }),
    ca: authority.pem,
  });
  const address = `https://crm.test:${crm.port}/leads?token=a%2Fb`;
  return sendWebhook(post, sending(what, { address, secrets, nowMs }));
}

test("a form submission is posted as form.submitted with its fields in submission", () => {
  const body = webhookBody(event({ kind: "form", content: '{"name":"Ada","size":1.10}' }), { isTest: false });
  assert.match(body, /^\{"type":"form\.submitted",/);
  assert.match(body, /"submission":\{"name":"Ada","size":1\.10\},/);
  assert.doesNotMatch(body, /"lead"/);
});

test("a route test has type route.test and data.test, and is otherwise a lead", () => {
  const lead = event();
  const [real, tried] = [false, true].map((isTest) => JSON.parse(webhookBody(lead, { isTest })));
  assert.deepEqual(tried, { ...real, type: "route.test", data: { ...real.data, test: true } });
});

test("the webhook is signed as Standard Webhooks specifies", async () => {
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

test("the example of Standard Webhooks gets its published signature", () => {
  const headers = signatureHeaders(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    '{"test": 2432232314}',
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    1_614_265_330_000,
  );
  assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});
