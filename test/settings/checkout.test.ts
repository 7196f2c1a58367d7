import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../src/settings/config.ts";
import { ConfigError } from "../../src/settings/reader.ts";

const minimal = { DATABASE_URL: "postgres://service@db.internal/leads" };
const whole = {
  CHECKOUT_ORIGINS: "https://shop.example, http://localhost:3000",
  CHECKOUT_SUCCESS_URL: "https://shop.example/thanks?id={CHECKOUT_SESSION_ID}",
  CHECKOUT_CANCEL_URL: "https://shop.example/plans",
  STRIPE_SECRET_KEY: "sk_test_hunter2",
  STRIPE_WEBHOOK_SECRET: "whsec_hunter3",
};

const read = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...minimal, ...environment }).checkout;

function faults(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    read(environment);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.doesNotMatch(error.message, /hunter/);
    return error.faults;
  }
}

test("without settings, or with empty ones, there is no checkout", () => {
  assert.equal(read({}), null);
  assert.equal(read({ CHECKOUT_ORIGINS: "", STRIPE_SECRET_KEY: " " }), null);
});

test("a partly configured checkout reports everything missing at once", () => {
  assert.deepEqual(faults({ STRIPE_SECRET_KEY: "sk_test_hunter2" }), [
    "STRIPE_WEBHOOK_SECRET is not set; the checkout requires it",
    "CHECKOUT_SUCCESS_URL is not set; the checkout requires it",
    "CHECKOUT_CANCEL_URL is not set; the checkout requires it",
    "CHECKOUT_ORIGINS is not set; the checkout requires it",
  ]);
  for (const name of Object.keys(whole)) {
    const { [name as keyof typeof whole]: _, ...rest } = whole;
    assert.match(faults(rest).join("\n"), new RegExp(`^${name} is not set; [^\n]*$`));
  }
  assert.deepEqual(faults({ STRIPE_API_URL: "https://api.stripe.com" }), [
    "STRIPE_API_URL is set without STRIPE_SECRET_KEY",
  ]);
});

test("an invalid origin is quoted in its error", () => {
  for (
    const origin of [
      "shop.example",
      "https://shop.example/",
      "https://Shop.example",
      "https://shop.example:443",
      "https://shop.example/path",
      "https://*.shop.example",
      "https://user@shop.example",
      "*",
      "null",
      "ftp://shop.example",
    ]
  ) {
    const found = faults({ CHECKOUT_ORIGINS: `https://good.example,${origin}` });
    assert.match(String(found), /^CHECKOUT_ORIGINS: ".*" is not an origin such as/, origin);
  }
  assert.deepEqual(faults({ CHECKOUT_ORIGINS: " , " }), ["CHECKOUT_ORIGINS contains no origin"]);
  assert.match(String(faults({ CHECKOUT_ORIGINS: "http://shop.example" })), /must use https: unless/);
  assert.deepEqual(faults({ CHECKOUT_ORIGINS: "http://[::1]:8080" }), []);
});

test("addresses must be https or loopback, and keys of the wrong kind are rejected", () => {
  for (
    const [name, value, fault] of [
      ["STRIPE_API_URL", "http://api.stripe.com", /must use https: unless/],
      ["STRIPE_API_URL", "https://api.stripe.com/v1", /is not a base URL/],
      ["STRIPE_API_URL", "https://hunter2@api.stripe.com", /is not a base URL/],
      ["CHECKOUT_SUCCESS_URL", "/thanks", /CHECKOUT_SUCCESS_URL is not a URL/],
      [
        "CHECKOUT_SUCCESS_URL",
        "http://shop.example/thanks",
        /CHECKOUT_SUCCESS_URL must use https: unless/,
      ],
      ["CHECKOUT_CANCEL_URL", "javascript:alert(1)", /CHECKOUT_CANCEL_URL is not a URL/],
      ["STRIPE_SECRET_KEY", "pk_test_hunter2", /STRIPE_SECRET_KEY is not a secret key/],
      ["STRIPE_SECRET_KEY", "whsec_hunter2", /STRIPE_SECRET_KEY is not a secret key/],
      ["STRIPE_SECRET_KEY", "sk_hunter 2", /STRIPE_SECRET_KEY is not a secret key/],
      ["STRIPE_WEBHOOK_SECRET", "sk_test_hunter2", /STRIPE_WEBHOOK_SECRET is not a signing secret/],
      ["STRIPE_WEBHOOK_SECRET", "whsec_a,rk_hunter", /STRIPE_WEBHOOK_SECRET is not a signing secret/],
    ] as const
  ) {
    const found = faults({ ...whole, [name]: value });
    assert.equal(found.length, 1, name);
    assert.match(String(found), fault);
  }
  assert.deepEqual(faults({ ...whole, CHECKOUT_SUCCESS_URL: "http://127.0.0.1:8083/thanks" }), []);
});
