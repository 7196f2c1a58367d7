/**
 * Adds a tenant with a form and one key per surface, for a first lead and a first submission. `npm start` adds a sandbox
 * and, in its own database, a development tenant whose emails and webhooks are caught on this machine.
 */

import { createHash, getRandomValues } from "node:crypto";
import { readFileSync } from "node:fs";
import { generateKey, type KeySurface } from "../src/contract/api_key.ts";
import { namedKinds } from "../src/store/delivery/effects.ts";
import { changeRoute } from "../src/store/delivery/routes.ts";
import { openAdminPool } from "../src/store/operator/admin_pool.ts";
import { insertKey, listKeys, revokeKey } from "../src/store/operator/api_keys.ts";
import { addForm } from "../src/store/operator/form_definitions.ts";
import { addTenant, listTenants } from "../src/store/operator/tenants.ts";
import type { Pool } from "../src/store/pool.ts";
import { writePrivateFile } from "./private_file.ts";

const label = "npm-start";
const formKey = "contact";

export interface SeedOptions {
  /** The file for the keys; `null` for the user's own database, which is not changed once it has a tenant. */
  readonly keysFile: string | null;
}

/** The keys and the form to post with. */
export interface SeededKeys {
  /** The intake key. */
  readonly key: string;
  readonly formsKey: string;
  /** The form's path below `FORMS_URL`. */
  readonly formPath: string;
}

/** A disabled tenant, for which no key can be issued. */
export interface DisabledTenant {
  readonly disabledSlug: string;
}

export type SeedOutcome = SeededKeys | DisabledTenant;

export interface SeedTenant {
  readonly slug: string;
  readonly name: string;
  readonly sandbox: boolean;
}

/**
 * Adds the tenant `sandbox`, its form `contact` and its keys labeled `npm-start`, if they are missing. Returns
 * `undefined` if it left the database unchanged.
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

/** The destinations for the development tenant's leads. */
export interface CatcherDestinations {
  readonly webhookUrl: string;
  /** The webhooks' signing secret. */
  readonly secret: string;
  /** The email address; `null`, for no emails, if the user has configured a mail server. */
  readonly mailTo: string | null;
  readonly keysFile: string;
}

/** Seeds the tenant `development`, which is not a sandbox; its leads are sent to the catcher. */
export async function seedDevelopment(databaseUrl: string, at: CatcherDestinations): Promise<SeedOutcome> {
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
 * Adds a tenant with a form and one key per surface: the saved key if it is still valid, otherwise a new one. Revokes
 * the tenant's other keys labeled `npm-start`, because their text is lost. Leaves a disabled tenant unchanged.
 */
async function seedTenant(pool: Pool, wanted: SeedTenant, keysFile: string | null): Promise<SeedOutcome> {
  const tenant = await ensureTenant(pool, wanted);
  if (tenant.disabledAt !== null) return { disabledSlug: wanted.slug };
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
  const ensureKey = async (surface: KeySurface, text = "") => {
    const valid = live.find((key) => key.surface === surface && key.last4 === text.slice(-4));
    for (const key of live) if (key.surface === surface && key !== valid) await revokeKey(pool, key.id);
    if (valid !== undefined) return text;
    return (await issueKey(pool, { tenant, surface, label, campaignId: null })).text;
  };
  const keys = { intake: await ensureKey("intake", intake), forms: await ensureKey("forms", forms) };
  if (keysFile !== null) writeKeys(keysFile, { ...saved, [wanted.slug]: keys });
  return { key: keys.intake, formsKey: keys.forms, formPath: `/v1/forms/${wanted.slug}/${formKey}` };
}

/** The saved keys, by tenant. */
type SavedKeys = Readonly<Record<string, { readonly intake: string; readonly forms: string }>>;

function readKeys(file: string): SavedKeys {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // The file is missing or truncated; new keys replace it.
    return {};
  }
}

function writeKeys(file: string, keys: SavedKeys): void {
  writePrivateFile(file, `${JSON.stringify(keys, null, 2)}\n`);
}

export interface TenantRef {
  readonly id: number;
  readonly sandbox: boolean;
}

/** Adds a tenant unless its slug exists, and returns it. */
export async function ensureTenant(
  pool: Pool,
  tenant: SeedTenant,
): Promise<TenantRef & { readonly disabledAt: string | null }> {
  await addTenant(pool, tenant);
  return await requireTenant(pool, tenant.slug);
}

async function requireTenant(
  pool: Pool,
  slug: string,
): Promise<TenantRef & { readonly disabledAt: string | null }> {
  const tenant = (await listTenants(pool)).find((one) => one.slug === slug);
  if (tenant === undefined) throw new Error(`The tenant ${slug} has just been removed; start again`);
  return tenant;
}

/** Issues a key and returns its text; the database stores only a hash of the text. */
export async function issueKey(
  pool: Pool,
  { tenant, surface, label, campaignId }: {
    readonly tenant: TenantRef;
    readonly surface: KeySurface;
    readonly label: string;
    readonly campaignId: number | null;
  },
): Promise<{ readonly id: string; readonly text: string }> {
  const text = generateKey({ surface, sandbox: tenant.sandbox }, (bytes) => getRandomValues(bytes));
  const id = await insertKey(pool, {
    tenantId: tenant.id,
    campaignId,
    surface,
    label,
    digest: createHash("sha256").update(text).digest("hex"),
    last4: text.slice(-4),
  });
  if (id === null) {
    throw new Error(`The tenant is disabled, so it gets no key ${label}: run ctl tenant enable SLUG`);
  }
  return { id, text };
}
