/** Determines where `npm start` delivers leads: to its own actions process, to the one at `ACTIONS_URL`, or nowhere. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readActionsConfig } from "../src/actions/config.ts";
import { readConfig } from "../src/settings/config.ts";
import { variables } from "../src/settings/variables.ts";
import { ConfigError, type Environment, type ListenAddress, SettingsReader } from "../src/settings/reader.ts";
import type { Catcher } from "./mail_catcher/catcher.ts";
import { dataFolder } from "./running.ts";
import { type DevCertificates, devClientName, ensureDevCertificates } from "./dev_certificates.ts";
import { freePort } from "./free_port.ts";
import { startVariables } from "./listeners.ts";

/**
 * Where leads are delivered. Chosen: if `DATABASE_URL` is set, an actions process runs only if `ACTIONS_DATABASE_URL` is
 * set too, because the tenants may have routes to other machines, and because we create no login roles on a server that
 * is not ours.
 */
export type Destination = "own" | "given" | "none";

type Settings = Record<string, string>;

export function deliveryDestination(environment: Environment): Destination {
  if (isSet(environment.ACTIONS_URL)) return "given";
  return isSet(environment.DATABASE_URL) && !isSet(environment.ACTIONS_DATABASE_URL) ? "none" : "own";
}

export const noDestinationReason =
  "DATABASE_URL is set, and neither ACTIONS_URL nor ACTIONS_DATABASE_URL is (see docs/delivery.md)";

/**
 * Checks the user's settings for all processes before anything starts. If there are `knownFaults`, checks nothing else.
 *
 * @throws {ConfigError} that lists every invalid setting
 */
export function checkSettings(environment: Environment, knownFaults: readonly string[] = []): void {
  if (knownFaults.length > 0) throw new ConfigError(knownFaults);
  const own = deliveryDestination(environment) === "own";
  const database = { DATABASE_URL: environment.DATABASE_URL || "postgres://127.0.0.1/not-started-yet" };
  // A placeholder for the actions process's URL, with http because https needs certificates.
  const url = own ? { ACTIONS_URL: "http://127.0.0.1" } : {};
  const faults = collectFaults(() => readConfig({ ...environment, ...database, ...url }));
  if (own) faults.push(...actionsFaults(environment, database.DATABASE_URL));
  if (hasCatcher(environment)) faults.push(...collectFaults(() => catcherListen(environment)));
  // Both processes report a misspelled setting, so duplicates are removed.
  if (faults.length > 0) throw new ConfigError([...new Set(faults)]);
}

function actionsFaults(environment: Environment, databaseUrl: string): string[] {
  const database = isSet(environment.DATABASE_URL) ? {} : { ACTIONS_DATABASE_URL: databaseUrl };
  let host = "";
  const faults = collectFaults(() => {
    const { listen } = readActionsConfig({ ...environment, ...database });
    host = "host" in listen ? listen.host : `the socket ${listen.socket}`;
  })
    // The files that these settings name are created later.
    .filter((fault) => !/^ACTIONS_(SERVER|CLIENT)_/.test(fault));
  host ||= /^\[?(.*?)\]?:\d+$/.exec(environment.ACTIONS_LISTEN?.trim() ?? "")?.[1] ?? "localhost";
  if (!loopbackHost.test(host)) {
    faults.push(
      `ACTIONS_LISTEN must be on this machine (localhost, 127.0.0.1 or [::1]), for which the certificate is issued`,
    );
  }
  return faults;
}

const loopbackHost = /^(localhost|127\.0\.0\.1|::1)$/;

/**
 * Whether emails and webhooks are caught on this machine. This needs our own database, because in any other database the
 * development tenant would be a live tenant.
 */
export function hasCatcher(environment: Environment): boolean {
  return !isSet(environment.DATABASE_URL) && deliveryDestination(environment) === "own";
}

/** Reads the catcher's address. Throws {@linkcode ConfigError} unless the address is on this machine. */
export function catcherListen(environment: Environment): ListenAddress {
  const read = new SettingsReader(startVariables, environment);
  const listen = read.listen("CATCHER_LISTEN");
  if (listen.host !== "" && !loopbackHost.test(listen.host)) {
    read.faults.push(
      "CATCHER_LISTEN must be on this machine (localhost, 127.0.0.1 or [::1]), because it shows leads",
    );
  }
  if (read.faults.length > 0) throw new ConfigError(read.faults);
  return listen;
}

function collectFaults(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults];
    throw error;
  }
}

/** Creates the certificates for both sides, or returns a sentence with the reason for the failure. */
export function certificates(): DevCertificates | string {
  try {
    // The folder has the default mode, so that PostgreSQL's account can traverse it.
    mkdirSync(dataFolder, { recursive: true });
    return ensureDevCertificates(join(dataFolder, "certificates"));
  } catch (error) {
    // The folder may belong to another account.
    return `The certificates could not be created: ${(error as Error).message}`;
  }
}

/** Returns the address of our own actions process; by default on any free port, because only the service connects. */
export async function actionsListen({ watch }: { readonly watch: boolean }): Promise<string> {
  const given = process.env.ACTIONS_LISTEN?.trim();
  if (given !== undefined && given !== "") return given;
  // With --watch, a restarted process must listen on the same port again.
  return watch ? `127.0.0.1:${await freePort()}` : "127.0.0.1:0";
}

/** Returns the settings of our own actions process, which may also connect to the catcher if there is one. */
export function actionsSettings(
  files: DevCertificates,
  { databaseUrl, listen, catcher }: {
    readonly databaseUrl: string;
    readonly listen: string;
    readonly catcher: Pick<Catcher, "smtpUrl"> | undefined;
  },
): Settings {
  const { DATABASE_URL: _, ...rest } = withoutUndefined(process.env);
  return {
    ...rest,
    ...(catcher === undefined ? {} : catcherSettings(catcher, files)),
    ACTIONS_LISTEN: listen,
    ACTIONS_DATABASE_URL: databaseUrl,
    ACTIONS_SERVER_CERT_FILE: files.serverCertFile,
    ACTIONS_SERVER_KEY_FILE: files.serverKeyFile,
    ACTIONS_CLIENT_CA_FILE: files.caFile,
    ACTIONS_CLIENT_NAME: devClientName,
    FORMS_URL: rest.FORMS_URL || `http://${rest.FORMS_LISTEN || variables.FORMS_LISTEN.default}`,
  };
}

function catcherSettings({ smtpUrl }: Pick<Catcher, "smtpUrl">, { caFile }: DevCertificates): Settings {
  const { ACTIONS_ALLOWED_NETWORKS: networks, NODE_EXTRA_CA_CERTS: configured } = process.env;
  return {
    ACTIONS_ALLOWED_NETWORKS: [...(isSet(networks) ? [networks] : []), "127.0.0.0/8"].join(","),
    NODE_EXTRA_CA_CERTS: isSet(configured) ? mergeCertificateFiles(configured, caFile) : caFile,
    ...(hasMailServer(process.env) ? {} : { SMTP_URL: smtpUrl, MAIL_FROM: "Leads <leads@intake.example>" }),
  };
}

export function hasMailServer(environment: Environment): boolean {
  return isSet(environment.SMTP_URL);
}

/** Merges two certificate files, because `NODE_EXTRA_CA_CERTS` accepts only one. */
function mergeCertificateFiles(first: string, second: string): string {
  const file = join(dataFolder, "certificates", "trusted.pem");
  writeFileSync(file, `${readFileSync(first, "utf8")}\n${readFileSync(second, "utf8")}`, { mode: 0o600 });
  return file;
}

/** Returns the settings of the service; `actions` is our own actions process, if there is one. */
export function serviceSettings(
  databaseUrl: string,
  actions?: { readonly url: string; readonly files: DevCertificates },
): Settings {
  const { ACTIONS_DATABASE_URL: _, ...rest } = withoutUndefined(process.env);
  const delivery = actions === undefined ? {} : {
    ACTIONS_URL: actions.url,
    ACTIONS_CA_FILE: actions.files.caFile,
    ACTIONS_CLIENT_CERT_FILE: actions.files.clientCertFile,
    ACTIONS_CLIENT_KEY_FILE: actions.files.clientKeyFile,
  };
  return { ...rest, ...delivery, DATABASE_URL: databaseUrl };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== "";
}

function withoutUndefined(environment: Environment): Settings {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
