/**
 * What `npm start` puts into a database so that a first lead and a first form can be posted: a tenant with a key of each
 * surface and a form. There are two, a sandbox and, in a database of our own, one whose leads are sent to what catches
 * them on this machine.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { type KeySurface, makeKey } from "../src/contract/api_key.ts";
import { namedKinds } from "../src/store/delivery/effects.ts";
import { changeRoute } from "../src/store/delivery/routes.ts";
import { openAdminPool } from "../src/store/operator/admin_pool.ts";
import { insertKey, listKeys, revokeKey } from "../src/store/operator/api_keys.ts";
import { addForm } from "../src/store/operator/form_definitions.ts";
import { addTenant, findTenant, listTenants } from "../src/store/operator/tenants.ts";
import type { Pool } from "../src/store/pool.ts";

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

/** A tenant that an operator has disabled: no key can be issued to it. */
export interface Disabled {
  readonly disabled: string;
}

/** What is said of a tenant that was seen to. */
export type SeedOutcome = Seeded | Disabled;

/** A tenant that is seen to. */
export interface SeedTenant {
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
}

/**
 * Sees to it that there are the tenant `sandbox` and its form `contact`, and issues it keys labelled `npm-start`.
 * Returns `undefined` when the database was left alone.
 */
export async function seed(databaseUrl: string, options: SeedOptions): Promise<SeedOutcome | undefined> {
  const pool = openAdminPool(databaseUrl);
  try {
    if (options.onlyWhenEmpty && (await listTenants(pool)).length > 0) return undefined;
    return await seedTenant(pool, { slug: "sandbox", name: "Sandbox", sandbox: true });
  } finally {
    await pool.close();
  }
}

/** Where the leads of the development tenant go. */
export interface CaughtAt {
  readonly webhookUrl: string;
  /** What the webhooks are signed with. */
  readonly secret: string;
  /** `null`: mails go to a mail server of somebody's, so there are none. */
  readonly mailTo: string | null;
}

/** The same for the tenant `development`, which is not a sandbox: its leads are sent to what catches them. */
export async function seedDevelopment(databaseUrl: string, at: CaughtAt): Promise<SeedOutcome> {
  const pool = openAdminPool(databaseUrl);
  try {
    const tenant = { slug: "development", name: "Example Home Services", sandbox: false };
    const seeded = await seedTenant(pool, tenant);
    const { id } = await requireTenant(pool, tenant.slug);
    const [webhook, mail] = namedKinds;
    await changeRoute(pool, id, {
      scope: { source: "", form: "" },
      destinations: [
        { kind: webhook, addresses: [at.webhookUrl], rotate: true, secret: at.secret },
        at.mailTo === null ? { kind: mail, clear: true } : { kind: mail, addresses: [at.mailTo] },
      ],
      overlapHours: 0,
    });
    return seeded;
  } finally {
    await pool.close();
  }
}

/**
 * Sees to a tenant with a form and fresh keys. Earlier ones of this label are revoked: only their hashes are kept, so
 * nobody can be told them again. A disabled tenant is left as it is.
 */
async function seedTenant(pool: Pool, wanted: SeedTenant): Promise<SeedOutcome> {
  const tenant = await ensureTenant(pool, wanted);
  if (tenant.isDisabled) return { disabled: wanted.slug };
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
  const issue = (surface: KeySurface) => issueKey(pool, { tenant, surface, label, campaignId: null });
  return {
    key: (await issue("intake")).text,
    formsKey: (await issue("forms")).text,
    formPath: `/v1/forms/${wanted.slug}/${formKey}`,
  };
}

/** A tenant as the keys need it. */
export interface TenantRef {
  readonly id: number;
  readonly sandbox: boolean;
}

/** Adds a tenant unless there is one of this slug, and returns it. */
export async function ensureTenant(
  pool: Pool,
  wanted: SeedTenant,
): Promise<TenantRef & { readonly isDisabled: boolean }> {
  await addTenant(pool, wanted);
  return await requireTenant(pool, wanted.slug);
}

async function requireTenant(
  pool: Pool,
  slug: string,
): Promise<TenantRef & { readonly isDisabled: boolean }> {
  const tenant = await findTenant(pool, slug);
  if (tenant === null) throw new Error(`The tenant ${slug} is gone again; start once more`);
  return tenant;
}

/** Issues a key; only its hash is kept. */
export async function issueKey(
  pool: Pool,
  { tenant, surface, label, campaignId }: {
    readonly tenant: TenantRef;
    readonly surface: KeySurface;
    readonly label: string;
    readonly campaignId: number | null;
  },
): Promise<{ readonly id: string; readonly text: string }> {
  const text = makeKey({ surface, sandbox: tenant.sandbox }, (bytes) => getRandomValues(bytes));
  const id = await insertKey(pool, {
    tenantId: tenant.id,
    campaignId,
    surface,
    label,
    digest: createHash("sha256").update(text).digest("hex"),
    last4: text.slice(-4),
  });
  if (id === null) {
    throw new Error(`The tenant of the key ${label} is disabled; ctl tenant enable SLUG enables it`);
  }
  return { id, text };
}
