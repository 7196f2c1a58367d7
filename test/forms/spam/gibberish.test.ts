import assert from "node:assert/strict";
import test from "node:test";
import { defaultThreshold } from "../../../src/forms/spam/score.ts";
import { reasonNames, score } from "../../support/forms/score.ts";

test("names in many languages are not gibberish", () => {
  const people =
    "Krzysztof Szczepański;Ng;Nguyễn Thị Bích Ngọc;Xochitl Cuauhtémoc;Hrvoje Krpan;Vlk;Zbigniew Brzęczyszczykiewicz;" +
    "Tsz-Kwan Cheung;Gwynllyw Pryce;Ndidi Nwachukwu;Mbali Nkosi;Schnitzspahn;Wojciechowski;Tkachuk;Þórdís Guðmundsdóttir;" +
    "Al-Qahtani;Dhrmvr;Ljubica Vrhovac;Shqipe Krasniqi;Hyun-Kyung Bhak;Siobhán Ní Dhomhnaill;Nezahualcóyotl;McNAIR-DuPree;" +
    "JoAnnMcDonald;VanDerBerg;O'Shaughnessy;Strzelczyk;Przybylski;Tchoupitoulas;Kjærsgaard;Hjördís;Bjørn;Csikszentmihalyi;" +
    "Dvořák;Srinivasan Krishnamurthy;Mkhize;Tlaxcalteca;Pfeiffer;Schwartzkopf;Knightly;Hdz;Ymlkn";
  for (const name of people.split(";")) {
    const names = reasonNames({ name, message: "Estimate for my roof please" });
    assert.deepEqual(names.filter((one) => /gibberish|random/.test(one)), [], name);
  }
});

test("random letters are gibberish in names, emails and messages", () => {
  const random = { name: "RGYSKbmUNdDqrHzm", email: "wq@example.com", message: "NNmWxRtyQpLkHhG" };
  assert.ok(score(random).score >= defaultThreshold);
  assert.ok(reasonNames({ name: "xqzjvkwp" }).includes("gibberish_name"));
  assert.ok(reasonNames({ message: "asdfgh lkjhgf" }).includes("gibberish_text"));
  assert.ok(reasonNames({ email: "x.o.h.a.w.i.z@gmail.com" }).includes("gibberish_contact"));
});
