import assert from "node:assert/strict";
import { test } from "node:test";
import { FormStore } from "../../../src/store/serving/lookup.ts";
import { openPool } from "../../support/pool.ts";
import { openStore } from "../../support/store.ts";

const { databaseUrl, sql: admin } = await openStore();
const pool = openPool(databaseUrl, { name: "forms" });
const [acme, other] = await admin<{ id: number }[]>`
  insert into tenant (slug, name) values ('acme', 'Acme'), ('other', 'Other') returning id`;
const forms = new FormStore(pool, () => 0);
const find = (formKey: string, of = acme) => forms.find(of?.id as number, formKey);

async function add(formKey: string, tenantId = acme?.id as number): Promise<number> {
  const [row] = await admin<{ id: number }[]>`
    insert into form (tenant_id, form_key, required, blocked)
    values (${tenantId}, ${formKey}, '{name,email}', '{"free money"}') returning id`;
  return row?.id as number;
}

test("a form is found by its tenant and key, in its own spelling", async () => {
  const id = await add("contact");
  assert.deepEqual(await find("contact"), {
    ...{ id, formKey: "contact", required: ["name", "email"], threshold: null, blocked: ["free money"] },
  });
  assert.equal(await find("Contact"), null);
  assert.equal(await find("contact", other), null);
  const foreign = await add("contact", other?.id);
  assert.equal((await find("contact", other))?.id, foreign);
});
