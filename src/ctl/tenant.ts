/** Defines the `ctl tenant` and `ctl campaign` commands. */

import { likelyTimeZone, timeZoneName } from "#src/settings/time_zone.ts";
import { type Command, Refused, UsageError } from "./command.ts";
import { counted, dollars, record, shortTime } from "./terminal.ts";
import { parseChoice, parseCount, parseLine, parseSlug } from "./values.ts";
import { listRouteKinds } from "#src/store/delivery/routes.ts";
import {
  addCampaign,
  addTenant,
  changeTenant,
  hasTimeZone,
  listCampaigns,
  listTenants,
  setRetention,
  setTenantDisabled,
  type TenantChange,
  type TenantStatus,
} from "#src/store/operator/tenants.ts";
import { type Pause, readPauses } from "#src/store/operator/pauses.ts";
import { listCommand, noSuchTenant, requireTenant } from "./list.ts";
import { pauseCommands, pauseJson } from "./pause.ts";
import { snakeCased } from "#src/store/operator/snake_case.ts";

/** The maximum length of a tenant's name, in characters. */
const nameLengthMax = 200;
const retentionDaysMax = 3_650;

const add: Command = {
  words: "tenant add",
  positionals: ["SLUG"],
  options: {
    name: { value: "TEXT", description: "the customer's name; default: the slug" },
    sandbox: {
      description: "for tests: its keys start with lead_test_ or form_test_, and nothing is delivered",
    },
  },
  summary: "Add a tenant: a customer who receives leads",
  prepare(input) {
    const slug = parseSlug(input.first);
    const name = parseLine(input.option("name") ?? slug, "--name", nameLengthMax);
    const sandbox = input.has("sandbox");
    return async (pool) => {
      if (!await addTenant(pool, { slug, name, sandbox })) {
        throw new Refused(`Tenant ${slug} already exists; ctl tenant list shows it`);
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
  summary: "List the tenants with their routes and settings",
  notes: `ROUTES shows the kinds of destination; ctl tenant route SLUG shows the addresses.`,
  prepare: () => async (pool) => {
    const kinds = await listRouteKinds(pool);
    const pauses = Map.groupBy(await readPauses(pool, null), ({ tenant }) => tenant);
    return (await listTenants(pool)).map((tenant) => ({
      ...tenant,
      routes: kinds.get(tenant.id) ?? [],
      pauses: pauses.get(tenant.slug) ?? [],
    }));
  },
  empty: "No tenants yet; ctl tenant add SLUG adds one.",
  columns: {
    "TENANT": (tenant) => tenant.slug,
    "NAME": (tenant) => tenant.name,
    "KIND": (tenant) => tenant.sandbox ? "sandbox" : "live",
    "STATE": stateText,
    "ROUTES": ({ routes, sandbox }) => routes.length > 0 ? routes.join(", ") : sandbox ? "-" : "none",
    "TIME ZONE": (tenant) => tenant.timeZone,
    "DIGEST": (tenant) => tenant.digestAt ?? "-",
    "RETENTION": (tenant) => tenant.retentionDays === null ? "forever" : counted(tenant.retentionDays, "day"),
    "CREATED (UTC)": (tenant) => shortTime(tenant.createdAt),
  },
  json: ({ id: _, hasRoute: __, slug: tenant, digestAt: digest, pauses, ...rest }) =>
    snakeCased({ tenant, digest, ...rest, paused: pauses.map(pauseJson) }),
});

function stateText(
  { disabledAt, pauses }: { readonly disabledAt: string | null; readonly pauses: readonly Pause[] },
): string {
  const states = [
    ...(disabledAt === null ? [] : [`disabled ${shortTime(disabledAt)}`]),
    ...pauses.map(({ scope, since }) => `${scope === "all" ? "" : `${scope} `}paused ${shortTime(since)}`),
  ];
  return states.join(", ") || "active";
}

const retention: Command = {
  words: "tenant retention",
  positionals: ["SLUG"],
  options: {
    days: {
      value: "N",
      description: `keep the content of the tenant's events for N days, 1 to ${retentionDaysMax}`,
    },
    clear: { description: "keep the content forever" },
  },
  summary: "Set how long a tenant's leads and submissions are kept",
  notes: `The content of older events is removed in the background, a few hundred at a time: the lead or
submission, the raw body, the text of the Idempotency-Key, collisions, and unknown terms that no
newer lead uses. Events that are pending, being sent or dead keep their content until they are
delivered, and for up to an hour after that. A held submission that is too old can no longer be
released. The event's row (ID, time, API key, flags, cost) is kept for the counts, and a late retry
with the same Idempotency-Key is still recognized as a duplicate.

If you lower the number of days, more content is removed, oldest first. This cannot be undone.`,
  prepare(input) {
    const slug = input.first;
    const text = input.option("days");
    const isCleared = input.has("clear");
    if (isCleared && text !== undefined) throw new UsageError("--clear cannot be combined with --days");
    if (!isCleared && text === undefined) throw new UsageError("--days or --clear is required");
    const retentionDays = text === undefined ? null : parseCount(text, "--days", retentionDaysMax);
    return async (pool) => {
      if (!await setRetention(pool, slug, retentionDays)) throw noSuchTenant(slug);
      const duration = retentionDays === null ? "forever" : `for ${counted(retentionDays, "day")}`;
      return {
        json: { tenant: slug, retention_days: retentionDays },
        text: `The content of ${slug}'s events is kept ${duration}.`,
      };
    };
  },
};

/** Parses `HH:MM`; returns `null` for `off`. */
function parseDigest(text: string): string | null {
  if (text === "off") return null;
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) {
    throw new UsageError(`--digest must be a time of day such as 07:00, or off: ${text}`);
  }
  return text;
}

/** Parses an IANA time zone name, which must be spelled exactly; accepts deprecated aliases. */
function parseTimeZone(text: string): string {
  if (timeZoneName(text) === text) return text;
  const likely = likelyTimeZone(text);
  throw new UsageError(
    `--time-zone must be an IANA time zone such as America/Chicago: ${text}${
      likely === null ? "" : ` (did you mean ${likely}?)`
    }`,
  );
}

function localTimeIn(timeZone: string, nowMs: number): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }).format(nowMs);
}

const set: Command = {
  words: "tenant set",
  positionals: ["SLUG"],
  options: {
    name: { value: "TEXT", description: "the customer's name, as shown in its emails" },
    "time-zone": { value: "ZONE", description: "time zone used in its emails, such as America/Chicago" },
    digest: { value: "HH:MM|off", description: "local time at which its daily digest is sent" },
    "digest-actions": {
      value: "on|off",
      description: "whether the digest has links that release held submissions",
    },
  },
  summary: "Set a tenant's name, time zone and daily digest",
  notes:
    `Settings that you leave out keep their values. The digest goes to the addresses set with ctl tenant route SLUG --email.

With --digest-actions on, the digest lists up to 20 held messages, each with its sender, an excerpt and a link
that releases it. The link works for seven days, for anyone who has the email. FORMS_LINK_SECRET signs
the links; set it and FORMS_URL for the actions process too. --digest-actions off also disables the
links already sent.`,
  prepare(input) {
    const slug = input.first;
    const [name, zone, digest] = ["name", "time-zone", "digest"].map((option) => input.option(option));
    const actions = input.option("digest-actions");
    const change: TenantChange = {
      ...(name === undefined ? {} : { name: parseLine(name, "--name", nameLengthMax) }),
      ...(zone === undefined ? {} : { timeZone: parseTimeZone(zone) }),
      ...(digest === undefined ? {} : { digestAt: parseDigest(digest) }),
      ...(actions === undefined
        ? {}
        : { digestActions: parseChoice(actions, "--digest-actions", ["on", "off"]) === "on" }),
    };
    if (Object.keys(change).length === 0) {
      throw new UsageError("Give at least one of --name, --time-zone, --digest and --digest-actions");
    }
    return async (pool) => {
      const { timeZone } = change;
      if (timeZone !== undefined && !await hasTimeZone(pool, timeZone)) {
        throw new Refused(`PostgreSQL does not recognize the time zone ${timeZone}; try another name for it`);
      }
      const changed = await changeTenant(pool, slug, change);
      if (changed === null) throw noSuchTenant(slug);
      return {
        json: {
          tenant: slug,
          name: changed.name,
          time_zone: changed.timeZone,
          digest: changed.digestAt,
          digest_actions: changed.digestActions,
        },
        text: record([
          ["Tenant", slug],
          ["Name", changed.name],
          ["Time zone", `${changed.timeZone}, where it is ${localTimeIn(changed.timeZone, Date.now())}`],
          ["Digest", changed.digestAt === null ? "off" : `daily at ${changed.digestAt}`],
          ["Digest links", changed.digestActions ? "on" : "off"],
        ]),
      };
    };
  },
};

function prepareSetDisabled(isDisabled: boolean): Command["prepare"] {
  return ({ first: slug }) => async (pool) => {
    const status = await setTenantDisabled(pool, slug, isDisabled);
    if (status === null) throw noSuchTenant(slug);
    const { disabledAt, keys, isUnchanged } = status;
    return {
      json: { tenant: slug, disabled_at: disabledAt, keys, unchanged: isUnchanged },
      text: statusText(slug, status),
    };
  };
}

function statusText(slug: string, { disabledAt, isUnchanged, keys }: TenantStatus): string {
  const keyText = keys === 1 ? "key" : `${keys} keys`;
  if (disabledAt === null) {
    return isUnchanged
      ? `Tenant ${slug} is not disabled.`
      : `Tenant ${slug} is enabled; posts with its ${keyText} are accepted again.`;
  }
  return isUnchanged
    ? `Tenant ${slug} has been disabled since ${shortTime(disabledAt)} UTC.`
    : `Tenant ${slug} is disabled; posts with its ${keyText} are no longer accepted. Partners do not retry a 401, so these
leads are lost. To accept leads and deliver them later: ctl tenant pause ${slug}; ctl tenant enable ${slug}`;
}

const disable: Command = {
  words: "tenant disable",
  positionals: ["SLUG"],
  summary: "Refuse all leads and form submissions sent with a tenant's keys, when the customer leaves",
  notes:
    `Its posts get 401, as with a revoked key. Partners do not retry a 401, so their leads are lost: to stop
only the deliveries for some time, use ctl tenant pause. The command waits for commits in progress. Once
the command returns, nothing more can be stored with the tenant's keys. Events accepted earlier are
still delivered. While the tenant is disabled, you cannot issue keys to it.`,
  prepare: prepareSetDisabled(true),
};

const enable: Command = {
  words: "tenant enable",
  positionals: ["SLUG"],
  summary: "Accept requests with a disabled tenant's keys again",
  notes: "Revoked keys stay revoked.",
  prepare: prepareSetDisabled(false),
};

/** The `ctl tenant` commands, apart from `ctl tenant route`. */
export const tenantCommands: readonly Command[] = [
  add,
  list,
  retention,
  set,
  ...pauseCommands,
  disable,
  enable,
];

const addCampaignCommand: Command = {
  words: "campaign add",
  positionals: ["SLUG"],
  options: { tenant: { value: "SLUG", required: true, description: "the tenant that pays for it" } },
  summary: "Add a campaign, to track the total cost of the leads posted with its keys",
  prepare(input) {
    const slug = parseSlug(input.first);
    const tenant = input.required("tenant");
    return async (pool) => {
      const { id } = await requireTenant(pool, tenant);
      if (!await addCampaign(pool, { slug, tenantId: id })) {
        throw new Refused(`Tenant ${tenant} already has a campaign ${slug}; ctl campaign list shows it`);
      }
      return { json: { campaign: slug, tenant }, text: `Added campaign ${slug} to ${tenant}.` };
    };
  },
};

const listCampaignsCommand = listCommand({
  words: "campaign list",
  isTenantScoped: true,
  summary: "List the campaigns and their costs",
  notes: "CREDIT is for leads that ctl lead return has returned; NET is GROSS without it.",
  prepare: () => (pool, { tenantId }) => listCampaigns(pool, tenantId),
  empty: "No campaigns; ctl campaign add SLUG --tenant SLUG adds one.",
  columns: {
    "TENANT": (campaign) => campaign.tenant,
    "CAMPAIGN": (campaign) => campaign.campaign,
    ">GROSS": (campaign) => dollars(campaign.spendCents),
    ">CREDIT": (campaign) => dollars(campaign.creditCents),
    ">NET": (campaign) => dollars(campaign.netCents),
    "CREATED (UTC)": (campaign) => shortTime(campaign.createdAt),
  },
});

export const campaignCommands: readonly Command[] = [addCampaignCommand, listCampaignsCommand];
