/** `ctl key …` */

import { createHash, getRandomValues } from "node:crypto";
import { isIP } from "node:net";
import { type KeySurface, makeKey } from "#src/contract/api_key.ts";
import { limits, type Rate } from "#src/contract/limits.ts";
import { type Command, type Input, type OptionRule, Refused, WrongUsage } from "./command.ts";
import { listCommand, requireTenant } from "./list.ts";
import { safe, shortTime } from "./terminal.ts";
import { parseCount, parseId, parseLine, parseTime } from "./values.ts";
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

// A bound against slips of the finger, far above what one database takes.
const countMax = 10_000_000;

/** The options of a command that raises a limit. */
const limitOptions: Readonly<Record<string, OptionRule>> = {
  "per-minute": { value: "N", description: "requests a minute, sustained" },
  burst: { value: "N", description: "requests at once" },
  until: { value: "TIME", description: "when the published limit applies again" },
  clear: { description: "restore the published limit now" },
};

/**
 * The limit that is given, or `null` for `--clear`.
 *
 * Chosen: one below the published limit is wrong usage, because partners build on what is published; what this is for
 * are agreed backfills, and a slip of the finger would refuse their leads.
 */
function parseLimit(input: Input, published: Rate): RaisedLimit | null {
  const names = ["per-minute", "burst", "until"] as const;
  const given = names.filter((name) => input.option(name) !== undefined);
  if (input.has("clear")) {
    if (given.length > 0) throw new WrongUsage(`--clear goes without --${given[0]}`);
    return null;
  }
  const missing = names.filter((name) => input.option(name) === undefined);
  if (missing.length > 0) {
    throw new WrongUsage(`Missing: ${missing.map((name) => `--${name}`).join(", ")}`);
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
  throw new WrongUsage(`--${name} ${count} is below the published ${published}; limits can only be raised`);
}

/** A limit in JSON. */
function limitJson(limit: RaisedLimit | null) {
  return limit === null ? null : { per_minute: limit.perMinute, burst: limit.burst, until: limit.until };
}

/** A limit in words. */
function limitText(limit: RaisedLimit): string {
  return `${limit.perMinute}/min, burst ${limit.burst} until ${shortTime(limit.until)} UTC`;
}

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
      description: "the source of every lead posted with the key; it cannot be changed",
    },
    campaign: { value: "SLUG", description: "adds the cost of the key's leads to this campaign" },
    surface: { value: "intake|forms", description: "what the key opens; intake when left out" },
  },
  summary: "Issue an API key to a tenant and print it, this once",
  notes: `SLUG is the tenant. Only a hash of the key is kept: the key cannot be read again.
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
      };
    };
  },
};

const list = listCommand({
  words: "key list",
  isOfTenant: true,
  summary: "List the keys, revoked ones too",
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
    "LAST USED": (key) => shortTime(key.lastUsedAt),
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

/** An address or a network; `ctl ip limit 203.0.113.7/24` means 203.0.113.0/24. */
function parseCidr(text: string): string {
  const [, address = "", bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits ?? 0) > (version === 4 ? 32 : 128)) {
    throw new WrongUsage(
      `CIDR must be an address or a network, such as 203.0.113.0/24 or 2001:db8::/48: ${text}`,
    );
  }
  // Clients are known by their IPv4 address, so this one would never match.
  if (/^(0*:)*:?(0*:)*ffff:/i.test(address) && version === 6) {
    throw new WrongUsage(`CIDR must be written as IPv4: ${text}`);
  }
  return text;
}

const limitIp: Command = {
  words: "ip limit",
  positionals: ["CIDR"],
  options: limitOptions,
  summary: "Raise the rate limit of the addresses in a network for a while",
  notes: `Give all three of --per-minute, --burst and --until, or --clear alone. Neither number
may be below the published one. Each address has the limit for itself. Where networks
overlap, the narrowest counts. The limit per key stands behind this one: an agreed
backfill needs ctl key limit too.`,
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
        throw new Refused(`There is no raised limit for ${cidr}; ctl ip list shows those there are`);
      }
      return {
        json: { network, limit: null },
        text: `Addresses in ${network} have the published limit again.`,
      };
    };
  },
};

const listIps = listCommand({
  words: "ip list",
  summary: "List the raised limits of networks",
  prepare: () => (pool) => listIpLimits(pool),
  empty: "No raised limits; the published one holds for every address.",
  columns: {
    "NETWORK": ({ network }) => network,
    ">PER MINUTE": ({ limit }) => String(limit.perMinute),
    ">BURST": ({ limit }) => String(limit.burst),
    "UNTIL (UTC)": ({ limit }) => shortTime(limit.until),
  },
  json: ({ network, limit }) => ({ network, ...limitJson(limit) }),
});

/** The commands of this noun. */
export const ipCommands: readonly Command[] = [limitIp, listIps];
