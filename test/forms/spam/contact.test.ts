import assert from "node:assert/strict";
import test from "node:test";
import { reasonNames } from "../../support/forms/score.ts";

test("a disposable email domain counts with its subdomains", () => {
  assert.ok(reasonNames({ email: "a@mailinator.com" }).includes("disposable_mail"));
  assert.ok(reasonNames({ email: "a@in.mx.MAILINATOR.com" }).includes("disposable_mail"));
  for (const email of ["a@notmailinator.com", "mailinator.com@example.com"]) {
    assert.ok(!reasonNames({ email }).includes("disposable_mail"), email);
  }
});
