/**
 * What `npm start` puts into a database so that a first lead and a first form can be posted: a sandbox tenant with
 * a key of each surface and a form.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { type KeySurface, makeKey } from "../src/contract/api_key.ts";
import { insertKey, listKeys, revokeKey } from "../src/store/operator/api_keys.ts";
import { addForm } from "../src/store/operator/form_definitions.ts";
import { openAdminPool } from "../src/store/operator/admin_pool.ts";
import { addTenant, findTenant, listTenants } from "../src/store/operator/tenants.ts";
import type { Pool } from "../src/store/pool.ts";

const slug = "sandbox";
const label = "npm-start";
const formKey = "contact";

/** How a database is seeded. */
export interface SeedOptions {
  /** Leave a database alone that has a tenant: it is somebody's. */
  readonly onlyWhenEmpty: boolean;
}

/** What a first lead and a first form are posted with. */
export interface Seeded {
  /** The intake's. */
  readonly key: string;
  readonly formsKey: string;
  /** The form's path below the address of the forms. */
  readonly formPath: string;
}

/**
 * Sees to it that there are the tenant `sandbox` and its form `contact`, and issues it keys labelled `npm-start`.
 * Earlier ones are revoked: only their hashes are kept, so nobody can be told them again. Returns `undefined` when the
 * database was left alone.
 */
export async function seed(databaseUrl: string, options: SeedOptions): Promise<Seeded | undefined> {
  const pool = openAdminPool(databaseUrl);
  try {
    if (options.onlyWhenEmpty && (await listTenants(pool)).length > 0) return undefined;
    await addTenant(pool, { slug, name: "Sandbox", sandbox: true });
    const tenant = await findTenant(pool, slug);
    if (tenant === null) throw new Error(`The tenant ${slug} is gone again; start once more`);
    // One that is there stays as somebody may have changed it.
    await addForm(pool, { tenantId: tenant.id, formKey }, {
      required: ["name", "email"],
      threshold: null,
      blocked: [],
    });
    const earlier = (await listKeys(pool, tenant.id)).filter((key) =>
      key.label === label && key.revokedAt === null
    );
    for (const key of earlier) await revokeKey(pool, key.id);
    return {
      key: await freshKey(pool, tenant, "intake"),
      formsKey: await freshKey(pool, tenant, "forms"),
      formPath: `/v1/forms/${slug}/${formKey}`,
    };
  } finally {
    await pool.close();
  }
}

async function freshKey(
  pool: Pool,
  tenant: { readonly id: number; readonly sandbox: boolean },
  surface: KeySurface,
): Promise<string> {
  const key = makeKey({ surface, sandbox: tenant.sandbox }, (bytes) => getRandomValues(bytes));
  await insertKey(pool, {
    tenantId: tenant.id,
    campaignId: null,
    surface,
    label,
    digest: createHash("sha256").update(key).digest("hex"),
    last4: key.slice(-4),
  });
  return key;
}
