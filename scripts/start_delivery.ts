/** Where `npm start` delivers leads: to its own actions process, to the one at `ACTIONS_URL`, or nowhere. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readActionsConfig } from "../src/actions/config.ts";
import { readConfig } from "../src/settings/config.ts";
import { variables } from "../src/settings/variables.ts";
import { ConfigError, type Environment, type ListenAddress, SettingsReader } from "../src/settings/reader.ts";
import type { Catcher } from "./caught/catcher.ts";
import { dataFolder } from "./database_url.ts";
import { type DevCertificates, devClientName, ensureDevCertificates } from "./dev_certificates.ts";
import { nextFree, startVariables } from "./listeners.ts";

/**
 * Chosen: a given `DATABASE_URL` gets an actions process only with `ACTIONS_DATABASE_URL`, because its tenants may have
 * routes that lead off this machine, and because we create no login roles on a server that is not ours.
 */
export type Destination = "own" | "given" | "none";

/** A process's environment. */
type Settings = Record<string, string>;

/** Reads the destination from the environment. */
export function destinationOf(environment: Environment): Destination {
  if (isSet(environment.ACTIONS_URL)) return "given";
  return isSet(environment.DATABASE_URL) && !isSet(environment.ACTIONS_DATABASE_URL) ? "none" : "own";
}

/** Shown when there is no destination. */
export const noDestination =
  "DATABASE_URL is set, and neither ACTIONS_URL nor ACTIONS_DATABASE_URL is (see docs/delivery.md)";

/**
 * Checks the user's settings of all processes before anything starts; faults in `found` are reported at once.
 *
 * @throws {ConfigError} with all faults
 */
export function checkSettings(environment: Environment, found: readonly string[] = []): void {
  if (found.length > 0) throw new ConfigError(found);
  const own = destinationOf(environment) === "own";
  const database = { DATABASE_URL: environment.DATABASE_URL || "postgres://127.0.0.1/not-started-yet" };
  // Any URL that needs no certificates.
  const url = own ? { ACTIONS_URL: "http://127.0.0.1" } : {};
  const faults = faultsOf(() => readConfig({ ...environment, ...database, ...url }));
  if (own) faults.push(...actionsFaults(environment, database.DATABASE_URL));
  if (hasCatcher(environment)) faults.push(...faultsOf(() => caughtListen(environment)));
  // Both processes report the same misspelled setting.
  if (faults.length > 0) throw new ConfigError([...new Set(faults)]);
}

function actionsFaults(environment: Environment, databaseUrl: string): string[] {
  const given = isSet(environment.DATABASE_URL) ? {} : { ACTIONS_DATABASE_URL: databaseUrl };
  let host = "";
  const faults = faultsOf(() => {
    const { listen } = readActionsConfig({ ...environment, ...given });
    host = "host" in listen ? listen.host : `the socket ${listen.socket}`;
  })
    // We create these files later.
    .filter((fault) => !/^ACTIONS_(SERVER|CLIENT)_/.test(fault));
  host ||= /^\[?(.*?)\]?:\d+$/.exec(environment.ACTIONS_LISTEN?.trim() ?? "")?.[1] ?? "localhost";
  if (!thisMachine.test(host)) {
    faults.push(
      `ACTIONS_LISTEN must be on this machine (localhost, 127.0.0.1 or [::1]), for which its certificate is issued`,
    );
  }
  return faults;
}

const thisMachine = /^(localhost|127\.0\.0\.1|::1)$/;

/**
 * Whether mails and webhooks are caught on this machine: only with our own database, because the development tenant would
 * be a live one in another.
 */
export function hasCatcher(environment: Environment): boolean {
  return !isSet(environment.DATABASE_URL) && destinationOf(environment) === "own";
}

/** The catcher's address. Throws {@linkcode ConfigError} unless it is on this machine. */
export function caughtListen(environment: Environment): ListenAddress {
  const read = new SettingsReader(startVariables, environment);
  const listen = read.listen("CAUGHT_LISTEN");
  if (listen.host !== "" && !thisMachine.test(listen.host)) {
    read.faults.push(
      "CAUGHT_LISTEN must be on this machine (localhost, 127.0.0.1 or [::1]), because it shows leads",
    );
  }
  if (read.faults.length > 0) throw new ConfigError(read.faults);
  return listen;
}

function faultsOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults];
    throw error;
  }
}

/** The certificates of both sides, or a sentence that says why they are missing. */
export function certificates(): DevCertificates | string {
  try {
    // With the default mode, so that PostgreSQL's account can reach its data below.
    mkdirSync(dataFolder, { recursive: true });
    return ensureDevCertificates(join(dataFolder, "certificates"));
  } catch (error) {
    // For example, the folder belongs to another account.
    return `The certificates could not be created: ${(error as Error).message}`;
  }
}

/** Where our own actions process listens: any free port, because only the service calls it. */
export async function actionsListen({ watch }: { readonly watch: boolean }): Promise<string> {
  const given = process.env.ACTIONS_LISTEN?.trim();
  if (given !== undefined && given !== "") return given;
  // A process that --watch restarts must listen on the same port again.
  return watch ? await nextFree("127.0.0.1:9442") : "127.0.0.1:0";
}

/** The settings of our own actions process; it may also call the catcher, if there is one. */
export function actionsSettings(
  files: DevCertificates,
  { databaseUrl, listen, catcher }: {
    readonly databaseUrl: string;
    readonly listen: string;
    readonly catcher: Pick<Catcher, "smtpUrl"> | undefined;
  },
): Settings {
  const { DATABASE_URL: _, ...rest } = defined(process.env);
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
  const { ACTIONS_ALLOWED_NETWORKS: networks, NODE_EXTRA_CA_CERTS: trusted } = process.env;
  return {
    ACTIONS_ALLOWED_NETWORKS: [...(isSet(networks) ? [networks] : []), "127.0.0.0/8"].join(","),
    NODE_EXTRA_CA_CERTS: isSet(trusted) ? both(trusted, caFile) : caFile,
    ...(hasOwnMail(process.env) ? {} : { SMTP_URL: smtpUrl, MAIL_FROM: "Leads <leads@intake.example>" }),
  };
}

/** Whether the user has configured a mail server. */
export function hasOwnMail(environment: Environment): boolean {
  return isSet(environment.SMTP_URL);
}

/** Merges two certificate files, because the variable takes only one. */
function both(first: string, second: string): string {
  const file = join(dataFolder, "certificates", "trusted.pem");
  writeFileSync(file, `${readFileSync(first, "utf8")}\n${readFileSync(second, "utf8")}`, { mode: 0o600 });
  return file;
}

/** The settings of the service; `to` is our own actions process, if any. */
export function serviceSettings(
  databaseUrl: string,
  to?: { readonly url: string; readonly files: DevCertificates },
): Settings {
  const { ACTIONS_DATABASE_URL: _, ...rest } = defined(process.env);
  const delivery = to === undefined ? {} : {
    ACTIONS_URL: to.url,
    ACTIONS_CA_FILE: to.files.caFile,
    ACTIONS_CLIENT_CERT_FILE: to.files.clientCertFile,
    ACTIONS_CLIENT_KEY_FILE: to.files.clientKeyFile,
  };
  return { ...rest, ...delivery, DATABASE_URL: databaseUrl };
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value.trim() !== "";
}

function defined(environment: Environment): Settings {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
