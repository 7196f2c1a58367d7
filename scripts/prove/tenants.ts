/**
 * The customers of a round, with their keys, as rows that are written by hand.
 *
 * @module
 */

import type postgres from "postgres";
import type { Chance } from "./chance.ts";
import type { Key, Notes } from "./history.ts";
import { blockedWord, keyDigest, keyText } from "./leads.ts";
import { secretOf } from "./sink.ts";

/** Whom the limits of addresses are raised for: all callers but those who are to meet them. */
const raisedNetwork = "127.0.0.0/9";
const farAway = "2100-01-01";
const spareKeys = 10;

interface KeyOptions {
  readonly campaign?: string;
  readonly forms?: true;
  /** With the published limit. */
  readonly limited?: true;
}

type Tenant = Notes["tenants"][number];

/**
 * Three customers with a campaign, a form and keys to be revoked: one with a retention, one with routes by source and form,
 * one without a route. A sandbox; and one whose key has the published limit.
 * `crmUrl` gets the customer's name.
 */
export async function makeTenants(
  sql: postgres.Sql,
  { how, crmUrl, hasOperators }: {
    readonly how: Chance;
    readonly crmUrl: string;
    readonly hasOperators: boolean;
  },
): Promise<Pick<Notes, "tenants" | "keys">> {
  const tenants: Tenant[] = [];
  const keys: Key[] = [];
  const tenant = async (slug: string, routes: Record<string, [source: string, form: string]> = {}) => {
    const sandbox = slug === "sandbox";
    const retention = slug === "north" ? 3650 : null;
    const [row] = await sql<{ id: number }[]>`
      insert into tenant (slug, name, sandbox, retention_days) values (${slug}, ${slug}, ${sandbox}, ${retention}) returning id`;
    const made = { id: row?.id as number, slug, sandbox };
    tenants.push(made);
    const secret = `whsec_${secretOf(slug).toString("base64")}`;
    for (const [path, [source, form]] of Object.entries(routes)) {
      await sql`
        insert into actions.route (tenant_id, kind, address, secret, source, form)
        values (${made.id}, 'crm', ${`${crmUrl}/${path}`}, ${secret}, ${source}, ${form})`;
    }
    return made;
  };
  const key = async (of: Tenant, label: string, { campaign, forms, limited }: KeyOptions = {}) => {
    const text = keyText(how, forms ? "form_live_" : of.sandbox ? "lead_test_" : "lead_live_");
    const surface = forms ? "forms" : "intake";
    const raised = 1_000_000;
    const [row] = await sql<{ id: number }[]>`
      insert into api_key
        (tenant_id, campaign_id, surface, label, digest, last4, limit_per_minute, limit_burst, limit_until)
      values (
        ${of.id}, (select id from campaign where tenant_id = ${of.id} and slug = ${
      campaign ?? ""
    }), ${surface}, ${label},
        decode(${keyDigest(text)}, 'hex'), ${text.slice(-4)}, ${raised}, ${raised}, ${
      // One that was raised until long ago has the published limit.
      limited ? "2001-01-01" : farAway}
      ) returning id`;
    keys.push({
      ...{ id: row?.id as number, tenant: of.slug, text, surface, label, campaign: campaign ?? null },
      limit: limited ? (forms ? { perMinute: 1200, burst: 200 } : { perMinute: 600, burst: 101 }) : null,
    });
  };

  await sql`insert into ip_limit (network, per_minute, burst, until)
    values (${raisedNetwork}::cidr, 10000000, 1000000, ${farAway}), ('127.200.0.0/16', 10000000, 1000000, '2001-01-01')`;
  const routes = {
    north: { north: ["", ""] },
    south: { south: ["", ""], "south/kept": ["kept", ""], "south/contact": ["", "contact"] },
    // An operator gives it a route in the end.
    ...{ bare: hasOperators ? {} : { bare: ["", ""] } },
  } as const;
  for (const [slug, all] of Object.entries(routes)) {
    const made = await tenant(slug, all as unknown as Record<string, [string, string]>);
    const campaign = `${slug}-spring`;
    await sql`insert into campaign (tenant_id, slug) values (${made.id}, ${campaign})`;
    await sql`insert into form (tenant_id, form_key, required, blocked) values (${made.id}, 'contact', '{name,email}', ${[
      blockedWord,
    ]})`;
    await key(made, "kept", { campaign });
    for (let spare = 0; spare < spareKeys; spare += 1) await key(made, `spare-${spare}`, { campaign });
    await key(made, "site", { forms: true });
  }
  await key(await tenant("sandbox"), "sandbox");
  const tight = await tenant("tight", { tight: ["", ""] });
  await key(tight, "tight", { limited: true });
  await key(tight, "tight forms", { limited: true, forms: true });
  return { tenants, keys };
}
