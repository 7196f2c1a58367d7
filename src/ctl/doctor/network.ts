/**
 * What is reached over the network: names, the actions tier, the mail server; and whose clock is wrong.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { existsSync, readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { dirname, resolve } from "node:path";
import { greetMailServer } from "#src/actions/smtp.ts";
import { type Check, failure, type Finding, ok, type Situation, type TierAnswer, warning } from "./check.ts";
import { isLoopbackHostname } from "#src/http/addresses.ts";
import type { Environment } from "#src/settings/reader.ts";
import { publicSurfaces } from "#src/settings/surface_names.ts";
import { addressFault, parseDatabaseUrl } from "#src/store/address.ts";

const timeoutMs = 8_000;

/** The variables that name a host, and whether something fails when it is not found from here. */
const hosts: readonly (readonly [string, boolean])[] = [
  ["DATABASE_URL", true],
  ["DATABASE_LISTEN_URL", true],
  ["ACTIONS_DATABASE_URL", true],
  ["ACTIONS_URL", true],
  ["SMTP_URL", true],
  ["STRIPE_API_URL", true],
  // Others call these, and may see another address than we do.
  ...publicSurfaces.map((surface) => [`${surface.toUpperCase()}_URL`, false] as const),
];

function hostsOf(text: string): string[] {
  return hostNames(text).filter((host) =>
    host !== "" && isIP(host) === 0 && host !== "localhost" && !host.startsWith("/")
  );
}

function hostNames(text: string): string[] {
  if (/^postgres/.test(text)) {
    return addressFault(text) === null ? parseDatabaseUrl(text).servers.map(({ host }) => host) : [];
  }
  return URL.canParse(text) ? [new URL(text).hostname.replace(/^\[(.*)\]$/, "$1")] : [];
}

async function resolveNames({ environment }: Situation): Promise<Finding[]> {
  const named = hosts.flatMap(([variable, isNeeded]) => {
    return hostsOf(environment[variable]?.trim() ?? "").map((host) => ({ variable, isNeeded, host }));
  });
  if (named.length === 0) return [ok("the settings name no host, only addresses and this machine")];
  return await Promise.all(named.map(async ({ variable, isNeeded, host }) => {
    try {
      const addresses = await bounded(lookup(host, { all: true }));
      return ok(`${host} is ${addresses.slice(0, 3).map(({ address }) => address).join(", ")}`);
    } catch (error) {
      const say = isNeeded ? failure : warning;
      return say(
        `${host} is not found (${codeOf(error)})`,
        `check the name in ${variable}; getent hosts ${host}`,
      );
    }
  }));
}

async function bounded<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(Object.assign(new Error(), { code: `no answer within ${timeoutMs / 1_000} s` })),
    timeoutMs,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function codeOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code ?? message;
}

/**
 * `GET /healthz` of the actions tier, over mutual TLS as deliveries go.
 *
 * @throws {Error} with a code, when there is no answer
 */
export async function askTier(environment: Environment): Promise<TierAnswer> {
  const url = new URL("/healthz", environment.ACTIONS_URL?.trim());
  const file = (name: string) => readFileSync(environment[name]?.trim() ?? "");
  const files = url.protocol === "http:" ? {} : {
    ca: file("ACTIONS_CA_FILE"),
    cert: file("ACTIONS_CLIENT_CERT_FILE"),
    key: file("ACTIONS_CLIENT_KEY_FILE"),
  };
  const startMs = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<TierAnswer>();
  const send = url.protocol === "http:" ? httpRequest : httpsRequest;
  const options = { ...files, agent: false, signal: AbortSignal.timeout(timeoutMs) } as const;
  send(url, options, (response) => {
    const dateMs = Date.parse(response.headers.date ?? "");
    response.resume();
    response.on("error", reject);
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        dateMs: Number.isNaN(dateMs) ? null : dateMs,
        tookMs: performance.now() - startMs,
      }));
  }).on("error", reject).end();
  return await promise;
}

async function tier({ environment, tier }: Situation): Promise<Finding[]> {
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
    const { status, tookMs } = await tier();
    if (status === 200) return [ok(`${url} answers in ${Math.ceil(tookMs)} ms, over mutual TLS`)];
    return [
      status === 503
        ? failure(
          `${url} answers, and cannot reach its database`,
          "ACTIONS_DATABASE_URL; journalctl -u lead-actions",
        )
        : failure(`${url} answers ${status}; that is no actions process`, "check ACTIONS_URL"),
    ];
  } catch (error) {
    return [failure(`${url} does not answer (${codeOf(error)})`, tierMend(codeOf(error)))];
  }
}

function tierMend(code: string): string {
  if (code === "ECONNREFUSED") return "systemctl start lead-actions; or check ACTIONS_URL";
  if (code === "ENOENT" || code === "EACCES") return "check ACTIONS_CA_FILE and the ACTIONS_CLIENT_… files";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "ctl certificates DIR --renew --server-name NAME, of ACTIONS_URL";
  }
  if (/CERT|SSL|TLS|EPROTO|ECONNRESET|hang up/.test(code)) {
    return "one authority must have signed both certificates, and ACTIONS_CLIENT_NAME is the client's: ctl certificates";
  }
  return "check ACTIONS_URL, and the network between";
}

async function mail({ actions, environment }: Situation): Promise<Finding[]> {
  const unset = warning(
    "SMTP_URL and MAIL_FROM are not set: no mail can be sent",
    "set them for the actions process",
  );
  if (actions === null) return [warning("not known without the settings of the actions process")];
  const { mail: options } = actions.config;
  if (options === null) {
    return environment.SMTP_URL || environment.MAIL_FROM
      ? [warning("not known: see Settings, actions")]
      : [unset];
  }
  const where = `${options.host}:${options.port}`;
  try {
    await bounded(greetMailServer({ ...options, timeoutMs }));
    return [ok(`${where} answers${options.login === null ? "" : ", and takes the login"}; no mail was sent`)];
  } catch (error) {
    const code = codeOf(error);
    return [failure(`${where} cannot be used (${code})`, mailMend(code))];
  }
}

function mailMend(code: string): string {
  if (code === "EAUTH") return "check user and password in SMTP_URL";
  if (code === "ETLS") {
    return "smtps:// in SMTP_URL, or a mail server that offers STARTTLS: a password is not sent without";
  }
  return "check host and port in SMTP_URL, and that the firewall lets them out";
}

// Receivers of webhooks take five minutes; what is off by a minute is off for a reason.
const skewFailureMs = 60_000;
const skewWarningMs = 2_000;
// An HTTP date has whole seconds.
const dateGrainMs = 1_000;

async function clock({ database, environment, tier }: Situation): Promise<Finding[]> {
  const found: Finding[] = [];
  const compare = (whose: string, offMs: number, slackMs: number) => {
    const size = Math.max(0, Math.abs(offMs) - slackMs);
    const text = `this machine's is ${(size / 1_000).toFixed(1)} s ${
      offMs > 0 ? "ahead of" : "behind"
    } ${whose}`;
    if (size < skewWarningMs) return ok(`this machine's and ${whose} agree, within ${Math.ceil(slackMs)} ms`);
    return (size < skewFailureMs ? warning : failure)(text, "timedatectl set-ntp true, on both");
  };
  if (database !== null) {
    const facts = await database.facts().catch(() => null);
    if (facts !== null) {
      found.push(compare("the database's", facts.atMs - facts.value.nowMs, facts.tookMs / 2));
    }
  }
  if (environment.ACTIONS_URL?.trim()) {
    const startMs = Date.now();
    const answer = await tier().catch(() => null);
    if (answer !== null && answer.dateMs !== null) {
      const offMs = startMs + answer.tookMs / 2 - (answer.dateMs + dateGrainMs / 2);
      found.push(compare("the actions tier's", offMs, answer.tookMs / 2 + dateGrainMs / 2));
    }
  }
  return found.length > 0
    ? found
    : [warning("there is nothing to compare it with: neither database nor actions tier answers")];
}

/** The checks. */
export const networkChecks: readonly Check[] = [
  { name: "Names", run: resolveNames },
  { name: "Clock", run: clock },
  { name: "Actions tier", run: tier },
  { name: "Mail server", run: mail },
];

const gib = 1024 ** 3;
// The database stops at a full disk, and a day's leads and their log need room: yellow while there is time.
const share = { warning: 0.15, failure: 0.05 };
const bytes = { warning: 2 * gib, failure: gib / 2 };
/** Where distributions keep the databases of PostgreSQL, for a role that may not know. */
const usualFolders = ["/var/lib/postgresql", "/var/lib/pgsql"];

async function room(what: string, folder: string): Promise<Finding> {
  const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const part = blocks === 0 ? 1 : bavail / blocks;
  // Some file systems make inodes as they need them, and say 0.
  const inodes = files === 0 ? 1 : ffree / files;
  const text = `${what}, ${folder}: ${(free / gib).toFixed(1)} GiB free (${Math.floor(part * 100)} %), ${
    Math.floor(inodes * 100)
  } % of the inodes`;
  const isBelow = (level: "warning" | "failure") =>
    inodes < share[level] || free < bytes[level] || part < share[level] && free < 10 * bytes[level];
  const mend =
    `du -xhd1 ${folder} shows what fills it; ctl tenant retention SLUG --days N ends how long leads are kept`;
  return isBelow("failure") ? failure(text, mend) : isBelow("warning") ? warning(text, mend) : ok(text);
}

async function databaseRoom({ database }: Situation): Promise<Finding[]> {
  if (database === null) return [];
  const { hostname } = new URL(database.url);
  if (hostname !== "" && !isLoopbackHostname(hostname)) {
    return [ok(`the database's is at ${hostname}, and not seen from here`)];
  }
  const facts = await database.facts().catch(() => null);
  const folder = facts?.value.dataDirectory ?? usualFolders.find((name) => existsSync(name));
  if (folder === undefined) {
    return facts === null ? [] : [
      warning(
        "where the database is is not known",
        `as a superuser: grant pg_read_all_settings to ${facts.value.role}`,
      ),
    ];
  }
  return [await room("the database", folder)];
}

async function siteRoom({ service }: Situation): Promise<Finding[]> {
  if (service === null || !service.config.surfaces.has("site")) return [];
  const folder = resolve(service.config.siteDir);
  if (!existsSync(folder)) {
    return [warning(`SITE_DIR, ${folder}, is not there: the site answers 404`, "npm run site:build")];
  }
  return [await room("the site", existsSync(folder) ? folder : dirname(folder))];
}

/** The check. */
export const diskChecks: readonly Check[] = [{
  name: "Disk",
  run: async (situation) => {
    const found = (await Promise.all([databaseRoom(situation), siteRoom(situation)])).flat();
    return found.length > 0 ? found : [warning("not known without the database and the service's settings")];
  },
}];
