import assert from "node:assert/strict";
import { test } from "node:test";
import { FormStore } from "../../../src/store/serving/form_lookup.ts";
import { Pool, Unavailable } from "../../../src/store/pool.ts";
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

test("a found form is known for 5 s of the clock; one that was not found is asked for again each time", async () => {
  const { find, made } = openForms();
  assert.equal(await find("later"), null);
  const id = await add("later");
  assert.equal((await find("later"))?.id, id);
  assert.equal(made.queries, 2);
  await admin`update form set removed_at = now() where id = ${id}`;
  clock.nowMs += 5_000;
  assert.equal((await find("later"))?.id, id);
  clock.nowMs += 1;
  assert.equal(await find("later"), null);
  assert.equal(made.queries, 3);
});

test("lookups that wait share a query", async () => {
  await add("shared");
  await add("shared", other?.id);
  const { find, made } = openForms();
  const found = await Promise.all([
    ...Array.from({ length: 20 }, () => find("shared")),
    ...Array.from({ length: 20 }, () => find("shared", other)),
    find("nowhere"),
  ]);
  assert.equal(new Set(found.map((form) => form?.id)).size, 3);
  assert.ok(made.queries <= 2, `${made.queries}`);
});

test("what no form key can be costs no query", async () => {
  const { find, made } = openForms();
  for (const formKey of ["", "a b", "%63ontact", "a/b", "é", "a".repeat(65), ".", "-a", "a\u0000"]) {
    assert.equal(await find(formKey), null);
  }
  assert.equal(made.queries, 0);
});

test("find throws Unavailable while the store is away, and works again afterwards", async () => {
  const id = await add("away");
  let isAway = true;
  const { find } = openForms({
    run: (...args: Parameters<Pool["run"]>) =>
      isAway ? Promise.reject(new Unavailable("away")) : pool.run(...args),
  } as Pool);
  await assert.rejects(find("away"), Unavailable);
  isAway = false;
  assert.equal((await find("away"))?.id, id);
});
