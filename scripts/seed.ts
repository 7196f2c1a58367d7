/**
 * What `npm start` puts into a database so that a first lead and a first form can be posted: a tenant with a key of each
 * surface and a form. There are two, a sandbox and, in a database of our own, one whose leads are sent to what catches
 * them on this machine.
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
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
  /** The file that keeps the keys; `null` for somebody's database, which is left alone once it has a tenant. */
  readonly keysFile: string | null;
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
 * Sees to it that there are the tenant `sandbox`, its form `contact` and its keys labelled `npm-start`.
 * Returns `undefined` when the database was left alone.
 */
export async function seed(databaseUrl: string, { keysFile }: SeedOptions): Promise<SeedOutcome | undefined> {
  const pool = openAdminPool(databaseUrl);
  try {
    if (keysFile === null && (await listTenants(pool)).length > 0) return undefined;
    return await seedTenant(pool, { slug: "sandbox", name: "Sandbox", sandbox: true }, keysFile);
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
  readonly keysFile: string;
}

/** The same for the tenant `development`, which is not a sandbox: its leads are sent to what catches them. */
export async function seedDevelopment(databaseUrl: string, at: CaughtAt): Promise<SeedOutcome> {
  const pool = openAdminPool(databaseUrl);
  try {
    const tenant = { slug: "development", name: "Example Home Services", sandbox: false };
    const seeded = await seedTenant(pool, tenant, at.keysFile);
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
 * Sees to a tenant with a form and a key of each surface: the saved one while it works, or a new one. Other keys of the
 * label are revoked, because nobody has their text. A disabled tenant is left as it is.
 */
async function seedTenant(pool: Pool, wanted: SeedTenant, keysFile: string | null): Promise<SeedOutcome> {
  const tenant = await ensureTenant(pool, wanted);
  if (tenant.isDisabled) return { disabled: wanted.slug };
  // One that is there stays as somebody may have changed it.
  await addForm(pool, { tenantId: tenant.id, formKey }, {
    required: ["name", "email"],
    threshold: null,
    blocked: [],
  });
  const saved = keysFile === null ? {} : readKeys(keysFile);
  const { intake, forms } = saved[wanted.slug] ?? {};
  const live = (await listKeys(pool, tenant.id)).filter((key) =>
    key.label === label && key.revokedAt === null
  );
  const keep = async (surface: KeySurface, text = "") => {
    const kept = live.find((key) => key.surface === surface && key.last4 === text.slice(-4));
    for (const key of live) if (key.surface === surface && key !== kept) await revokeKey(pool, key.id);
    if (kept !== undefined) return text;
    return (await issueKey(pool, { tenant, surface, label, campaignId: null })).text;
  };
  const keys = { intake: await keep("intake", intake), forms: await keep("forms", forms) };
  if (keysFile !== null) writeKeys(keysFile, { ...saved, [wanted.slug]: keys });
  return { key: keys.intake, formsKey: keys.forms, formPath: `/v1/forms/${wanted.slug}/${formKey}` };
}

/** The texts of keys, by tenant. */
type SavedKeys = Readonly<Record<string, { readonly intake: string; readonly forms: string }>>;

function readKeys(file: string): SavedKeys {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Not there yet, or cut short: new keys replace it.
    return {};
  }
}

function writeKeys(file: string, keys: SavedKeys): void {
  writeFileSync(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
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
