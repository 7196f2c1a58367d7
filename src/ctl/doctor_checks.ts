/** Defines the checks of `ctl doctor`. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ActionsConfig } from "#src/actions/config.ts";
import { shippedNames } from "#src/actions/crm/shipped.ts";
import { verifyMailServer } from "#src/actions/smtp.ts";
import { isLoopbackHostname } from "#src/http/addresses.ts";
import { chainProblem, parseChain } from "#src/http/tls_files.ts";
import type { Config } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import { publicSurfaces } from "#src/settings/surface_names.ts";
import { parseDatabaseUrl } from "#src/store/address.ts";
import { classifyStoreFailure, describeStoreFailure } from "#src/store/failure.ts";
import { readClocks, type ServerFacts } from "#src/store/operator/server_facts.ts";
import { pauseSubject, readPauses, resumeCommand } from "#src/store/operator/pauses.ts";
import {
  readRouteStates,
  routeCommand,
  type RouteState,
  secretsCommand,
  type SuspendedRoute,
  suspensionTexts,
} from "#src/store/operator/route_states.ts";
import { listTenants } from "#src/store/operator/tenants.ts";
import type { Pool } from "#src/store/pool.ts";
import { readRelease, readSchemaState, tooOldMessage } from "#src/store/schema/release.ts";
import { compareRights } from "#src/store/schema/rights.ts";
import { requestActions } from "./actions_request.ts";
import { pauseText } from "./pause.ts";
import { isRecipeChanged } from "./recipe.ts";
import { boundedText, counted } from "./terminal.ts";

export interface Finding {
  /** Warning: it works but needs attention, or it was not checked. Failure: it does not work, or leads could be lost. */
  readonly state: "ok" | "warning" | "failure";
  /** The result in words, without secrets. */
  readonly text: string;
  /** The command or the setting that fixes the problem. */
  readonly fix?: string;
}

export interface CheckInput {
  readonly environment: Environment;
  /** Whether the settings are from `--settings` files, so that the database role is the process's. */
  readonly hasProcessSettings: boolean;
  /** The service's settings, even if some are invalid; `null` if none is set. */
  readonly service: Config | null;
  /** The actions process's settings, even if some are invalid; `null` if none is set. */
  readonly actions: ActionsConfig | null;
  /** The service's database or else the actions process's; `null` without a valid URL. */
  readonly database: Database | null;
  /** The actions process's database; `null` without a valid URL, or if it is {@linkcode CheckInput.database}. */
  readonly actionsDatabase: Database | null;
  /** A file that each backup touches when it ends. */
  readonly backupStamp: string | null;
  /** The distinct values of `FORMS_LINK_SECRET` in the files; the service and the actions process must share one. */
  readonly linkSecrets: ReadonlySet<string>;
  readonly nowMs: number;
}

export interface Database {
  readonly url: string;
  /** The variable that contains the URL. */
  readonly name: string;
  readonly pool: Pool;
  /** Queries the server once for all checks; rejects if the query fails. */
  readonly facts: () => Promise<ServerFacts>;
}

/** A check. If `run` fails, the error is reported as a failure. */
export interface Check {
  readonly name: string;
  readonly run: (checkInput: CheckInput) => Finding[] | Promise<Finding[]>;
}

export const ok = (text: string): Finding => ({ state: "ok", text });
export const warning = (text: string, fix?: string): Finding => ({
  state: "warning",
  text,
  ...(fix === undefined ? {} : { fix }),
});
export const failure = (text: string, fix?: string): Finding => ({ ...warning(text, fix), state: "failure" });

/** Returns an error's code or, if the error has none or is from OpenSSL, the first line of its message. */
export function codeOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code === undefined || code.startsWith("ERR_OSSL") ? message.split("\n")[0] ?? "" : code;
}

const dayMs = 86_400_000;
// Three weeks, because an operator may be on leave for two.
const warnBeforeMs = 21 * dayMs;

const publicRenewal =
  "renew it where it was issued (such as certbot renew); the service loads the new files by itself";
const privateRenewal = (file: string) => `ctl certificates ${dirname(file)} --renew`;
const authorityReplacement = () =>
  "run ctl certificates DIR in an empty folder, then change the settings of both processes";

/**
 * The certificate files, their keys, and how to renew them. The settings checks test whether a key belongs to its
 * certificate, and the check "Actions tier" whether the two processes accept each other's certificates.
 */
const certificateFiles: readonly (readonly [string, string | null, (file: string) => string])[] = [
  ["TLS_CERT_FILE", "TLS_KEY_FILE", () => publicRenewal],
  ["ACTIONS_CLIENT_CERT_FILE", "ACTIONS_CLIENT_KEY_FILE", privateRenewal],
  ["ACTIONS_SERVER_CERT_FILE", "ACTIONS_SERVER_KEY_FILE", privateRenewal],
  ["ACTIONS_CA_FILE", null, authorityReplacement],
  ["ACTIONS_CLIENT_CA_FILE", null, authorityReplacement],
];

function certificates({ environment, nowMs }: CheckInput): Finding[] {
  const findings = certificateFiles.flatMap(([name, keyName, fixOf]) => {
    const file = environment[name]?.trim() ?? "";
    if (file === "") return [];
    try {
      const chain = parseChain(readFileSync(file, "utf8"));
      const [first] = chain;
      if (first === undefined) throw new Error("it contains no certificate");
      const keyFile = environment[keyName ?? ""]?.trim() ?? "";
      const problems = [
        ...chain.flatMap((one) => checkValidity(one, { name, nowMs, fix: fixOf(file) })),
        ...(name === "TLS_CERT_FILE" ? checkPublicChain(chain, environment) : []),
        ...(keyFile !== "" && existsSync(keyFile) && (statSync(keyFile).mode & 0o004) !== 0
          ? [warning(`every user on this machine can read ${keyName}`, `chmod 600 ${keyFile}`)]
          : []),
      ];
      return problems.length > 0 ? problems : [ok(`${name} is valid until ${first.validTo}`)];
    } catch (error) {
      return [failure(`${name} cannot be used: ${codeOf(error)}`, `check ${name}: ${file}`)];
    }
  });
  return findings.length > 0 ? findings : [ok("no certificates are set")];
}

type Certificate = ReturnType<typeof parseChain>[number];

function checkValidity(
  { validFrom, validTo, subject }: Certificate,
  { name, nowMs, fix }: { readonly name: string; readonly nowMs: number; readonly fix: string },
): Finding[] {
  const owner = subject.replaceAll("\n", ", ");
  const leftMs = Date.parse(validTo) - nowMs;
  if (leftMs <= 0) return [failure(`${name} expired on ${validTo} (${owner})`, fix)];
  if (Date.parse(validFrom) > nowMs) {
    return [failure(`${name} is not valid before ${validFrom} (${owner})`, "check the clock: timedatectl")];
  }
  if (leftMs > warnBeforeMs) return [];
  return [
    warning(
      `${name} expires in ${counted(Math.floor(leftMs / dayMs), "day")}, on ${validTo} (${owner})`,
      fix,
    ),
  ];
}

/** Finds reasons why clients may reject the public certificate. */
function checkPublicChain(chain: readonly Certificate[], environment: Environment): Finding[] {
  const problem = chainProblem(chain);
  const unnamed = publicSurfaces.map((surface) => `${surface.toUpperCase()}_URL`).flatMap((variable) => {
    const url = environment[variable]?.trim() ?? "";
    const name = url.startsWith("https:") && URL.canParse(url) ? new URL(url).hostname : "";
    return name === "" || chain[0]?.checkHost(name) !== undefined ? [] : [
      failure(
        `TLS_CERT_FILE does not cover ${name}, the host name in ${variable}`,
        `use a certificate with that name, or change ${variable}`,
      ),
    ];
  });
  return problem === null ? unnamed : [
    ...unnamed,
    warning(
      `clients may reject TLS_CERT_FILE (${problem})`,
      "the file must contain the site's certificate first, then its issuers' (such as fullchain.pem)",
    ),
  ];
}

const migrateCommand = "DATABASE_URL=$OWNER_URL npm run migrate";
// A healthy server takes milliseconds.
const statementDeadlineMs = 6_000;

async function checkDatabase(database: Database, hasProcessSettings: boolean): Promise<Finding[]> {
  try {
    const facts = await database.facts();
    const free = facts.connectionsMax - facts.connections;
    const findings = [
      ...(facts.version < 140_000
        ? [failure("PostgreSQL is older than 14", "use pg_upgrade to upgrade to 14 or later")]
        : []),
      ...(facts.encoding === "UTF8" ? [] : [
        failure(
          `the encoding is ${facts.encoding}, expected UTF8`,
          "create database … template template0 encoding 'UTF8'",
        ),
      ]),
      ...(hasProcessSettings ? roleFindings(facts, database.name) : []),
      ...(free >= 5 ? [] : [
        warning(
          `${free} of ${facts.connectionsMax} connections are left`,
          "alter system set max_connections = …, then restart PostgreSQL",
        ),
      ]),
    ];
    if (findings.length > 0) return findings;
    const version = `${Math.floor(facts.version / 10_000)}.${facts.version % 10_000}`;
    return [ok(`PostgreSQL ${version} accepts the login of ${facts.role}`)];
  } catch (error) {
    const failed = classifyStoreFailure(error);
    const text = failed === null
      ? (error as Error).message
      : describeStoreFailure(failed, { databaseUrl: database.url, name: database.name });
    return [failure(text, "systemctl status postgresql; journalctl -u postgresql")];
  }
}

function roleFindings({ role, groups, isOwner, isSuperuser }: ServerFacts, name: string): Finding[] {
  const group = name === "DATABASE_URL" ? "lead_service" : "lead_actions";
  if (isSuperuser || isOwner) {
    return [
      warning(
        `the process would connect as ${role}, which ${isSuperuser ? "is a superuser" : "owns the tables"}`,
        `as a superuser: create role … login password '…' in role ${group}; then use that role in ${name}`,
      ),
    ];
  }
  if (groups.includes(group)) return [];
  return [failure(`${role} is not a member of ${group}`, `as the owner: grant ${group} to ${role}`)];
}

/** Skips a check if the database is unreachable, which the check "Database" reports. */
function ifReachable(
  run: (facts: ServerFacts, pool: Pool, checkInput: CheckInput) => Finding[] | Promise<Finding[]>,
): Check["run"] {
  return async (checkInput) => {
    const { database } = checkInput;
    const facts = await database?.facts().catch(() => null) ?? null;
    return database === null || facts === null
      ? [warning("not checked: needs the database")]
      : await run(facts, database.pool, checkInput);
  };
}

function durability(facts: ServerFacts): Finding[] {
  const setCommand = (setting: string) => `alter system set ${setting}; select pg_reload_conf();`;
  const { synchronousCommit, standbyNames, isStandby } = facts;
  const rules: readonly (readonly [boolean, Finding])[] = [
    [facts.fsync !== "on", failure("fsync is off: a 202 could be lost", setCommand("fsync = on"))],
    [
      facts.fullPageWrites !== "on",
      failure("full_page_writes is off: a 202 could be lost", setCommand("full_page_writes = on")),
    ],
    [
      synchronousCommit === "off" || synchronousCommit === "local",
      failure(
        `synchronous_commit is ${synchronousCommit}, although each connection of the service turns it on`,
        "configure the pooler to pass on startup parameters, or connect without it",
      ),
    ],
    [isStandby, failure("the server is a standby and accepts no writes", "set DATABASE_URL to the primary")],
    [
      !isStandby && facts.readOnlyDefault === "on",
      failure("default_transaction_read_only is on", setCommand("default_transaction_read_only = off")),
    ],
    [
      !isStandby && standbyNames !== "" && facts.standbys === 0,
      failure("commits wait for a synchronous standby, but none is connected", "start the standby"),
    ],
    [
      facts.dataChecksums !== "on",
      warning(
        "data checksums are off: disk corruption goes unnoticed",
        "stop the server and run pg_checksums --enable",
      ),
    ],
  ];
  const findings = rules.flatMap(([isBroken, finding]) => isBroken ? [finding] : []);
  const copies = standbyNames === "" ? "no synchronous standby" : `a synchronous standby, ${standbyNames}`;
  return findings.length > 0
    ? findings
    : [ok(`fsync, full_page_writes, synchronous_commit and data checksums are on; ${copies}`)];
}

/** Joins the first three items in a list and states how many more there are. */
function firstThree(lines: readonly string[], separator: string): string {
  const more = lines.length > 3 ? `${separator}and ${lines.length - 3} more` : "";
  return lines.slice(0, 3).join(separator) + more;
}

async function migrations(_: ServerFacts, pool: Pool): Promise<Finding[]> {
  const release = await readRelease();
  const state = await pool.run(statementDeadlineMs, (sql) => readSchemaState(sql, release));
  switch (state.kind) {
    case "current":
      return [ok("every migration in sql/ is applied")];
    case "served":
      return [ok(`release ${state.by} migrated the database, which also supports this release`)];
    case "too_old":
      return [failure(tooOldMessage(release, state), "use ctl and the processes of a newer release")];
    default:
      return [
        failure(
          `the database lacks ${firstThree(state.files.map(({ name }) => name), ", ")}`,
          migrateCommand,
        ),
      ];
  }
}

async function grants(_: ServerFacts, pool: Pool): Promise<Finding[]> {
  const release = await readRelease();
  const { kind } = await pool.run(statementDeadlineMs, (sql) => readSchemaState(sql, release));
  if (kind === "served" || kind === "too_old") return [ok("the grants are from a newer release")];
  const { missing, surplus, builtins } = await compareRights(pool);
  const findings = [
    ...(missing.length === 0 ? [] : [failure(`not granted: ${firstThree(missing, "; ")}`, migrateCommand)]),
    ...(surplus.length === 0
      ? []
      : [failure(`granted beyond sql/grants.sql: ${firstThree(surplus, "; ")}`, migrateCommand)]),
    ...(builtins.length === 0 ? [] : [
      warning(
        `lead_service and lead_actions may call ${
          firstThree(builtins, ", ")
        }, which let either role stop the intake`,
        "as a superuser, in this database: psql -f sql/builtins.sql",
      ),
    ]),
  ];
  return findings.length > 0
    ? findings
    : [ok("lead_service and lead_actions have exactly the rights in sql/grants.sql")];
}

// As the alert ClockSkew.
const clockOffsetMsMax = 2_000;
const runbookClock = "check timedatectl on both machines; docs/runbook.md#clockskew";

async function clocks(_: ServerFacts, pool: Pool, { database }: CheckInput): Promise<Finding[]> {
  if (database?.name !== "DATABASE_URL") return [needsServiceDatabase];
  const { offsetMs, aheadMs } = await readClocks(pool);
  const seconds = (ms: number) =>
    `${(Math.abs(ms) / 1_000).toLocaleString("en-US", { maximumFractionDigits: 0 })} s`;
  const findings = [
    ...(Math.abs(offsetMs) <= clockOffsetMsMax ? [] : [
      failure(
        `the database's clock is ${seconds(offsetMs)} ${offsetMs > 0 ? "ahead of" : "behind"} this machine's`,
        runbookClock,
      ),
    ]),
    ...(aheadMs <= clockOffsetMsMax ? [] : [
      warning(
        `the newest event was accepted ${seconds(aheadMs)} from now: the database's clock was set back`,
        runbookClock,
      ),
    ]),
  ];
  return findings.length > 0 ? findings : [ok("the database's clock and this machine's agree")];
}

// One day between nightly backups, and two hours for the backup itself.
const backupAgeMaxMs = 26 * 3_600_000;
const backupFix =
  'pg_dump --format=custom --file=FILE "$OWNER_URL" && touch STAMP, nightly; then ctl doctor --backup-stamp STAMP';

function backup(facts: ServerFacts, _: Pool, { backupStamp, nowMs }: CheckInput): Finding[] {
  const checkAge = (what: string, atMs: number, fix: string) => {
    const hours = Math.max(0, Math.round((nowMs - atMs) / 3_600_000));
    const text = `${what} is ${hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`} old`;
    return nowMs - atMs > backupAgeMaxMs ? failure(text, fix) : ok(text);
  };
  const findings: Finding[] = [];
  if (backupStamp !== null) {
    const stat = statSync(backupStamp, { throwIfNoEntry: false });
    findings.push(
      stat === undefined
        ? failure(`the backup stamp ${backupStamp} does not exist`, backupFix)
        : checkAge("the last backup", stat.mtimeMs, backupFix),
    );
  }
  const { lastArchivedAt, lastFailedAt } = facts;
  if (facts.archiveMode === "off") {
    if (findings.length > 0) return findings;
    const copies = facts.standbys > 0 ? " (a standby is not a backup: it repeats every mistake)" : "";
    return [warning(`no backup found${copies}`, backupFix)];
  }
  if (lastFailedAt !== null && (lastArchivedAt === null || lastFailedAt > lastArchivedAt)) {
    const fix = "see the server's log for the cause, then fix archive_command";
    return [...findings, failure(`WAL archiving has failed since ${lastFailedAt}`, fix)];
  }
  return [
    ...findings,
    lastArchivedAt === null
      ? warning("archive_mode is on, but nothing has been archived yet", "select pg_switch_wal();")
      : checkAge(
        "the last archived WAL file",
        Date.parse(lastArchivedAt),
        "alter system set archive_timeout = '1h'; select pg_reload_conf();",
      ),
  ];
}

// Two seconds less than the limit for a whole check.
const responseTimeoutMs = 8_000;

async function actionsTier({ environment }: CheckInput): Promise<Finding[]> {
  const url = environment.ACTIONS_URL?.trim() ?? "";
  if (url === "") {
    return [
      warning(
        "ACTIONS_URL is not set: leads are accepted but not delivered",
        "run ctl certificates DIR; see docs/delivery.md",
      ),
    ];
  }
  try {
    const { status } = await requestActions(environment, { path: "/healthz", timeoutMs: responseTimeoutMs });
    if (status === 200) return [ok(`${url} responds over mutual TLS`)];
    return [
      status === 503
        ? failure(
          `${url} responds but cannot reach its database`,
          "check ACTIONS_DATABASE_URL; journalctl -u 'lead-actions@*'",
        )
        : failure(`${url} responds with ${status}: it is not an actions process`, "check ACTIONS_URL"),
    ];
  } catch (error) {
    return [failure(`${url} does not respond (${codeOf(error)})`, actionsTierFix(codeOf(error)))];
  }
}

function actionsTierFix(code: string): string {
  if (code === "ECONNREFUSED") return "systemctl start lead-intake.target; or check ACTIONS_URL";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "ctl certificates DIR --renew --server-name NAME, with the host name in ACTIONS_URL";
  }
  if (code === "CERT_HAS_EXPIRED") return "ctl certificates DIR --renew";
  if (/CERT|SSL|TLS|SIGNATURE|EPROTO|ECONNRESET|hang up/.test(code)) {
    return "one authority must sign both certificates, and ACTIONS_CLIENT_NAME must be the client's name: ctl certificates";
  }
  return "check ACTIONS_URL and the network";
}

// Enough for the message in a CRM's error.
const quoteMax = 300;

const needsServiceDatabase = warning("not checked: needs DATABASE_URL");

/** Reports the suspended CRM routes, and the routes whose shipped recipe an upgrade has changed. */
async function crmRoutes(_: ServerFacts, pool: Pool, { database }: CheckInput): Promise<Finding[]> {
  if (database?.name !== "DATABASE_URL") return [needsServiceDatabase];
  const routes = await readRouteStates(pool, null);
  const findings = routes.flatMap((route) => {
    const { recipeVersion: version, suspension } = route;
    const isChanged = version !== null && isRecipeChanged(route.target, { text: null, version });
    return [
      ...(suspension === null ? [] : [suspendedRoute({ ...route, suspension })]),
      ...(isChanged ? [changedRecipe(route)] : []),
    ];
  });
  if (findings.length > 0 || routes.length === 0) return findings;
  return [ok(`${counted(routes.length, "CRM recipe")}, none suspended`)];
}

/** Lists what operators have paused; a pause is no fault, but easily forgotten. */
async function pauses(_: ServerFacts, pool: Pool, { database }: CheckInput): Promise<Finding[]> {
  if (database?.name !== "DATABASE_URL") return [needsServiceDatabase];
  return (await readPauses(pool, null)).map((one) => {
    const waiting = boundedText(one.waiting, "event");
    return ok(`${pauseSubject(one)}: paused ${pauseText(one)}, ${waiting} waiting; ${resumeCommand(one)}`);
  });
}

function changedRecipe(route: RouteState): Finding {
  if (!shippedNames.includes(route.target)) {
    const text = `${routeName(route)}: this release has no such recipe, so the leads wait`;
    return failure(text, `ctl crm list; then ${routeCommand(route)} --crm NAME`);
  }
  return warning(
    `${routeName(route)}: an upgrade changed this recipe since it was set`,
    `${routeCommand(route)} --test --dry-run shows what it sends now; then set it again`,
  );
}

function routeName({ tenant, source, form, target }: RouteState): string {
  const scope = form !== "" ? `, form ${form}` : source !== "" ? `, source ${source}` : "";
  return `${tenant} (${target}${scope})`;
}

function suspendedRoute(route: SuspendedRoute): Finding {
  const { tenant, last, suspension: { reason, since, waiting } } = route;
  const count = boundedText(waiting, "lead");
  const quote = [...last?.answer ?? ""].slice(0, quoteMax).join("");
  const response = last === null
    ? ""
    : `; its response to ${last.eventId}: ${[last.status, quote].filter((part) => part !== null).join(" ")}`;
  const dryRun = last === null ? "" : `ctl tenant route ${tenant} --test --dry-run --event ${last.eventId}; `;
  return failure(
    `${routeName(route)}: the CRM ${suspensionTexts[reason]}; since ${since}, ${count} waiting${response}`,
    reason === "crm_unauthorized"
      ? secretsCommand(route)
      : `${dryRun}then correct the cause in the CRM, or ${
        routeCommand(route)
      } --set NAME=VALUE; ctl dead replay --all --tenant ${tenant}`,
  );
}

async function mailServer({ actions, environment }: CheckInput): Promise<Finding[]> {
  if (actions === null) return [warning("not checked: needs the settings of the actions process")];
  const { mail } = actions;
  if (mail === null) {
    return environment.SMTP_URL || environment.MAIL_FROM ? [warning("not checked: see Settings, actions")] : [
      warning("SMTP_URL and MAIL_FROM are not set: no email can be sent", "set them for the actions process"),
    ];
  }
  const server = `${mail.host}:${mail.port}`;
  try {
    await verifyMailServer({ ...mail, timeoutMs: responseTimeoutMs });
    return [
      ok(`${server} responds${mail.login === null ? "" : " and accepts the login"}; no email was sent`),
    ];
  } catch (error) {
    const code = codeOf(error);
    const fix = code === "EAUTH"
      ? "check user and password in SMTP_URL"
      : code === "ETLS"
      ? "use smtps:// in SMTP_URL, or a mail server that offers STARTTLS: passwords are not sent without TLS"
      : "check host and port in SMTP_URL, and that the firewall allows the connection";
    return [failure(`${server} cannot be used (${code})`, fix)];
  }
}

async function digestLinks({ linkSecrets, hasProcessSettings, database }: CheckInput): Promise<Finding[]> {
  const fix = "set the same FORMS_LINK_SECRET for both processes (lead-setup adds it) and restart them";
  if (linkSecrets.size > 1) {
    return [failure("FORMS_LINK_SECRET differs between the two processes: links in digests fail", fix)];
  }
  const tenants = await database?.facts().then(() => listTenants(database.pool)).catch(() => []) ?? [];
  const using = tenants.filter((tenant) => tenant.digestActions && tenant.disabledAt === null);
  if (!hasProcessSettings || using.length === 0) return [];
  if (linkSecrets.size === 1) return [ok(`the digests of ${counted(using.length, "tenant")} have links`)];
  return [warning(`FORMS_LINK_SECRET is not set: the digest of ${using[0]?.slug} has no links`, fix)];
}

const gib = 1024 ** 3;
// PostgreSQL stops when the disk is full; the warning leaves time to act.
const freeMin = { warning: { share: 0.15, bytes: 2 * gib }, failure: { share: 0.05, bytes: gib / 2 } };

async function checkSpace(what: string, folder: string): Promise<Finding> {
  const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const share = blocks === 0 ? 1 : bavail / blocks;
  // File systems that create inodes on demand report 0.
  const inodes = files === 0 ? 1 : ffree / files;
  const percent = (part: number) => `${Math.floor(part * 100)}%`;
  const text = `${what}, ${folder}: ${(free / gib).toFixed(1)} GiB free (${percent(share)}), ${
    percent(inodes)
  } of the inodes`;
  const isBelow = (min: typeof freeMin.warning) =>
    inodes < min.share || free < min.bytes || share < min.share && free < 10 * min.bytes;
  const fix =
    `du -xhd1 ${folder} shows what fills it; ctl tenant retention SLUG --days N limits how long leads are kept`;
  if (isBelow(freeMin.failure)) return failure(text, fix);
  return isBelow(freeMin.warning) ? warning(text, fix) : ok(text);
}

/** The data directories of common distributions, for a role that may not read the setting. */
const commonDataDirectories = ["/var/lib/postgresql", "/var/lib/pgsql"];

async function disk({ database, service }: CheckInput): Promise<Finding[]> {
  const findings: Finding[] = [];
  const hosts = database === null ? [] : parseDatabaseUrl(database.url).servers.map(({ host }) => host);
  const isRemote = (host: string) => !host.startsWith("/") && !isLoopbackHostname(host);
  if (hosts.length > 0 && hosts.every(isRemote)) {
    findings.push(ok(`not checked for the database: it is on ${[...new Set(hosts)].join(", ")}`));
  } else if (database !== null) {
    const facts = await database.facts().catch(() => null);
    const folder = facts?.dataDirectory ?? commonDataDirectories.find((name) => existsSync(name));
    if (folder !== undefined) findings.push(await checkSpace("the database", folder));
    else if (facts !== null) {
      const fix = `as a superuser: grant pg_read_all_settings to ${facts.role}`;
      findings.push(warning("the data directory is unknown", fix));
    }
  }
  if (service?.surfaces.has("site")) {
    const folder = resolve(service.siteDir);
    findings.push(
      existsSync(folder)
        ? await checkSpace("the site", folder)
        : warning(`SITE_DIR, ${folder}, does not exist: every page is 404`, "npm run site:build"),
    );
  }
  return findings.length > 0
    ? findings
    : [warning("not checked: needs the database and the service's settings")];
}

/** The checks, in display order; they run in parallel. */
export const checks: readonly Check[] = [
  { name: "Certificates", run: certificates },
  {
    name: "Database",
    run: ({ database, hasProcessSettings }) =>
      database !== null ? checkDatabase(database, hasProcessSettings) : [
        failure(
          "DATABASE_URL is not set, and no npm start is running here",
          "set DATABASE_URL, or pass --settings FILE",
        ),
      ],
  },
  {
    name: "Database, actions",
    run: ({ actionsDatabase, hasProcessSettings }) =>
      actionsDatabase === null ? [] : checkDatabase(actionsDatabase, hasProcessSettings),
  },
  { name: "Durability", run: ifReachable(durability) },
  { name: "Clocks", run: ifReachable(clocks) },
  { name: "Migrations", run: ifReachable(migrations) },
  { name: "Grants", run: ifReachable(grants) },
  { name: "Backup", run: ifReachable(backup) },
  { name: "Actions tier", run: actionsTier },
  { name: "CRM routes", run: ifReachable(crmRoutes) },
  { name: "Pauses", run: ifReachable(pauses) },
  { name: "Mail server", run: mailServer },
  { name: "Digest links", run: digestLinks },
  { name: "Disk", run: disk },
];
