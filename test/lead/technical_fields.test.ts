import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldLetters, technicalKind } from "../../src/lead/technical_fields.ts";

test("the fields of plug-ins and frameworks have their kind, in any spelling", () => {
  const kinds = {
    token: [
      "_wpnonce",
      "csrfmiddlewaretoken",
      "__RequestVerificationToken",
      "cf-turnstile-response",
      "_token",
      "wpforms[nonce]",
      "_wpcf7_recaptcha_response",
      "ak_bfs",
      "frc-captcha-solution",
    ],
    time: ["form_started_at", "_started_at", "submittedAt", "_loaded_at"],
    page: [
      "page_url",
      "referrer",
      "_wp_http_referer",
      "Landing Page",
      "form_fields[page_url]",
      "wpforms[page_url]",
    ],
    visit: ["utm_source", "UTM Campaign", "fields[gclid]", "user_agent", "ip"],
    form: ["form_id", "_wpcf7_unit_tag", "website"],
    certificate: ["xxTrustedFormCertUrl", "universal_leadid", "jornaya_lead_id"],
  };
  for (const [kind, names] of Object.entries(kinds)) {
    for (const name of names) assert.equal(technicalKind(name), kind, name);
  }
});

test("fields that a visitor fills in are not technical", () => {
  const names = [
    "name",
    "message",
    "state",
    "country",
    "language",
    "session",
    "device",
    "time",
    "best_time",
    "origin",
    "fields",
    "form_fields",
    "",
    "12.2",
    "客户",
    "token".repeat(20),
  ];
  for (const name of names) assert.equal(technicalKind(name), null, name);
});

test("the letters of a name are those that every spelling of it shares, and none of a long name", () => {
  for (const name of ["utm_source", "UTM Source", "form_fields[utm-source]"]) {
    assert.equal(fieldLetters(name), "utmsource", name);
  }
  assert.equal(fieldLetters("a".repeat(61)), "");
});
