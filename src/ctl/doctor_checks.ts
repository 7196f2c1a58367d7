/** The checks of `ctl doctor`: what each looks at, and what it finds. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { ActionsConfig } from "#src/actions/config.ts";
import { greetMailServer } from "#src/actions/smtp.ts";
import { isLoopbackHostname } from "#src/http/addresses.ts";
import { chainDoubt, chainOf } from "#src/http/tls_files.ts";
import type { Config } from "#src/settings/config.ts";
import type { Environment } from "#src/settings/reader.ts";
import { publicSurfaces } from "#src/settings/surface_names.ts";
import { failureSentence, storeFailure } from "#src/store/failure.ts";
import type { ServerFacts } from "#src/store/operator/server_facts.ts";
import { listTenants } from "#src/store/operator/tenants.ts";
import type { Pool } from "#src/store/pool.ts";
import { leftBehind, readRelease, readSchemaState } from "#src/store/schema/release.ts";
import { compareRights } from "#src/store/schema/rights.ts";
import { askActions } from "./actions_request.ts";
import { counted } from "./terminal.ts";

/** One line of the answer. */
export interface Finding {
  /** Green, yellow (it works, and should be seen to) or red (it does not work, or leads could be lost). */
  readonly state: "ok" | "warning" | "failure";
  /** What is so; no secret. */
  readonly text: string;
  /** The command or the setting that fixes it. */
  readonly fix?: string;
}

/** What there is to look at. */
export interface Situation {
  readonly environment: Environment;
  /** The settings are a process's own, and not those of whoever runs the command. */
  readonly isOfProcess: boolean;
  /** `null`: none of its settings is there. */
  readonly service: Config | null;
  readonly actions: ActionsConfig | null;
  /** `null`: no address of a database is known. */
  readonly database: Database | null;
  /** By the login of the actions process, when the service's is {@linkcode Situation.database}. */
  readonly actionsDatabase: Database | null;
  /** A file that a backup touches when it is done. */
  readonly backupStamp: string | null;
  /** The distinct values of `FORMS_LINK_SECRET`: the service and the actions process need the same one. */
  readonly linkSecrets: ReadonlySet<string>;
  readonly nowMs: number;
}

/** A database, and what it says of itself. */
export interface Database {
  readonly url: string;
  /** The variable that names it. */
  readonly name: string;
  readonly pool: Pool;
  /** Asked once, for all; rejects when it cannot be reached. */
  readonly facts: () => Promise<ServerFacts>;
}

/** A check. It may throw: then that is what was found. */
export interface Check {
  readonly name: string;
  readonly run: (situation: Situation) => Finding[] | Promise<Finding[]>;
}

export const ok = (text: string): Finding => ({ state: "ok", text });
export const warning = (text: string, fix?: string): Finding => ({
  state: "warning",
  text,
  ...(fix === undefined ? {} : { fix }),
});
export const failure = (text: string, fix?: string): Finding => ({ ...warning(text, fix), state: "failure" });

/** Why something failed, in a word or a line. */
export function codeOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code === undefined || code.startsWith("ERR_OSSL") ? message.split("\n")[0] ?? "" : code;
}

const dayMs = 86_400_000;
// Three weeks, because somebody may be away for two.
const warnBeforeMs = 21 * dayMs;

const renewPublic =
  "renew it where it was issued (such as: certbot renew); the service takes up the new files by itself";
const renewPrivate = (file: string) => `ctl certificates ${dirname(file)} --renew`;
const replaceAuthority = () => "ctl certificates DIR, in an empty folder; then both processes' settings";

/**
 * The files with certificates, and how each is renewed. Whether the two ends of delivery accept each other's is found by
 * the check of the actions process, and whether a key belongs to its certificate by that of the settings.
 */
const certificateFiles: readonly (readonly [string, string | null, (file: string) => string])[] = [
  ["TLS_CERT_FILE", "TLS_KEY_FILE", () => renewPublic],
  ["ACTIONS_CLIENT_CERT_FILE", "ACTIONS_CLIENT_KEY_FILE", renewPrivate],
  ["ACTIONS_SERVER_CERT_FILE", "ACTIONS_SERVER_KEY_FILE", renewPrivate],
  ["ACTIONS_CA_FILE", null, replaceAuthority],
  ["ACTIONS_CLIENT_CA_FILE", null, replaceAuthority],
];

function certificates({ environment, nowMs }: Situation): Finding[] {
  const found = certificateFiles.flatMap(([name, keyName, fixOf]) => {
    const file = environment[name]?.trim() ?? "";
    if (file === "") return [];
    try {
      const chain = chainOf(readFileSync(file, "utf8"));
      const [first] = chain;
      if (first === undefined) throw new Error("no certificate is in it");
      const keyFile = environment[keyName ?? ""]?.trim() ?? "";
      const wrong = [
        ...chain.flatMap((one) => ageOf(one, { name, nowMs, fix: fixOf(file) })),
        ...(name === "TLS_CERT_FILE" ? publicDoubts(chain, environment) : []),
        ...(keyFile !== "" && existsSync(keyFile) && (statSync(keyFile).mode & 0o004) !== 0
          ? [warning(`everybody on this machine can read ${keyName}`, `chmod 600 ${keyFile}`)]
          : []),
      ];
      return wrong.length > 0 ? wrong : [ok(`${name} is good until ${first.validTo}`)];
    } catch (error) {
      return [failure(`${name} cannot be used: ${codeOf(error)}`, `${name} names it: ${file}`)];
    }
  });
  return found.length > 0 ? found : [ok("the settings name none")];
}

type Certificate = ReturnType<typeof chainOf>[number];

function ageOf(
  { validFrom, validTo, subject }: Certificate,
  { name, nowMs, fix }: { readonly name: string; readonly nowMs: number; readonly fix: string },
): Finding[] {
  const whose = subject.replaceAll("\n", ", ");
  const leftMs = Date.parse(validTo) - nowMs;
  if (leftMs <= 0) return [failure(`${name} has expired, ${validTo} (${whose})`, fix)];
  if (Date.parse(validFrom) > nowMs) {
    return [failure(`${name} is not valid before ${validFrom} (${whose})`, "timedatectl")];
  }
  if (leftMs > warnBeforeMs) return [];
  return [
    warning(`${name} expires in ${counted(Math.floor(leftMs / dayMs), "day")}, ${validTo} (${whose})`, fix),
  ];
}

/** What a client may refuse about the public certificate. */
function publicDoubts(chain: readonly Certificate[], environment: Environment): Finding[] {
  const doubt = chainDoubt(chain);
  const unnamed = publicSurfaces.map((surface) => `${surface.toUpperCase()}_URL`).flatMap((variable) => {
    const url = environment[variable]?.trim() ?? "";
    const name = url.startsWith("https:") && URL.canParse(url) ? new URL(url).hostname : "";
    return name === "" || chain[0]?.checkHost(name) !== undefined ? [] : [
      failure(
        `TLS_CERT_FILE is not for ${name}, which ${variable} has`,
        `a certificate with that name, or another ${variable}`,
      ),
    ];
  });
  return doubt === null ? unnamed : [
    ...unnamed,
    warning(
      `clients may refuse TLS_CERT_FILE (${doubt})`,
      "the owner's certificate first, then who issued it (such as fullchain.pem)",
    ),
  ];
}

const migration = "DATABASE_URL=$OWNER_URL npm run migrate";
// A deadline for statements that a healthy server answers in milliseconds.
const statementDeadlineMs = 6_000;

async function reach(database: Database, isOfProcess: boolean): Promise<Finding[]> {
  try {
    const facts = await database.facts();
    const free = facts.connectionsMax - facts.connections;
    const found = [
      ...(facts.version < 140_000
        ? [failure("PostgreSQL is older than 14", "pg_upgrade to 14 or later")]
        : []),
      ...(facts.encoding === "UTF8" ? [] : [
        failure(`its encoding is ${facts.encoding}`, "create database … template template0 encoding 'UTF8'"),
      ]),
      ...(isOfProcess ? roleFindings(facts, database.name) : []),
      ...(free >= 5 ? [] : [
        warning(
          `${free} of ${facts.connectionsMax} connections are left`,
          "alter system set max_connections = …, then a restart",
        ),
      ]),
    ];
    if (found.length > 0) return found;
    const version = `${Math.floor(facts.version / 10_000)}.${facts.version % 10_000}`;
    return [ok(`PostgreSQL ${version} answers ${facts.role}`)];
  } catch (error) {
    const failed = storeFailure(error);
    const text = failed === null
      ? (error as Error).message
      : failureSentence(failed, { databaseUrl: database.url, name: database.name });
    return [failure(text, "systemctl status postgresql; journalctl -u postgresql")];
  }
}

function roleFindings({ role, groups, isOwner, isSuperuser }: ServerFacts, name: string): Finding[] {
  const group = name === "DATABASE_URL" ? "lead_service" : "lead_actions";
  if (isSuperuser || isOwner) {
    return [
      warning(
        `the process would run as ${role}, who ${isSuperuser ? "is a superuser" : "owns the tables"}`,
        `as a superuser: create role … login password '…' in role ${group}; and that one in ${name}`,
      ),
    ];
  }
  if (groups.includes(group)) return [];
  return [failure(`${role} is no member of ${group}`, `as the owner: grant ${group} to ${role}`)];
}

/** That the database is away is said once. */
function whenThere(
  run: (facts: ServerFacts, pool: Pool, situation: Situation) => Finding[] | Promise<Finding[]>,
): Check["run"] {
  return async (situation) => {
    const { database } = situation;
    const facts = await database?.facts().catch(() => null) ?? null;
    return database === null || facts === null
      ? [warning("not known without the database")]
      : await run(facts, database.pool, situation);
  };
}

function durability(facts: ServerFacts): Finding[] {
  const set = (setting: string) => `alter system set ${setting}; select pg_reload_conf();`;
  const { synchronousCommit, standbyNames, isStandby } = facts;
  const rules: readonly (readonly [boolean, Finding])[] = [
    [facts.fsync !== "on", failure("fsync is off: a 202 could be lost", set("fsync = on"))],
    [
      facts.fullPageWrites !== "on",
      failure("full_page_writes is off: a 202 could be lost", set("full_page_writes = on")),
    ],
    [
      synchronousCommit === "off" || synchronousCommit === "local",
      failure(
        `synchronous_commit is ${synchronousCommit}, although every connection of ours sets it on`,
        "let the pooler in between pass startup parameters on, or connect without it",
      ),
    ],
    [isStandby, failure("it is a standby and takes no writes", "let DATABASE_URL name the primary")],
    [
      !isStandby && facts.readsOnly === "on",
      failure("default_transaction_read_only is on", set("default_transaction_read_only = off")),
    ],
    [
      !isStandby && standbyNames !== "" && facts.standbys === 0,
      failure("commits wait for a synchronous standby, and none is connected", "start the standby"),
    ],
    [
      facts.dataChecksums !== "on",
      warning(
        "data checksums are off: a disk that decays is not noticed",
        "pg_checksums --enable, while the server is stopped",
      ),
    ],
  ];
  const found = rules.flatMap(([isBroken, finding]) => isBroken ? [finding] : []);
  const copies = standbyNames === "" ? "no synchronous standby" : `a synchronous standby, ${standbyNames}`;
  return found.length > 0
    ? found
    : [ok(`fsync, full_page_writes, synchronous_commit and data checksums are on; ${copies}`)];
}

/** The first three of a list. */
function named(lines: readonly string[], separator: string): string {
  const more = lines.length > 3 ? `${separator}and ${lines.length - 3} more` : "";
  return lines.slice(0, 3).join(separator) + more;
}

async function migrations(_: ServerFacts, pool: Pool): Promise<Finding[]> {
  const release = await readRelease();
  const state = await pool.run(statementDeadlineMs, (sql) => readSchemaState(sql, release));
  switch (state.kind) {
    case "current":
      return [ok("every file of sql/ is applied as it is here")];
    case "served":
      return [ok(`release ${state.by} has migrated it, and serves this one`)];
    case "left_behind":
      return [failure(leftBehind(release, state), "use ctl and the processes of a newer release")];
    default:
      return [
        failure(`the database lacks ${named(state.files.map(({ name }) => name), ", ")}`, migration),
      ];
  }
}

async function grants(_: ServerFacts, pool: Pool): Promise<Finding[]> {
  const release = await readRelease();
  const { kind } = await pool.run(statementDeadlineMs, (sql) => readSchemaState(sql, release));
  if (kind === "served" || kind === "left_behind") return [ok("the grants are a newer release's")];
  const { missing, surplus, builtins } = await compareRights(pool);
  const found = [
    ...(missing.length === 0 ? [] : [failure(`not granted: ${named(missing, "; ")}`, migration)]),
    ...(surplus.length === 0
      ? []
      : [failure(`granted beyond sql/grants.sql: ${named(surplus, "; ")}`, migration)]),
    ...(builtins.length === 0 ? [] : [
      warning(
        `lead_service and lead_actions may call ${
          named(builtins, ", ")
        }, with which either can stop the intake`,
        "as a superuser, in this database: psql -f sql/builtins.sql",
      ),
    ]),
  ];
  return found.length > 0
    ? found
    : [ok("lead_service and lead_actions have the rights of sql/grants.sql, and no others")];
}

// A nightly backup, and two hours for it.
const backupAgeMaxMs = 26 * 3_600_000;
const dump =
  'pg_dump --format=custom --file=FILE "$OWNER_URL" && touch STAMP, nightly; then ctl doctor --backup-stamp STAMP';

function backup(facts: ServerFacts, _: Pool, { backupStamp, nowMs }: Situation): Finding[] {
  const aged = (what: string, atMs: number, fix: string) => {
    const hours = Math.max(0, Math.round((nowMs - atMs) / 3_600_000));
    const text = `${what} is ${hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`} old`;
    return nowMs - atMs > backupAgeMaxMs ? failure(text, fix) : ok(text);
  };
  const found: Finding[] = [];
  if (backupStamp !== null) {
    const stat = statSync(backupStamp, { throwIfNoEntry: false });
    found.push(
      stat === undefined
        ? failure(`no backup has left its mark at ${backupStamp}`, dump)
        : aged("the last backup", stat.mtimeMs, dump),
    );
  }
  const { lastArchivedAt, lastFailedAt } = facts;
  if (facts.archiveMode === "off") {
    if (found.length > 0) return found;
    const copies = facts.standbys > 0 ? " (a standby is none: it repeats every mistake)" : "";
    return [warning(`no backup is known${copies}`, dump)];
  }
  if (lastFailedAt !== null && (lastArchivedAt === null || lastFailedAt > lastArchivedAt)) {
    const fix = "the server's log says why; then archive_command";
    return [...found, failure(`archiving of the log fails since ${lastFailedAt}`, fix)];
  }
  return [
    ...found,
    lastArchivedAt === null
      ? warning("archive_mode is on, and nothing was ever archived", "select pg_switch_wal();")
      : aged(
        "the last archived log",
        Date.parse(lastArchivedAt),
        "alter system set archive_timeout = '1h'; select pg_reload_conf();",
      ),
  ];
}

// The whole check has two seconds more.
const answerTimeoutMs = 8_000;

async function actionsTier({ environment }: Situation): Promise<Finding[]> {
  const url = environment.ACTIONS_URL?.trim() ?? "";
  if (url === "") {
    return [
      warning(
        "ACTIONS_URL is not set: leads are accepted and wait",
        "ctl certificates DIR, and docs/delivery.md",
      ),
    ];
  }
  try {
    const { status } = await askActions(environment, { path: "/healthz", timeoutMs: answerTimeoutMs });
    if (status === 200) return [ok(`${url} answers, over mutual TLS`)];
    return [
      status === 503
        ? failure(
          `${url} answers, and cannot reach its database`,
          "ACTIONS_DATABASE_URL; journalctl -u 'lead-actions@*'",
        )
        : failure(`${url} answers ${status}; that is no actions process`, "check ACTIONS_URL"),
    ];
  } catch (error) {
    return [failure(`${url} does not answer (${codeOf(error)})`, tierFix(codeOf(error)))];
  }
}

function tierFix(code: string): string {
  if (code === "ECONNREFUSED") return "systemctl start lead-intake.target; or check ACTIONS_URL";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "ctl certificates DIR --renew --server-name NAME, of ACTIONS_URL";
  }
  if (code === "CERT_HAS_EXPIRED") return "ctl certificates DIR --renew";
  if (/CERT|SSL|TLS|SIGNATURE|EPROTO|ECONNRESET|hang up/.test(code)) {
    return "one authority must have signed both certificates, and ACTIONS_CLIENT_NAME is the client's: ctl certificates";
  }
  return "check ACTIONS_URL, and the network between";
}

async function mailServer({ actions, environment }: Situation): Promise<Finding[]> {
  if (actions === null) return [warning("not known without the settings of the actions process")];
  const { mail } = actions;
  if (mail === null) {
    return environment.SMTP_URL || environment.MAIL_FROM ? [warning("not known: see Settings, actions")] : [
      warning("SMTP_URL and MAIL_FROM are not set: no mail can be sent", "set them for the actions process"),
    ];
  }
  const where = `${mail.host}:${mail.port}`;
  try {
    await greetMailServer({ ...mail, timeoutMs: answerTimeoutMs });
    return [ok(`${where} answers${mail.login === null ? "" : ", and takes the login"}; no mail was sent`)];
  } catch (error) {
    const code = codeOf(error);
    const fix = code === "EAUTH"
      ? "check user and password in SMTP_URL"
      : code === "ETLS"
      ? "smtps:// in SMTP_URL, or a mail server that offers STARTTLS: a password is not sent without"
      : "check host and port in SMTP_URL, and that the firewall lets them out";
    return [failure(`${where} cannot be used (${code})`, fix)];
  }
}

async function digestLinks({ linkSecrets, isOfProcess, database }: Situation): Promise<Finding[]> {
  const fix = "set the same FORMS_LINK_SECRET for both processes (lead-setup adds it) and restart them";
  if (linkSecrets.size > 1) {
    return [failure("FORMS_LINK_SECRET differs between the two processes: links in digests fail", fix)];
  }
  const tenants = await database?.facts().then(() => listTenants(database.pool)).catch(() => []) ?? [];
  const using = tenants.filter((tenant) => tenant.digestActions && tenant.disabledAt === null);
  if (!isOfProcess || using.length === 0) return [];
  if (linkSecrets.size === 1) return [ok(`links for the digests of ${counted(using.length, "tenant")}`)];
  return [warning(`FORMS_LINK_SECRET is not set: the digest of ${using[0]?.slug} has no links`, fix)];
}

const gib = 1024 ** 3;
// The database stops at a full disk, and a day's leads and their log need room: yellow while there is time.
const roomMin = { warning: { share: 0.15, bytes: 2 * gib }, failure: { share: 0.05, bytes: gib / 2 } };

async function room(what: string, folder: string): Promise<Finding> {
  const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const share = blocks === 0 ? 1 : bavail / blocks;
  // Some file systems make inodes as they need them, and say 0.
  const inodes = files === 0 ? 1 : ffree / files;
  const percent = (part: number) => `${Math.floor(part * 100)} %`;
  const text = `${what}, ${folder}: ${(free / gib).toFixed(1)} GiB free (${percent(share)}), ${
    percent(inodes)
  } of the inodes`;
  const isBelow = (min: typeof roomMin.warning) =>
    inodes < min.share || free < min.bytes || share < min.share && free < 10 * min.bytes;
  const fix =
    `du -xhd1 ${folder} shows what fills it; ctl tenant retention SLUG --days N ends how long leads are kept`;
  if (isBelow(roomMin.failure)) return failure(text, fix);
  return isBelow(roomMin.warning) ? warning(text, fix) : ok(text);
}

/** Where distributions keep the databases of PostgreSQL, for a role that may not know. */
const usualFolders = ["/var/lib/postgresql", "/var/lib/pgsql"];

async function disk({ database, service }: Situation): Promise<Finding[]> {
  const found: Finding[] = [];
  const hostname = database === null ? "" : new URL(database.url).hostname;
  if (hostname !== "" && !isLoopbackHostname(hostname)) {
    found.push(ok(`the database's is at ${hostname}, and not seen from here`));
  } else if (database !== null) {
    const facts = await database.facts().catch(() => null);
    const folder = facts?.dataDirectory ?? usualFolders.find((name) => existsSync(name));
    if (folder !== undefined) found.push(await room("the database", folder));
    else if (facts !== null) {
      const fix = `as a superuser: grant pg_read_all_settings to ${facts.role}`;
      found.push(warning("where the database is is not known", fix));
    }
  }
  if (service?.surfaces.has("site")) {
    const folder = resolve(service.siteDir);
    found.push(
      existsSync(folder)
        ? await room("the site", folder)
        : warning(`SITE_DIR, ${folder}, is not there: the site answers 404`, "npm run site:build"),
    );
  }
  return found.length > 0 ? found : [warning("not known without the database and the service's settings")];
}

/** In the order in which they are shown; they run side by side. */
export const checks: readonly Check[] = [
  { name: "Certificates", run: certificates },
  {
    name: "Database",
    run: ({ database, isOfProcess }) =>
      database !== null ? reach(database, isOfProcess) : [
        failure(
          "DATABASE_URL is not set, and no npm start is running here",
          "set DATABASE_URL, or --settings FILE",
        ),
      ],
  },
  {
    name: "Database, actions",
    run: ({ actionsDatabase, isOfProcess }) =>
      actionsDatabase === null ? [] : reach(actionsDatabase, isOfProcess),
  },
  { name: "Durability", run: whenThere(durability) },
  { name: "Migrations", run: whenThere(migrations) },
  { name: "Grants", run: whenThere(grants) },
  { name: "Backup", run: whenThere(backup) },
  { name: "Actions tier", run: actionsTier },
  { name: "Mail server", run: mailServer },
  { name: "Digest links", run: digestLinks },
  { name: "Disk", run: disk },
];
