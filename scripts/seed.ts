/**
 * Adds what a first lead and a first form need: a tenant with a form and one key per surface. `npm start` adds a sandbox
 * and, in its own database, a development tenant whose mails and webhooks are caught on this machine.
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

/** How to seed a database. */
export interface SeedOptions {
  /** The file with the keys; `null` for the user's own database, which is left alone once it has a tenant. */
  readonly keysFile: string | null;
}

/** The keys and the form to post with. */
export interface Seeded {
  /** The intake's key. */
  readonly key: string;
  readonly formsKey: string;
  /** The form's path below `FORMS_URL`. */
  readonly formPath: string;
}

/** A disabled tenant, which can get no key. */
export interface Disabled {
  readonly disabled: string;
}

/** The outcome for a tenant. */
export type SeedOutcome = Seeded | Disabled;

/** A tenant to add. */
export interface SeedTenant {
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
}

/**
 * Adds the tenant `sandbox`, its form `contact` and its keys labeled `npm-start`, whichever are missing. Returns
 * `undefined` if it left the database alone.
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

/** Where the development tenant's leads go. */
export interface CaughtAt {
  readonly webhookUrl: string;
  /** The webhooks' signing secret. */
  readonly secret: string;
  /** `null` if the user has configured a mail server: no mails then. */
  readonly mailTo: string | null;
  readonly keysFile: string;
}

/** The same for the tenant `development`, which is not a sandbox: its leads go to the catcher. */
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
 * Adds a tenant with a form and one key per surface: the saved key if it is still valid, else a new one. Revokes other
 * keys of that label, because their text is lost. Leaves a disabled tenant unchanged.
 */
async function seedTenant(pool: Pool, wanted: SeedTenant, keysFile: string | null): Promise<SeedOutcome> {
  const tenant = await ensureTenant(pool, wanted);
  if (tenant.isDisabled) return { disabled: wanted.slug };
  // An existing tenant is kept: the user may have changed it.
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

/** Keys by tenant. */
type SavedKeys = Readonly<Record<string, { readonly intake: string; readonly forms: string }>>;

function readKeys(file: string): SavedKeys {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Missing or truncated: new keys replace it.
    return {};
  }
}

function writeKeys(file: string, keys: SavedKeys): void {
  writeFileSync(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  chmodSync(file, 0o600);
}

/** A tenant's id and slug. */
export interface TenantRef {
  readonly id: number;
  readonly sandbox: boolean;
}

/** Adds a tenant unless its slug exists, and returns it. */
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
  if (tenant === null) throw new Error(`The tenant ${slug} has just been removed; start again`);
  return tenant;
}

/** Issues a key; the database keeps only its hash. */
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
