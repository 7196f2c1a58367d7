import assert from "node:assert/strict";
import test from "node:test";
import type { SpamReasonName } from "../../../src/forms/spam/reasons.ts";
import { type Fields, message, reasonNames } from "../../support/forms/score.ts";

const linkReasons = (fields: Fields) => reasonNames(fields).filter((name) => /link/.test(name));

test("a link in a name is a reason, an email address or a dotted initial is not", () => {
  for (const name of ["http://a.example", "www.win.example now", "bit.ly/abc"]) {
    assert.ok(reasonNames({ name }).includes("link_in_name"), name);
  }
  for (const name of ["J.P. Ortiz", "ada@example.com", "St.John", "Dr. Lee"]) {
    assert.deepEqual(linkReasons({ name }), [], name);
  }
});

test("links to listings, photos and the form's own site are not a reason, nor are page_url and referrer", () => {
  const clean: readonly Fields[] = [
    message("The roof of https://www.zillow.com/homedetails/x leaks"),
    message("Photos of the leaking roof: https://photos.app.goo.gl/AbCdEfGh and imgur.com/a/x"),
    message("My roof leaks, see http://roof.example/leak.jpg"),
    {
      ...message("Need the roof of https://tenant.example/offer for my house"),
      page_url: "https://www.tenant.example/x",
    },
    {
      ...message("My roof leaks"),
      page_url: "http://bit.ly/1",
      referrer: "http://192.0.2.1/",
      utm_source: "casino",
    },
    { ...message("My roof leaks"), photos: "https://bucket.example/1.jpg https://bucket.example/2.jpg" },
  ];
  for (const fields of clean) assert.deepEqual(linkReasons(fields), [], JSON.stringify(fields));
});

test("each kind of link has its reason", () => {
  const cases: readonly (readonly [string, SpamReasonName])[] = [
    ["see https://spam.example/x", "links"],
    ["see spam.com", "links"],
    ["https://spam.example/x", "link_only"],
    ["see bit.ly/abc", "link_shortener"],
    ["see http://203.0.113.9/x", "link_odd_host"],
    ["see http://spam.example:8443/", "link_odd_host"],
    ["see https://paypal.com@spam.example/", "link_odd_host"],
    ["see https://xn--pypal-4ve.com/", "link_odd_host"],
    ["see hxxp://spam.example/", "link_disguised"],
    ["see spam[.]com", "link_disguised"],
    ['<a href="https://spam.example">x</a>', "link_markup"],
    ["[url=https://spam.example]x[/url]", "link_markup"],
    ["write to t.me/spam", "chat_link"],
  ];
  for (const [text, name] of cases) assert.ok(reasonNames(message(text)).includes(name), `${text}: ${name}`);
  for (const text of ["It leaks.Please come", "U.S. Army, retired", "approx. 3.5 in.", "ada@example.com"]) {
    assert.deepEqual(linkReasons(message(text)), [], text);
  }
});
