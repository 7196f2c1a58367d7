/** Defines the `ctl key` and `ctl ip` commands. */

import { createHash, getRandomValues } from "node:crypto";
import { isIP } from "node:net";
import { generateKey } from "#src/contract/api_key.ts";
import { limits, type Rate } from "#src/contract/limits.ts";
import { type Command, type Input, type OptionRule, Refused, UsageError } from "./command.ts";
import { listCommand, requireTenant } from "./list.ts";
import { safe, shortTime } from "./terminal.ts";
import { parseChoice, parseCount, parseId, parseLine, parseTime } from "./values.ts";
import {
  clearNetwork,
  insertKey,
  limitKey,
  limitNetwork,
  type ListedKey,
  listIpLimits,
  listKeys,
  type RaisedLimit,
  revokeKey,
} from "#src/store/operator/api_keys.ts";
import { findCampaign } from "#src/store/operator/tenants.ts";

// Catches typos; far above what one database can accept.
const countMax = 10_000_000;

/** The options of `key limit` and `ip limit`. */
const limitOptions: Readonly<Record<string, OptionRule>> = {
  "per-minute": { value: "N", description: "requests per minute, sustained" },
  burst: { value: "N", description: "requests at once" },
  until: { value: "TIME", description: "when the usual limit applies again" },
  clear: { description: "restore the usual limit now" },
};

/**
 * Parses a limit; returns `null` for `--clear`.
 *
 * Chosen: a limit below the published one is a usage error, because senders rely on the published one.
 */
function parseLimit(input: Input, published: Rate): RaisedLimit | null {
  const names = ["per-minute", "burst", "until"] as const;
  const given = names.filter((name) => input.option(name) !== undefined);
  if (input.has("clear")) {
    if (given.length > 0) throw new UsageError(`--clear cannot be combined with --${given[0]}`);
    return null;
  }
  const missing = names.filter((name) => input.option(name) === undefined);
  if (missing.length > 0) {
    throw new UsageError(`Missing: ${missing.map((name) => `--${name}`).join(", ")}`);
  }
  return {
    perMinute: parseRaised(input, "per-minute", published.perMinute),
    burst: parseRaised(input, "burst", published.burst),
    until: parseTime(input.required("until"), { name: "--until", direction: "future", nowMs: Date.now() }),
  };
}

function parseRaised(input: Input, name: "per-minute" | "burst", published: number): number {
  const count = parseCount(input.required(name), `--${name}`, countMax);
  if (count >= published) return count;
  throw new UsageError(
    `--${name} ${count} is below the published limit of ${published}; limits can only be raised`,
  );
}

function limitJson(limit: RaisedLimit | null) {
  return limit === null ? null : { per_minute: limit.perMinute, burst: limit.burst, until: limit.until };
}

function limitText(limit: RaisedLimit): string {
  return `${limit.perMinute}/min, burst ${limit.burst}, until ${shortTime(limit.until)} UTC`;
}

/** The maximum length of a key's label, the source of its leads, in characters. */
export const labelLengthMax = 100;

function noSuchKey(id: string): Refused {
  return new Refused(`There is no key ${id}; see ctl key list`);
}

const issue: Command = {
  words: "key issue",
  positionals: ["SLUG"],
  options: {
    label: {
      value: "LABEL",
      required: true,
      description: "the source of every lead posted with the key; it cannot be changed",
    },
    campaign: { value: "SLUG", description: "adds the cost of the key's leads to this campaign" },
    surface: { value: "intake|forms", description: "the surface that the key is for; default intake" },
  },
  summary: "Issue an API key to a tenant and print it once",
  notes: `SLUG is the tenant. Only a hash of the key and its last four characters are stored, so it cannot be
shown again. To replace a key, issue a second one, switch the sender to it, then revoke the first.`,
  prepare(input) {
    const tenant = input.first;
    const label = parseLine(input.required("label"), "--label", labelLengthMax);
    const surface = parseChoice(input.option("surface") ?? "intake", "--surface", ["intake", "forms"]);
    const campaign = input.option("campaign") ?? null;
    return async (pool) => {
      const { id: tenantId, sandbox } = await requireTenant(pool, tenant);
      const campaignId = campaign === null ? null : await findCampaign(pool, { slug: campaign, tenantId });
      if (campaign !== null && campaignId === null) {
        throw new Refused(
          `Tenant ${tenant} has no campaign ${campaign}; ctl campaign list --tenant ${tenant} shows its campaigns`,
        );
      }
      const key = generateKey({ surface, sandbox }, (bytes) => getRandomValues(bytes));
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
        throw new Refused(`Tenant ${tenant} is disabled; to enable it, run ctl tenant enable ${tenant}`);
      }
      return {
        json: { id, key, tenant, label, surface, campaign },
        text: [
          `Issued key ${id} for ${tenant} (${surface}, source "${safe(label)}"${
            campaign === null ? "" : `, campaign ${campaign}`
          }).`,
          `  ${key}`,
          "Store it now; it will not be shown again.",
        ].join("\n\n"),
      };
    };
  },
};

const list = listCommand({
  words: "key list",
  isTenantScoped: true,
  summary: "List the keys, including revoked ones",
  prepare: () => (pool, { tenantId }) => listKeys(pool, tenantId),
  empty: "No keys; ctl key issue SLUG --label LABEL issues one.",
  columns: {
    ">ID": (key) => key.id,
    "TENANT": (key) => key.tenant,
    "SOURCE": (key) => key.label,
    "SURFACE": (key) => key.surface,
    "KEY": (key) => `…${key.last4}`,
    "CAMPAIGN": (key) => key.campaign ?? "-",
    "CREATED (UTC)": (key) => shortTime(key.createdAt),
    "LAST USED (UTC)": (key) => shortTime(key.lastUsedAt),
    "STATE": (key) => keyState(key),
  },
});

function keyState(key: ListedKey): string {
  if (key.revokedAt !== null) return `revoked ${shortTime(key.revokedAt)}`;
  if (key.suspendedAt !== null) return `suspended ${shortTime(key.suspendedAt)}`;
  return key.limit === null ? "active" : `active, ${limitText(key.limit)}`;
}

const revoke: Command = {
  words: "key revoke",
  positionals: ["ID"],
  summary: "Revoke a key immediately and permanently",
  notes: `The command waits for commits in progress. Once it returns, nothing more can be stored with the key.
Revoking a revoked key changes nothing and exits 0.`,
  prepare(input) {
    const id = parseId(input.first, "ctl key list");
    return async (pool) => {
      const revocation = await revokeKey(pool, id);
      if (revocation === null) throw noSuchKey(id);
      const { tenant, label, revokedAt, wasRevoked } = revocation;
      const name = `Key ${id} of ${tenant} (source "${safe(label)}")`;
      return {
        json: { id, tenant, label, revoked_at: revokedAt, already_revoked: wasRevoked },
        text: wasRevoked
          ? `${name} was already revoked, at ${shortTime(revokedAt)} UTC.`
          : `${name} has been revoked; requests with it are no longer accepted.`,
      };
    };
  },
};

const limit: Command = {
  words: "key limit",
  positionals: ["ID"],
  options: limitOptions,
  summary: "Temporarily raise a key's rate limit, for example for a backfill",
  notes: `Give all three of --per-minute, --burst and --until, or --clear alone. Neither number
may be below the published limit. The limit per address is checked before this one, so a backfill
also needs ctl ip limit.`,
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
          ? `Key ${id} has the usual limit again.`
          : `Key ${id} has a raised limit: ${limitText(raised)}.`,
      };
    };
  },
};

/** Checks an address or a network; the store clears its host bits. */
function parseCidr(text: string): string {
  const [, address = "", bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits ?? 0) > (version === 4 ? 32 : 128)) {
    throw new UsageError(
      `CIDR must be an address or a network, such as 203.0.113.0/24 or 2001:db8::/48: ${text}`,
    );
  }
  // IPv4-mapped client addresses are converted to IPv4, so an IPv4-mapped IPv6 network would never match.
  if (/^(0*:)*:?(0*:)*ffff:/i.test(address) && version === 6) {
    throw new UsageError(`CIDR must be written as IPv4: ${text}`);
  }
  return text;
}

const limitIp: Command = {
  words: "ip limit",
  positionals: ["CIDR"],
  options: limitOptions,
  summary: "Temporarily raise the rate limit of the addresses in a network",
  notes: `Give all three of --per-minute, --burst and --until, or --clear alone. Neither number
may be below the published limit. The limit applies to each address separately. If networks
overlap, the narrowest applies. The limit per key is checked after this one, so a backfill
also needs ctl key limit.`,
  prepare(input) {
    const cidr = parseCidr(input.first);
    const raised = parseLimit(input, limits.ipRate);
    return async (pool) => {
      if (raised !== null) {
        const network = await limitNetwork(pool, cidr, raised);
        return {
          json: { network, limit: limitJson(raised) },
          text: `Addresses in ${network} have a raised limit: ${limitText(raised)}.`,
        };
      }
      const network = await clearNetwork(pool, cidr);
      if (network === null) {
        throw new Refused(`There is no raised limit for ${cidr}; see ctl ip list`);
      }
      return {
        json: { network, limit: null },
        text: `The raised limit for ${network} has been removed.`,
      };
    };
  },
};

const listIps = listCommand({
  words: "ip list",
  summary: "List the raised limits of networks",
  prepare: () => (pool) => listIpLimits(pool),
  empty: "No raised limits; the usual limit applies to every address.",
  columns: {
    "NETWORK": ({ network }) => network,
    ">PER MINUTE": ({ limit }) => String(limit.perMinute),
    ">BURST": ({ limit }) => String(limit.burst),
    "UNTIL (UTC)": ({ limit }) => shortTime(limit.until),
  },
  json: ({ network, limit }) => ({ network, ...limitJson(limit) }),
});

export const keyCommands: readonly Command[] = [issue, list, revoke, limit, limitIp, listIps];
