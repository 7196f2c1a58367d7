/**
 * `ctl key …`
 *
 * @module
 */

import { createHash, getRandomValues } from "node:crypto";
import { type KeySurface, makeKey } from "#src/contract/api_key.ts";
import { limits } from "#src/contract/limits.ts";
import { insertKey, limitKey, type ListedKey, listKeys, revokeKey } from "#src/store/operator/api_keys.ts";
import { findCampaign } from "#src/store/operator/campaigns.ts";
import { type Command, type Input, Refused, WrongUsage } from "./command.ts";
import { limitJson, limitOptions, limitText, parseLimit } from "./limit.ts";
import { twinWarning } from "./key_twins.ts";
import { optionalTenantId, requireTenant, tenantOption } from "./tenant.ts";
import { safe, shortTime, table } from "./terminal.ts";
import { parseId, parseLine } from "./values.ts";

const labelLengthMax = 100;

function parseSurface(input: Input): KeySurface {
  const surface = input.option("surface") ?? "intake";
  if (surface !== "intake" && surface !== "forms") {
    throw new WrongUsage(`--surface must be intake or forms: ${surface}`);
  }
  return surface;
}

function noSuchKey(id: string): Refused {
  return new Refused(`There is no key ${id}; ctl key list shows those there are`);
}

const issue: Command = {
  words: "key issue",
  positionals: ["SLUG"],
  options: {
    label: {
      value: "LABEL",
      required: true,
      description: "becomes the source of every lead posted with the key; it cannot be changed",
    },
    campaign: { value: "SLUG", description: "adds the cost of the key's leads to this campaign" },
    surface: { value: "intake|forms", description: "what the key opens; intake when left out" },
  },
  summary: "Issue an API key to a tenant and print it, this once",
  notes: `SLUG is the tenant. Only a hash of the key is kept: nobody can read the key again.
To replace one, issue a second, cut over, then revoke the first.`,
  prepare(input) {
    const tenant = input.first;
    const label = parseLine(input.required("label"), "--label", labelLengthMax);
    const surface = parseSurface(input);
    const campaign = input.option("campaign") ?? null;
    return async (pool) => {
      const { id: tenantId, sandbox } = await requireTenant(pool, tenant);
      const campaignId = campaign === null ? null : await findCampaign(pool, { slug: campaign, tenantId });
      if (campaign !== null && campaignId === null) {
        throw new Refused(
          `Tenant ${tenant} has no campaign ${campaign}; ctl campaign list --tenant ${tenant} shows its own`,
        );
      }
      const key = makeKey({ surface, sandbox }, (bytes) => getRandomValues(bytes));
      const digest = createHash("sha256").update(key).digest("hex");
      const id = await insertKey(pool, {
        tenantId,
        campaignId,
        surface,
        label,
        digest,
        last4: key.slice(-4),
      });
      if (id === null) {
        throw new Refused(`Tenant ${tenant} is disabled; ctl tenant enable ${tenant} ends that`);
      }
      return {
        json: { id, key, tenant, label, surface, campaign },
        text: [
          `Issued key ${id} for ${tenant} (${surface}, source "${safe(label)}"${
            campaign === null ? "" : `, campaign ${campaign}`
          }).`,
          `  ${key}`,
          "Store it now: it is not shown again, only its hash is kept.",
        ].join("\n\n"),
        warning: twinWarning(await listKeys(pool, tenantId), id),
      };
    };
  },
};

function keyJson(key: ListedKey) {
  return {
    id: key.id,
    tenant: key.tenant,
    label: key.label,
    surface: key.surface,
    last4: key.last4,
    campaign: key.campaign,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    revoked_at: key.revokedAt,
    suspended_at: key.suspendedAt,
    limit: limitJson(key.limit),
  };
}

const list: Command = {
  words: "key list",
  positionals: [],
  options: tenantOption,
  summary: "List the keys, revoked ones too",
  prepare: (input) => async (pool) => {
    const keys = await listKeys(pool, await optionalTenantId(pool, input.option("tenant")));
    return {
      json: keys.map(keyJson),
      text: table(keys, "No keys; ctl key issue SLUG --label LABEL issues one.", {
        ">ID": (key) => key.id,
        "TENANT": (key) => key.tenant,
        "SOURCE": (key) => key.label,
        "SURFACE": (key) => key.surface,
        "KEY": (key) => `…${key.last4}`,
        "CAMPAIGN": (key) => key.campaign ?? "-",
        "CREATED (UTC)": (key) => shortTime(key.createdAt),
        "LAST USED": (key) => shortTime(key.lastUsedAt),
        "STATE": (key) => keyState(key),
      }),
      warning: twinWarning(keys),
    };
  },
};

function keyState(key: ListedKey): string {
  if (key.revokedAt !== null) return `revoked ${shortTime(key.revokedAt)}`;
  if (key.suspendedAt !== null) return `suspended ${shortTime(key.suspendedAt)}`;
  return key.limit === null ? "active" : `active, ${limitText(key.limit)}`;
}

const revoke: Command = {
  words: "key revoke",
  positionals: ["ID"],
  options: {},
  summary: "Revoke a key at once and for good",
  notes: `When the command has returned, no event of the key can commit any more; it waits
for the commits under way. Revoking a revoked key changes nothing and exits 0.`,
  prepare(input) {
    const id = parseId(input.first, "ctl key list");
    return async (pool) => {
      const revocation = await revokeKey(pool, id);
      if (revocation === null) throw noSuchKey(id);
      const { tenant, label, revokedAt, before } = revocation;
      const name = `Key ${id} of ${tenant} (source "${safe(label)}")`;
      return {
        json: { id, tenant, label, revoked_at: revokedAt, already_revoked: before },
        text: before
          ? `${name} was revoked already, ${shortTime(revokedAt)} UTC.`
          : `${name} is revoked; nothing of it can be accepted any more.`,
      };
    };
  },
};

const limit: Command = {
  words: "key limit",
  positionals: ["ID"],
  options: limitOptions,
  summary: "Raise a key's rate limit for a while, such as for a backfill",
  notes: `Give all three of --per-minute, --burst and --until, or --clear alone. Neither number
may be below the published one. The limit per address stands before this one: an agreed
backfill needs ctl ip limit too.`,
  prepare(input) {
    const id = parseId(input.first, "ctl key list");
    const raised = parseLimit(input, limits.keyRate);
    return async (pool) => {
      const outcome = await limitKey(pool, id, raised);
      if (outcome === "not_found") throw noSuchKey(id);
      if (outcome === "revoked") throw new Refused(`Key ${id} is revoked; issue another`);
      return {
        json: { id, limit: limitJson(raised) },
        text: raised === null
          ? `Key ${id} has the published limit again.`
          : `Key ${id} has a raised limit: ${limitText(raised)}.`,
      };
    };
  },
};

/** The commands of this noun. */
export const keyCommands: readonly Command[] = [issue, list, revoke, limit];
