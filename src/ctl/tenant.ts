/** `ctl tenant …` */

import { likelyTimeZone, timeZoneName } from "#src/settings/time_zone.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { dollars, record, shortTime } from "./terminal.ts";
import { parseCount, parseLine, parseSlug } from "./values.ts";
import { listRouteKinds } from "#src/store/delivery/routes.ts";
import {
  addCampaign,
  addTenant,
  changeTenant,
  disableTenant,
  hasTimeZone,
  listCampaigns,
  listTenants,
  setRetention,
  type TenantChange,
  type TenantStatus,
} from "#src/store/operator/tenants.ts";
import { listCommand, noSuchTenant, requireTenant } from "./list.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

/** The longest name of a tenant, in characters. */
const nameLengthMax = 200;
const retentionDaysMax = 3_650;

const add: Command = {
  words: "tenant add",
  positionals: ["SLUG"],
  options: {
    name: { value: "TEXT", description: "the customer's name; the slug when left out" },
    sandbox: { description: "for tests: its keys start with lead_test_, nothing is delivered" },
  },
  summary: "Add a tenant, a customer that leads are for",
  prepare(input) {
    const slug = parseSlug(input.first);
    const name = parseLine(input.option("name") ?? slug, "--name", nameLengthMax);
    const sandbox = input.has("sandbox");
    return async (pool) => {
      if (!await addTenant(pool, { slug, name, sandbox })) {
        throw new Refused(`Tenant ${slug} exists already; ctl tenant list shows it`);
      }
      return {
        json: { tenant: slug, name, sandbox },
        text: `Added ${sandbox ? "sandbox tenant" : "tenant"} ${slug}.`,
      };
    };
  },
};

const list = listCommand({
  words: "tenant list",
  summary: "List the tenants, where their leads go and what they have set",
  notes: `ROUTES are the kinds of destinations; ctl tenant route SLUG shows the addresses.`,
  prepare: () => async (pool) => {
    const kinds = await listRouteKinds(pool);
    return (await listTenants(pool)).map((tenant) => ({ ...tenant, routes: kinds.get(tenant.id) ?? [] }));
  },
  empty: "No tenants yet; ctl tenant add SLUG adds one.",
  columns: {
    "TENANT": (tenant) => tenant.slug,
    "NAME": (tenant) => tenant.name,
    "KIND": (tenant) => tenant.sandbox ? "sandbox" : "live",
    "STATE": (tenant) => tenant.disabledAt === null ? "active" : `disabled ${shortTime(tenant.disabledAt)}`,
    "ROUTES": ({ routes, sandbox }) => routes.length > 0 ? routes.join(", ") : sandbox ? "-" : "none",
    "TIME ZONE": (tenant) => tenant.timeZone,
    "DIGEST": (tenant) => tenant.digestAt ?? "-",
    "KEPT": (tenant) => tenant.retentionDays === null ? "-" : days(tenant.retentionDays),
    "CREATED (UTC)": (tenant) => shortTime(tenant.createdAt),
  },
  json: ({ id: _, slug: tenant, digestAt: digest, ...rest }) => snakeCased({ tenant, digest, ...rest }),
});

const retention: Command = {
  words: "tenant retention",
  positionals: ["SLUG"],
  options: {
    days: { value: "N", description: `keep the content of its events N days, 1 to ${retentionDaysMax}` },
    clear: { description: "keep it for ever" },
  },
  summary: "Set how long a tenant's leads and submissions are kept",
  notes: `Older events lose their content in the background, some hundred at a time: the lead or
submission, the raw body, the text of the Idempotency-Key, collisions, and unknown terms not
used since. Events that are pending, being sent or dead keep theirs; it goes within an hour of
their delivery. A held submission that is too old can no longer be released. The event's row
stays for the counts (id, time, key, flags, cost), and a late retry with its Idempotency-Key is
still a duplicate.

Fewer days remove more, oldest first. Removed content does not come back.`,
  prepare(input) {
    const slug = input.first;
    const text = input.option("days");
    const isCleared = input.has("clear");
    if (isCleared && text !== undefined) throw new WrongUsage("--clear goes without --days");
    if (!isCleared && text === undefined) throw new WrongUsage("--days or --clear is missing");
    const kept = text === undefined ? null : parseCount(text, "--days", retentionDaysMax);
    return async (pool) => {
      if (!await setRetention(pool, slug, kept)) throw noSuchTenant(slug);
      return {
        json: { tenant: slug, retention_days: kept },
        text: `What ${slug} gets is kept ${kept === null ? "for ever" : days(kept)}.`,
      };
    };
  },
};

function days(count: number): string {
  return count === 1 ? "1 day" : `${count} days`;
}

/** The commands of this noun. */
export const tenantCommands: readonly Command[] = [add, list, retention];

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
  if (timeZoneName(text) === text) return text;
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
    "time-zone": { value: "ZONE", description: "time zone of its mails, such as America/Chicago" },
    digest: { value: "HH:MM|off", description: "when its daily mail is sent, in that time zone" },
    "digest-actions": {
      value: "on|off",
      description: "links in that mail that release held submissions",
    },
  },
  summary: "Set a tenant's name, its time zone and its daily digest",
  notes:
    `Options that you leave out do not change. The digest goes to the tenant's addresses of ctl tenant route SLUG --email.

With --digest-actions on, it shows the sender and the start of each held message, with a link that
releases it. The link works for seven days, for anyone who has the mail. FORMS_LINK_SECRET signs the
links; set it and FORMS_URL for the actions process too. With off, links already sent stop working.`,
  prepare(input) {
    const slug = input.first;
    const [name, zone, digest] = ["name", "time-zone", "digest"].map((option) => input.option(option));
    const actions = input.option("digest-actions");
    if (actions !== undefined && actions !== "on" && actions !== "off") {
      throw new WrongUsage(`--digest-actions must be on or off: ${actions}`);
    }
    const change: TenantChange = {
      ...(name === undefined ? {} : { name: parseLine(name, "--name", nameLengthMax) }),
      ...(zone === undefined ? {} : { timeZone: parseTimeZone(zone) }),
      ...(digest === undefined ? {} : { digestAt: parseDigest(digest) }),
      ...(actions === undefined ? {} : { digestActions: actions === "on" }),
    };
    if (Object.keys(change).length === 0) {
      throw new WrongUsage("--name, --time-zone, --digest or --digest-actions is missing");
    }
    return async (pool) => {
      const { timeZone } = change;
      if (timeZone !== undefined && !await hasTimeZone(pool, timeZone)) {
        throw new Refused(`The database does not know the time zone ${timeZone}; another name of it may do`);
      }
      const now = await changeTenant(pool, slug, change);
      if (now === null) throw noSuchTenant(slug);
      return {
        json: {
          ...{ tenant: slug, name: now.name, time_zone: now.timeZone, digest: now.digestAt },
          digest_actions: now.digestActions,
        },
        text: record([
          ["Tenant", slug],
          ["Name", now.name],
          ["Time zone", `${now.timeZone}, where it is ${clockOf(now.timeZone, Date.now())}`],
          ["Digest", now.digestAt === null ? "off" : `daily at ${now.digestAt}`],
          ["Digest links", now.digestActions ? "on" : "off"],
        ]),
      };
    };
  },
};

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

function standingText(slug: string, { disabledAt, isUnchanged, keys }: TenantStatus): string {
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
  summary: "Refuse everything that a tenant's keys and forms send, until it is enabled",
  notes: `They are answered like revoked keys: 401. When the command has returned, nothing of
them can commit any more; it waits for the commits under way. What was accepted before is
still delivered. No key can be issued to it while it is disabled.`,
  prepare: prepareStanding(true),
};

const enable: Command = {
  words: "tenant enable",
  positionals: ["SLUG"],
  summary: "Let a disabled tenant's keys post again",
  notes: "Keys that were revoked stay revoked.",
  prepare: prepareStanding(false),
};

/** The commands. */
export const tenantChangeCommands: readonly Command[] = [set, disable, enable];

const addCampaignCommand: Command = {
  words: "campaign add",
  positionals: ["SLUG"],
  options: { tenant: { value: "SLUG", required: true, description: "the tenant that pays for it" } },
  summary: "Add a campaign; keys bound to it add up the cost of their leads",
  prepare(input) {
    const slug = parseSlug(input.first);
    const tenant = input.required("tenant");
    return async (pool) => {
      const { id } = await requireTenant(pool, tenant);
      if (!await addCampaign(pool, { slug, tenantId: id })) {
        throw new Refused(`Tenant ${tenant} has a campaign ${slug} already; ctl campaign list shows it`);
      }
      return { json: { campaign: slug, tenant }, text: `Added campaign ${slug} of ${tenant}.` };
    };
  },
};

const listCampaignsCommand = listCommand({
  words: "campaign list",
  isOfTenant: true,
  summary: "List the campaigns and what they have spent",
  prepare: () => (pool, { tenantId }) => listCampaigns(pool, tenantId),
  empty: "No campaigns; ctl campaign add SLUG --tenant SLUG adds one.",
  columns: {
    "TENANT": (campaign) => campaign.tenant,
    "CAMPAIGN": (campaign) => campaign.campaign,
    ">SPENT": (campaign) => dollars(campaign.spendCents),
    "CREATED (UTC)": (campaign) => shortTime(campaign.createdAt),
  },
});

/** The commands of this noun. */
export const campaignCommands: readonly Command[] = [addCampaignCommand, listCampaignsCommand];
