/**
 * The customers of a round, with their keys, as rows that are written by hand.
 *
 * @module
 */

import type postgres from "postgres";
import type { Chance } from "./chance.ts";
import type { Key, Notes } from "./history.ts";
import { keyDigest, keyText } from "./leads.ts";

/** Whom the limits of addresses are raised for: all callers but those who are to meet them. */
const raisedNetwork = "127.0.0.0/9";
const farAway = "2100-01-01";
const spareKeys = 8;

interface KeyOptions {
  readonly campaign?: string;
  readonly forms?: true;
  /** With the published limit. */
  readonly limited?: true;
}

type Tenant = Notes["tenants"][number];

/**
 * Two customers with a campaign, a form and keys to be revoked; a sandbox; and one whose key has the published limit.
 * `crmUrl` gets the customer's name.
 */
export async function makeTenants(
  sql: postgres.Sql,
  { how, crmUrl }: { readonly how: Chance; readonly crmUrl: string },
): Promise<Pick<Notes, "tenants" | "keys">> {
  const tenants: Tenant[] = [];
  const keys: Key[] = [];
  const tenant = async (slug: string, sandbox: boolean) => {
    const [row] = await sql<{ id: number }[]>`
      insert into tenant (slug, name, sandbox) values (${slug}, ${slug}, ${sandbox}) returning id`;
    const made = { id: row?.id as number, slug, sandbox };
    tenants.push(made);
    if (sandbox) return made;
    const secret = `whsec_${Buffer.alloc(32, made.id).toString("base64")}`;
    await sql`
      insert into actions.route (tenant_id, kind, address, secret)
      values (${made.id}, 'crm', ${`${crmUrl}/${slug}`}, ${secret})`;
    return made;
  };
  const key = async (of: Tenant, label: string, { campaign, forms, limited }: KeyOptions = {}) => {
    const text = keyText(how, forms ? "form_live_" : of.sandbox ? "lead_test_" : "lead_live_");
    const surface = forms ? "forms" : "intake";
    const raised = limited ? null : 1_000_000;
    const [row] = await sql<{ id: number }[]>`
      insert into api_key
        (tenant_id, campaign_id, surface, label, digest, last4, limit_per_minute, limit_burst, limit_until)
      values (
        ${of.id}, (select id from campaign where tenant_id = ${of.id} and slug = ${
      campaign ?? ""
    }), ${surface}, ${label},
        decode(${keyDigest(text)}, 'hex'), ${text.slice(-4)}, ${raised}, ${raised}, ${
      limited ? null : farAway
    }
      ) returning id`;
    keys.push({
      ...{ id: row?.id as number, tenant: of.slug, text, surface, label, campaign: campaign ?? null },
      limit: limited ? { perMinute: 600, burst: 101 } : null,
    });
  };

  await sql`insert into ip_limit (network, per_minute, burst, until)
    values (${raisedNetwork}::cidr, 10000000, 1000000, ${farAway})`;
  for (const slug of ["north", "south"]) {
    const made = await tenant(slug, false);
    const campaign = `${slug}-spring`;
    await sql`insert into campaign (tenant_id, slug) values (${made.id}, ${campaign})`;
    await sql`insert into form (tenant_id, form_key, required) values (${made.id}, 'contact', '{name,email}')`;
    await key(made, "kept", { campaign });
    for (let spare = 0; spare < spareKeys; spare += 1) await key(made, `spare-${spare}`, { campaign });
    await key(made, "site", { forms: true });
  }
  await key(await tenant("sandbox", true), "sandbox");
  await key(await tenant("tight", false), "tight", { limited: true });
  return { tenants, keys };
}
