import assert from "node:assert/strict";
import test from "node:test";
import { defaultThreshold } from "../../../src/forms/spam/score.ts";
import { type Fields, message, reasonNames, score } from "../../support/forms/score.ts";

test("blocked words match without regard to case, accents, full-width forms and look-alikes, as whole words", () => {
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

test("blocked words count in every field but the technical ones, each different one once", () => {
  const points = (fields: Fields, words: readonly string[]) =>
    score(fields, words).reasons.find(({ name }) => name === "blocked_words")?.points ?? 0;
  assert.equal(points({ name: "acme" }, ["acme", "ACME"]), defaultThreshold);
  assert.equal(points({ email: "x@acme.example" }, ["acme"]), defaultThreshold);
  assert.equal(points({ name: "acme zenith" }, ["acme", "zenith"]), 2 * defaultThreshold);
  assert.equal(
    points({ page_url: "https://acme.example/", referrer: "acme", utm_term: "acme" }, ["acme"]),
    0,
  );
});
