import assert from "node:assert/strict";
import test from "node:test";
import { type Fields, message, reasonNames, score } from "../support/forms/score.ts";

test("blocked words match whole words regardless of case, accents, width and look-alikes", () => {
  const blocked = (text: string, word: string) =>
    reasonNames(message(text), [word]).includes("blocked_words");
  assert.ok(blocked("we do TREE Service here", "tree service"));
  assert.ok(blocked("laminas galvanizadas", "LÁMINAS GALVANIZADAS"));
  assert.ok(blocked("ｔｒｅｅ　ｓｅｒｖｉｃｅ", "tree service"));
  assert.ok(blocked("tree\n  service", "tree service"));
  assert.ok(blocked("t r e e work", "tree"));
  assert.ok(blocked("trее work", "tree"), "with two Cyrillic letters");
  assert.ok(blocked("tr\u00adee work", "tree"));
  assert.ok(blocked("我要贷款修屋顶", "贷款"));
  assert.ok(blocked("costs $$$ here", "$$$"));
  assert.equal(blocked("street servicing", "tree"), false);
  assert.equal(blocked("service of a tree", "tree service"), false);
  assert.equal(blocked("anything", " "), false);
  assert.equal(blocked("anything", ""), false);
});

test("a blocked word in any non-technical field scores 100", () => {
  const fillers = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`a filler ${at}`, "We need a new roof soon"]),
  );
  const story = "The water came in at the chimney again. ".repeat(250);
  const holding: readonly Fields[] = [
    { name: "Acme" },
    { email: "x@acme.example" },
    { email: "acme@example.com" },
    { ...fillers, ...message("acme") },
    message(`${story}acme ${story}`),
  ];
  for (const fields of holding) {
    assert.equal(score(fields, ["acme"]).score, 100, JSON.stringify(fields).slice(0, 80));
  }
  const technical = { page_url: "https://acme.example/", referrer: "acme", utm_term: "acme" };
  assert.ok(!reasonNames(technical, ["acme"]).includes("blocked_words"));
});
