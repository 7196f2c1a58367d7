/**
 * `ctl tenant set`, `disable` and `enable`
 *
 * @module
 */

import { likelyTimeZone, TimeZone } from "#src/contract/time_zone.ts";
import { namedKinds } from "#src/store/delivery/effects.ts";
import { readRoutes } from "#src/store/delivery/routes.ts";
import {
  changeTenant,
  disableTenant,
  hasTimeZone,
  type TenantChange,
  type TenantStanding,
} from "#src/store/operator/tenants.ts";
import type { Pool } from "#src/store/pool.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { nameLengthMax, noSuchTenant, requireTenant } from "./tenant.ts";
import { record, shortTime } from "./terminal.ts";
import { parseLine } from "./values.ts";

/** `HH:MM`, or `null` for off. */
function parseDigest(text: string): string | null {
  if (text === "off") return null;
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) {
    throw new WrongUsage(`--digest must be a time of the day such as 07:00, or off: ${text}`);
  }
  return text;
}

/** An IANA name, as it is spelled: an older name of a zone is good too. */
function parseTimeZone(text: string): string {
  if (TimeZone.of(text)?.name === text) return text;
  const likely = likelyTimeZone(text);
  throw new WrongUsage(
    `--time-zone must be a name such as America/Chicago: ${text}${
      likely === null ? "" : ` (did you mean ${likely}?)`
    }`,
  );
}

function clockOf(timeZone: string, nowMs: number): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }).format(nowMs);
}

const set: Command = {
  words: "tenant set",
  positionals: ["SLUG"],
  options: {
    name: { value: "TEXT", description: "the customer's name, as its mails have it" },
    "time-zone": { value: "ZONE", description: "whose clock its mails show, such as America/Chicago" },
    digest: { value: "HH:MM|off", description: "when its daily mail is sent, by that clock" },
  },
  summary: "Set a tenant's name, its time zone and its daily digest",
  notes:
    `What is left out stays. The digest goes to the tenant's addresses of ctl tenant route SLUG --email.`,
  prepare(input) {
    const slug = input.first;
    const [name, zone, digest] = ["name", "time-zone", "digest"].map((option) => input.option(option));
    const change: TenantChange = {
      ...(name === undefined ? {} : { name: parseLine(name, "--name", nameLengthMax) }),
      ...(zone === undefined ? {} : { timeZone: parseTimeZone(zone) }),
      ...(digest === undefined ? {} : { digestAt: parseDigest(digest) }),
    };
    if (Object.keys(change).length === 0) throw new WrongUsage("--name, --time-zone or --digest is missing");
    return async (pool) => {
      const { timeZone } = change;
      if (timeZone !== undefined && !await hasTimeZone(pool, timeZone)) {
        throw new Refused(`The database does not know the time zone ${timeZone}; another name of it may do`);
      }
      const now = await changeTenant(pool, slug, change);
      if (now === null) throw noSuchTenant(slug);
      return {
        warning: change.digestAt == null ? undefined : await digestWarning(pool, slug),
        json: { tenant: slug, name: now.name, time_zone: now.timeZone, digest: now.digestAt },
        text: record([
          ["Tenant", slug],
          ["Name", now.name],
          ["Time zone", `${now.timeZone}, where it is ${clockOf(now.timeZone, Date.now())}`],
          ["Digest", now.digestAt === null ? "off" : `daily at ${now.digestAt}`],
        ]),
      };
    };
  },
};

/** Why the tenant gets no digest, or `undefined` when it does. */
async function digestWarning(pool: Pool, slug: string): Promise<string | undefined> {
  const { id, sandbox, isDisabled } = await requireTenant(pool, slug);
  if (sandbox) return `${slug} is a sandbox, so no digest is sent.`;
  if (isDisabled) {
    return `${slug} is disabled, so no digest is sent until ctl tenant enable ${slug} enables it.`;
  }
  const [, mail] = namedKinds;
  const routes = await readRoutes(pool, id);
  if (routes.some(({ kind, source, form }) => kind === mail && source === "" && form === "")) {
    return undefined;
  }
  return `${slug} has no mail address of its own, so no digest is sent until ` +
    `ctl tenant route ${slug} --email ADDRESS names one.`;
}

function prepareStanding(isDisabled: boolean): Command["prepare"] {
  return ({ first: slug }) => async (pool) => {
    const now = await disableTenant(pool, slug, isDisabled);
    if (now === null) throw noSuchTenant(slug);
    return {
      json: { tenant: slug, disabled_at: now.disabledAt, keys: now.keys, unchanged: now.isUnchanged },
      text: standingText(slug, now),
    };
  };
}

function standingText(slug: string, { disabledAt, isUnchanged, keys }: TenantStanding): string {
  const counted = keys === 1 ? "key" : `${keys} keys`;
  if (disabledAt === null) {
    return isUnchanged
      ? `Tenant ${slug} is not disabled.`
      : `Tenant ${slug} is enabled; its ${counted} may post again.`;
  }
  return isUnchanged
    ? `Tenant ${slug} was disabled already, ${shortTime(disabledAt)} UTC.`
    : `Tenant ${slug} is disabled; nothing of its ${counted} can be accepted any more.`;
}

const disable: Command = {
  words: "tenant disable",
  positionals: ["SLUG"],
  options: {},
  summary: "Refuse everything that a tenant's keys and forms send, until it is enabled",
  notes: `They are answered as revoked keys are: 401. When the command has returned, nothing of
them can commit any more; it waits for the commits under way. What was accepted before is
still delivered. No key can be issued to it while it is disabled.`,
  prepare: prepareStanding(true),
};

const enable: Command = {
  words: "tenant enable",
  positionals: ["SLUG"],
  options: {},
  summary: "Let a disabled tenant's keys post again",
  notes: "Keys that were revoked stay revoked.",
  prepare: prepareStanding(false),
};

/** The commands. */
export const tenantChangeCommands: readonly Command[] = [set, disable, enable];
