import assert from "node:assert/strict";
import { test } from "node:test";
import { FormStore } from "../../../src/store/serving/lookup.ts";
import { Pool } from "../../../src/store/pool.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
const pool = openPool(databaseUrl, { name: "forms" });
const [acme, other] = await admin<{ id: number }[]>`
  insert into tenant (slug, name) values ('acme', 'Acme'), ('other', 'Other') returning id`;
const clock = { nowMs: 0 };

async function add(formKey: string, tenantId = acme?.id as number): Promise<number> {
  const [row] = await admin<{ id: number }[]>`
    insert into form (tenant_id, form_key, required, blocked)
    values (${tenantId}, ${formKey}, '{name,email}', '{"free money"}') returning id`;
  return row?.id as number;
}

/** A store, and the number of queries it has made. */
function openForms(of: Pick<Pool, "run"> = pool) {
  const made = { queries: 0 };
  const counting = {
    run: (...args: Parameters<Pool["run"]>) => {
      made.queries += 1;
      return of.run(...args);
    },
  } as Pool;
  const forms = new FormStore(counting, () => clock.nowMs);
  return { find: (formKey: string, of = acme) => forms.find(of?.id as number, formKey), made };
}

test("a form is found by its tenant and key, in its own spelling", async () => {
  const { find } = openForms();
  const id = await add("contact");
  assert.deepEqual(await find("contact"), {
    ...{ id, formKey: "contact", required: ["name", "email"], threshold: null, blocked: ["free money"] },
  });
  assert.equal(await find("Contact"), null);
  assert.equal(await find("contact", other), null);
  const foreign = await add("contact", other?.id);
  assert.equal((await find("contact", other))?.id, foreign);
});

test("what no form key can be costs no query", async () => {
  const { find, made } = openForms();
  for (const formKey of ["", "a b", "%63ontact", "a/b", "é", "a".repeat(65), ".", "-a", "a\u0000"]) {
    assert.equal(await find(formKey), null);
  }
  assert.equal(made.queries, 0);
});
