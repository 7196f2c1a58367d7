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

// The waits are short and the tries have time: only a test of a hang shortens those.
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
const retried: readonly (readonly [string, readonly Fault[]])[] = [
  ["a reset before anything was done", [{ kind: "reset" }]],
  ["a reset after the session was made", [{ kind: "reset_after" }]],
  ["429 lock_timeout", [{
    kind: "answer",
    status: 429,
    error: { type: "invalid_request_error", code: "lock_timeout", message: "locked" },
    headers: { "Retry-After": "1" },
  }]],
  ["409 idempotency_key_in_use", [{
    kind: "answer",
    status: 409,
    error: { type: "idempotency_error", code: "idempotency_key_in_use" },
  }]],
  ["502 without JSON, 503, and a reset", [
    { kind: "answer", status: 502, text: "<html>" },
    { kind: "answer", status: 503, error: apiError },
    { kind: "reset" },
  ]],
  ["400 with Stripe-Should-Retry: true", [{
    kind: "answer",
    status: 400,
    error: apiError,
    headers: { "Stripe-Should-Retry": "true" },
  }]],
];
for (const [what, faults] of retried) {
  test(`after ${what} the same call is made again under the same key, and there is one session`, async () => {
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

const refused: readonly (readonly [string, Fault, string, object])[] = [
  [
    "400 of a parameter",
    {
      kind: "answer",
      status: 400,
      error: {
        type: "invalid_request_error",
        code: "parameter_invalid_integer",
        param: "line_items[0][x]",
        message: "m",
      },
    },
    "refused",
    { type: "invalid_request_error", code: "parameter_invalid_integer", param: "line_items[0][x]" },
  ],
  ["402", { kind: "answer", status: 402, error: { type: "card_error", code: "card_declined" } }, "refused", {
    type: "card_error",
  }],
  ["404", { kind: "answer", status: 404, error: { type: "invalid_request_error" } }, "refused", {}],
  [
    "a redirect",
    { kind: "answer", status: 302, headers: { "Location": "https://evil.example/" }, text: "" },
    "refused",
    {
      type: "unexpected_answer",
      status: 302,
    },
  ],
  ["200 without JSON", { kind: "answer", status: 200, text: "ok" }, "refused", { type: "unexpected_answer" }],
  ["200 without a session", { kind: "answer", status: 200, text: '{"id":"cs_1"}' }, "refused", {
    type: "no_session",
  }],
  [
    "a session whose address is no https",
    {
      kind: "answer",
      status: 200,
      text: '{"id":"cs_1","url":"javascript:alert(1)"}',
    },
    "refused",
    { type: "no_session" },
  ],
  [
    "a session whose address would have to be mended",
    { kind: "answer", status: 200, text: '{"id":"cs_1","url":"https://checkout.stripe.com/a\\u0000b"}' },
    "refused",
    { type: "no_session" },
  ],
  [
    "a session whose address is longer than any of Stripe's",
    {
      kind: "answer",
      status: 200,
      text: `{"id":"cs_1","url":"https://checkout.stripe.com/${"a".repeat(5_000)}"}`,
    },
    "refused",
    { type: "no_session" },
  ],
  ["401", { kind: "answer", status: 401, error: { type: "invalid_request_error" } }, "not_now", {
    status: 401,
  }],
  [
    "500 with Stripe-Should-Retry: false",
    {
      kind: "answer",
      status: 500,
      error: apiError,
      headers: { "Stripe-Should-Retry": "false" },
    },
    "not_now",
    { type: "api_error" },
  ],
];
for (const [what, fault, kind, members] of refused) {
  test(`${what} is final: one call, no redirect followed`, async () => {
    stripe.fail(fault);
    const outcome = await open(sale());
    assert.equal(outcome.kind, kind);
    assert.ok("failure" in outcome);
    for (const [name, value] of Object.entries(members)) {
      assert.equal(outcome.failure[name as keyof typeof outcome.failure], value, name);
    }
    if (outcome.kind === "not_now") assert.ok(outcome.isFinal);
    assert.equal(stripe.calls.length, 1);
    assert.doesNotMatch(JSON.stringify(outcome), /Something went wrong|sk_test/);
  });
}

test("an address that Stripe does not take is told apart, by code or by parameter", async () => {
  for (const email of ["ä@example.com", "a@b_c.d"]) {
    const outcome = await openSession(client(), sale(), { email, urls });
    if (outcome.kind !== "open") assert.deepEqual(outcome, { kind: "email_refused" });
  }
  stripe.fail({
    kind: "answer",
    status: 400,
    error: { type: "invalid_request_error", param: "customer_email" },
  });
  assert.deepEqual(await open(sale()), { kind: "email_refused" });
});

test("an answer that is too large is not held", async () => {
  stripe.fail({ kind: "answer", status: 200, text: " ".repeat(600_000) });
  assert.equal((await open(sale())).kind, "open");
  assert.equal(stripe.calls.length, 2);
});

test("over HTTPS the certificate is checked: by a stranger's authority nothing is sent", async () => {
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

test("a wrong key gets 401, and nothing of the key or of Stripe's text is in what may be logged", async () => {
  const outcome = await open(sale(), client({ secretKey: "sk_test_wrongwrongwrong" }));
  assert.ok(outcome.kind === "not_now" && outcome.isFinal);
  assert.match(String(outcome.failure.stripeRequestId), /^req_/);
  assert.doesNotMatch(JSON.stringify(outcome), /wrongwrong|Invalid API Key|p7dc/);
});

// Last: a try that was given up may still arrive, and would take the fault of the next test.
test("when every try hangs the call ends within its bound, and its outcome is unknown", async () => {
  stripe.fail(...Array.from({ length: 10 }, () => ({ kind: "hang" }) as const));
  const outcome = await open(sale(), client({ bounds: { tryMs: 100, callMs: 400, triesMax: 9 } }));
  assert.ok(outcome.kind === "not_now" && !outcome.isFinal);
  assert.equal(outcome.failure.type, "ETIMEDOUT");
  assert.ok(stripe.calls.length >= 2 && stripe.calls.length <= 4);
});
