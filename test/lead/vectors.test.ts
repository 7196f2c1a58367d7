import assert from "node:assert/strict";
import test from "node:test";
import { fieldNames, type Flag, flagNames, type Reason } from "../../src/contract/fields.ts";
import { validate } from "../../src/lead/validate.ts";
import { areas } from "../support/lead/areas.ts";
import vectors from "../vectors/lead.json" with { type: "json" };

/** A case of `test/vectors/lead.json`; `kind` decides which members it has. */
interface Vector {
  readonly name: string;
  readonly body: string;
  readonly kind: string;
  readonly lead?: Record<string, unknown>;
  readonly extra?: string | null;
  readonly flags?: Flag[];
  readonly fields?: Record<string, Reason>;
  readonly empty?: boolean;
  readonly detail?: string;
}

for (const { name, body, ...expected } of vectors as Vector[]) {
  test(name, () => {
    const { reason: _, ...verdict } = { reason: "", ...validate(body, areas) };
    assert.deepEqual(verdict, expected);
    if (verdict.kind === "valid") {
      assert.deepEqual(Object.keys(verdict.lead), inOrder(verdict.lead, [...fieldNames, "cost_cents"]));
    }
    if (verdict.kind === "validation_failed") {
      assert.deepEqual(Object.keys(verdict.fields), inOrder(verdict.fields, [...fieldNames, "cost"]));
    }
  });
}

test("the vectors cover every kind, flag, reason and field", () => {
  const all = vectors as Vector[];
  assert.ok(all.length >= 300, `${all.length} vectors`);
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length, "names are unique");
  for (const flag of flagNames) assert.ok(all.some(({ flags }) => flags?.includes(flag)), flag);
  for (const name of [...fieldNames, "cost_cents"]) assert.ok(all.some(({ lead }) => lead?.[name]), name);
  for (const name of fieldNames) assert.ok(all.some(({ fields }) => fields?.[name] === "too_long"), name);
  assert.ok(all.some(({ fields }) => fields?.cost === "out_of_range"));
});

function inOrder(object: object, order: readonly string[]): string[] {
  return order.filter((name) => Object.hasOwn(object, name));
}
