import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { openSession, type StripeBounds, StripeClient } from "../../src/plans/stripe_client.ts";
import type { Sale } from "../../src/store/serving/checkout.ts";
import { Authority } from "../support/authority.ts";
import { type Fault, StripeServer } from "../support/plans/stripe_server.ts";
import { atEnd } from "../support/at_end.ts";

const authority = new Authority();
const issued = authority.issue({ name: "localhost", use: "server" });
const stripe = await StripeServer.open();
const secure = await StripeServer.open({ tls: issued });
afterEach(() => stripe.clear());

// Short waits and long tries; only the test of a hang shortens the tries.
const bounds: Partial<StripeBounds> = { waitMs: 1, waitMaxMs: 5, tryMs: 5_000, callMs: 20_000 };

function client(
  options: { url?: string; secretKey?: string; ca?: string; bounds?: Partial<StripeBounds> } = {},
) {
  const made = new StripeClient({
    apiUrl: options.url ?? stripe.url,
    secretKey: options.secretKey ?? stripe.secretKey,
    random: () => 0.5,
    nowMs: () => performance.now(),
    bounds: { ...bounds, ...options.bounds },
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  atEnd(() => made.close());
  return made;
}

let sales = 0;
const sale = (members: Partial<Sale> = {}): Sale => ({
  id: `00000000-0000-4000-8000-${String(++sales).padStart(12, "0")}`,
  planSlug: "basic",
  planName: "Básico & more = 100%",
  amountCents: 2900,
  interval: "month",
  ...members,
});
const urls = {
  successUrl: "https://shop.example/thanks?session={CHECKOUT_SESSION_ID}",
  cancelUrl: "https://shop.example/plans",
};
const buyer = { email: "ada+test@example.com", urls };
const open = (one: Sale, made = client()) => openSession(made, one, buyer);

const apiError = { type: "api_error", message: "Something went wrong" };
/** Returns a response that is sent before anything is done. */
const answered = (
  status: number,
  parts: Omit<Fault & { kind: "answer" }, "kind" | "status"> = {},
): Fault => ({
  kind: "answer",
  status,
  ...parts,
});
const retried: readonly (readonly [string, readonly Fault[]])[] = [
  ["a reset before anything was done", [{ kind: "reset" }]],
  ["a reset after the session was made", [{ kind: "reset_after" }]],
  ["429 lock_timeout", [answered(429, { error: { code: "lock_timeout" }, headers: { "Retry-After": "1" } })]],
  ["409 idempotency_key_in_use", [answered(409, { error: { code: "idempotency_key_in_use" } })]],
  ["502 without JSON, 503, and a reset", [
    answered(502, { text: "<html>" }),
    answered(503, { error: apiError }),
    { kind: "reset" },
  ]],
  ["400 with Stripe-Should-Retry: true", [
    answered(400, { error: apiError, headers: { "Stripe-Should-Retry": "true" } }),
  ]],
];
for (const [what, faults] of retried) {
  test(`after ${what}, the retry reuses the idempotency key and one session exists`, async () => {
    stripe.fail(...faults);
    const one = sale();
    const outcome = await open(one);
    assert.ok(outcome.kind === "open", JSON.stringify(outcome));
    assert.equal(stripe.sessions.size, 1);
    assert.ok(stripe.sessions.has(outcome.session.sessionId));
    assert.equal(stripe.calls.length, faults.length + 1);
    for (const call of stripe.calls) {
      assert.equal(call.headers["idempotency-key"], one.id);
      assert.deepEqual(call.form, stripe.calls[0]?.form);
    }
  });
}

test("a Retry-After is capped at the longest wait, however many digits it has", async () => {
  // The longest wait does not fit into the call, so the call ends instead of waiting.
  const patient = { waitMaxMs: 30_000 };
  for (const seconds of ["1000", "9999999999", "9".repeat(400)]) {
    stripe.clear();
    stripe.fail(answered(503, { error: apiError, headers: { "Retry-After": seconds } }));
    const outcome = await open(sale(), client({ bounds: patient }));
    assert.deepEqual([outcome.kind, stripe.calls.length], ["not_now", 1], seconds);
  }
  for (const invalid of ["-1", "1e9", "soon"]) {
    stripe.clear();
    stripe.fail(answered(503, { error: apiError, headers: { "Retry-After": invalid } }));
    assert.equal((await open(sale(), client({ bounds: patient }))).kind, "open", invalid);
  }
});

const wrongParameter = {
  type: "invalid_request_error",
  code: "parameter_invalid_integer",
  param: "line_items[0][x]",
};
const sessionAt = (url: string) => answered(200, { text: `{"id":"cs_1","url":"${url}"}` });
// The suite's checkouts prove what a caller gets.
const refused: readonly (readonly [string, Fault, object])[] = [
  ["400 of a parameter", answered(400, { error: { ...wrongParameter, message: "m" } }), wrongParameter],
  ["a redirect", answered(302, { headers: { Location: "https://evil.example/" }, text: "" }), {
    type: "unexpected_answer",
    status: 302,
  }],
  ["200 without JSON", answered(200, { text: "ok" }), { type: "unexpected_answer" }],
  ["a session whose address is not https", sessionAt("javascript:alert(1)"), { type: "no_session" }],
  ["a session with a malformed address", sessionAt("https://checkout.stripe.com/a\\u0000b"), {
    type: "no_session",
  }],
  [
    "a session with a longer address than any of Stripe's",
    sessionAt(`https://checkout.stripe.com/${"a".repeat(5_000)}`),
    { type: "no_session" },
  ],
];
for (const [what, fault, members] of refused) {
  test(`${what} is final: one call, no redirect followed`, async () => {
    stripe.fail(fault);
    const outcome = await open(sale());
    assert.ok(outcome.kind === "refused", outcome.kind);
    assert.partialDeepStrictEqual(outcome.failure, members);
    assert.equal(stripe.calls.length, 1);
  });
}

test("an email address that Stripe rejects is recognized by code or parameter", async () => {
  for (const email of ["ä@example.com", "a@b_c.d"]) {
    const outcome = await openSession(client(), sale(), { email, urls });
    if (outcome.kind !== "open") assert.deepEqual(outcome, { kind: "email_refused" });
  }
  stripe.fail(answered(400, { error: { type: "invalid_request_error", param: "customer_email" } }));
  assert.deepEqual(await open(sale()), { kind: "email_refused" });
});

test("a response over the maximum size is not buffered", async () => {
  stripe.fail(answered(200, { text: " ".repeat(600_000) }));
  assert.equal((await open(sale())).kind, "open");
  assert.equal(stripe.calls.length, 2);
});

test("over HTTPS, nothing is sent to a server with an untrusted certificate", async () => {
  assert.equal((await open(sale(), client({ url: secure.url, ca: authority.pem }))).kind, "open");
  const { length } = secure.calls;
  const stranger = await open(sale(), client({ url: secure.url }));
  assert.ok(stranger.kind === "not_now" && !stranger.isFinal);
  const otherName = await open(
    sale(),
    client({ url: secure.url.replace("localhost", "127.0.0.2"), ca: authority.pem }),
  );
  assert.equal(otherName.kind, "not_now");
  assert.equal(secure.calls.length, length);
});

// Last, because an abandoned try may still arrive and take the next test's fault.
test("when every try hangs, the call ends within its deadline with an unknown outcome", async () => {
  stripe.fail(...Array.from({ length: 10 }, () => ({ kind: "hang" }) as const));
  const outcome = await open(sale(), client({ bounds: { tryMs: 100, callMs: 400, triesMax: 9 } }));
  assert.ok(outcome.kind === "not_now" && !outcome.isFinal);
  assert.equal(outcome.failure.type, "ETIMEDOUT");
  assert.ok(stripe.calls.length >= 2 && stripe.calls.length <= 4);
});
