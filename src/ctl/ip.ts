/**
 * `ctl ip …`
 *
 * @module
 */

import { isIP } from "node:net";
import { limits } from "#src/contract/limits.ts";
import { clearNetwork, limitNetwork, listIpLimits } from "#src/store/operator/ip_limits.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { limitJson, limitOptions, limitText, parseLimit } from "./limit.ts";
import { shortTime, table } from "./terminal.ts";

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

const limit: Command = {
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

const list: Command = {
  words: "ip list",
  positionals: [],
  options: {},
  summary: "List the raised limits of networks that are in force",
  prepare: () => async (pool) => {
    const raised = await listIpLimits(pool);
    return {
      json: raised.map(({ network, limit }) => ({ network, ...limitJson(limit) })),
      text: table(raised, "No raised limits; the published one holds for every address.", {
        "NETWORK": ({ network }) => network,
        ">PER MINUTE": ({ limit }) => String(limit.perMinute),
        ">BURST": ({ limit }) => String(limit.burst),
        "UNTIL (UTC)": ({ limit }) => shortTime(limit.until),
      }),
    };
  },
};

/** The commands of this noun. */
export const ipCommands: readonly Command[] = [limit, list];
