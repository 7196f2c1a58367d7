/**
 * What `npm start` puts into a database so that a first lead can be posted: a sandbox tenant with a key.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { makeKey } from "../src/contract/api_key.ts";
import { insertKey, listKeys, revokeKey } from "../src/store/admin/api_keys.ts";
import { openAdminPool } from "../src/store/admin/pool.ts";
import { addTenant, findTenant, listTenants } from "../src/store/admin/tenants.ts";
import type { Pool } from "../src/store/sql.ts";

const slug = "sandbox";
const label = "npm-start";

/** How a database is seeded. */
export interface SeedOptions {
  /** Leave a database alone that has a tenant: it is somebody's. */
  readonly onlyWhenEmpty: boolean;
}

/**
 * Sees to it that there is the tenant `sandbox`, and issues it a key labelled `npm-start`. Earlier ones are revoked:
 * only their hashes are kept, so nobody can be told them again. Returns the key, or `undefined` when the
 * database was left alone.
 */
export async function seed(databaseUrl: string, options: SeedOptions): Promise<string | undefined> {
  const pool = openAdminPool(databaseUrl);
  try {
    if (options.onlyWhenEmpty && (await listTenants(pool)).length > 0) return undefined;
    await addTenant(pool, { slug, name: "Sandbox", sandbox: true });
    return await freshKey(pool);
  } finally {
    await pool.close();
  }
}

async function freshKey(pool: Pool): Promise<string> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) throw new Error(`The tenant ${slug} is gone again; start once more`);
  const earlier = (await listKeys(pool, tenant.id)).filter((key) =>
    key.label === label && key.revokedAt === null
  );
  for (const key of earlier) await revokeKey(pool, key.id);

  const key = makeKey({ surface: "intake", sandbox: tenant.sandbox }, (bytes) => getRandomValues(bytes));
  await insertKey(pool, {
    tenantId: tenant.id,
    campaignId: null,
    surface: "intake",
    label,
    digest: createHash("sha256").update(key).digest("hex"),
    last4: key.slice(-4),
  });
  return key;
}
