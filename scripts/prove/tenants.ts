/**
 * Inserts the tenants of a round and their keys with plain statements.
 *
 * @module
 */

import type postgres from "postgres";
import type { Random } from "./random.ts";
import type { Key, Notes } from "./history.ts";
import { blockedPhrases, formKeys, keyDigest, keyText } from "./leads.ts";
import { secretOf } from "./sink.ts";

/** The addresses with raised limits: all except those that exceed the published limit. */
const raisedNetwork = "127.0.0.0/9";
/** The end of limits that stay raised. */
export const farFuture = "2100-01-01";
const spareKeys = 10;

interface KeyOptions {
  readonly campaign?: string;
  readonly forms?: true;
  /** Whether the key has the published limit. */
  readonly limited?: true;
}

type Tenant = Notes["tenants"][number];
type Route = readonly [path: string, source?: string, form?: string];

/**
 * Inserts three tenants with a campaign, forms and spare keys: one with a retention period and four recipients, one with routes
 * by source and form and a mailbox for all, and one without a route; a sandbox; and a tenant whose only route is by source and
 * whose keys have the published limits.
 */
export async function makeTenants(
  sql: postgres.Sql,
  { random, crmUrl, hasOperators }: {
    readonly random: Random;
    readonly crmUrl: string;
    readonly hasOperators: boolean;
  },
): Promise<Pick<Notes, "tenants" | "keys">> {
  const tenants: Tenant[] = [];
  const keys: Key[] = [];
  const tenant = async (slug: string, routes: readonly Route[] = []) => {
    const sandbox = slug === "sandbox";
    const retention = slug === "north" ? 3650 : null;
    const [row] = await sql<{ id: number }[]>`
      insert into tenant (slug, name, sandbox, retention_days) values (${slug}, ${slug}, ${sandbox}, ${retention}) returning id`;
    const made = { id: row?.id as number, slug, sandbox };
    tenants.push(made);
    const secret = `whsec_${secretOf(slug).toString("base64")}`;
    for (const [path, source = "", form = ""] of routes) {
      const kind = path.includes("@") ? "email" : path.startsWith("slack") ? "slack" : "crm";
      await sql`
        insert into actions.route (tenant_id, kind, address, secret, source, form) values
          (${made.id}, ${kind}, ${kind === "email" ? path : `${crmUrl}/${path}`}, ${
        kind === "crm" ? secret : null
      }, ${source}, ${form})`;
    }
    return made;
  };
  const key = async (
    owner: Tenant,
    label: string,
    { campaign, forms: isForms, limited }: KeyOptions = {},
  ) => {
    const text = keyText(random, isForms ? "form_live_" : owner.sandbox ? "lead_test_" : "lead_live_");
    const surface = isForms ? "forms" : "intake";
    const raised = 1_000_000;
    const [row] = await sql<{ id: number }[]>`
      insert into api_key
        (tenant_id, campaign_id, surface, label, digest, last4, limit_per_minute, limit_burst, limit_until)
      values (
        ${owner.id}, (select id from campaign where tenant_id = ${owner.id} and slug = ${
      campaign ?? ""
    }), ${surface}, ${label},
        decode(${keyDigest(text)}, 'hex'), ${text.slice(-4)}, ${raised}, ${raised}, ${
      // After a raise has ended, the published limit applies.
      limited ? "2001-01-01" : farFuture}
      ) returning id`;
    keys.push({
      id: row?.id as number,
      tenant: owner.slug,
      text,
      surface,
      label,
      campaign: campaign ?? null,
      limit: limited ? (isForms ? { perMinute: 1200, burst: 200 } : { perMinute: 600, burst: 101 }) : null,
    });
  };

  await sql`insert into ip_limit (network, per_minute, burst, until)
    values (${raisedNetwork}::cidr, 10000000, 1000000, ${farFuture}), ('127.200.0.0/16', 10000000, 1000000, '2001-01-01'),
      ('127.0.0.0/8', 120, 31, ${farFuture})`;
  const routes: Readonly<Record<string, readonly Route[]>> = {
    north: [["hook/north"], ["slack/north"], ["one@north.example"], ["two@north.example"]],
    south: [
      ...[["hook/south"], ["hook/south/kept", "kept"], ["hook/south/contact", "", "contact"]] as const,
      ["one@south.example"],
    ],
    // In a round with operators, ctl adds the route later.
    bare: hasOperators ? [] : [["hook/bare"]],
  };
  // The first tenant and the first key have the same id, but the key is another tenant's, so that confusing the ids shows.
  const tight = await tenant("tight", [["hook/tight", "tight"]]);
  for (const [slug, all] of Object.entries(routes)) {
    const made = await tenant(slug, all);
    const campaign = `${slug}-spring`;
    await sql`insert into campaign (tenant_id, slug) values (${made.id}, ${campaign})`;
    await sql`
      insert into form (tenant_id, form_key, required, blocked)
      select ${made.id}, key, '{name,email,consent}', ${[...blockedPhrases]} from unnest(${[
      ...formKeys,
    ]}::text[]) as key`;
    await key(made, "site", { forms: true });
    await key(made, "kept", { campaign });
    for (let spare = 0; spare < spareKeys; spare += 1) await key(made, `spare-${spare}`, { campaign });
  }
  await key(await tenant("sandbox"), "sandbox");
  await key(tight, "tight", { limited: true });
  // Two keys that share the forms limit of their tenant.
  for (const _ of [1, 2]) await key(tight, "tight forms", { limited: true, forms: true });
  return { tenants, keys };
}
