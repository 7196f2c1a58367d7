/**
 * Where the leads of an `npm start` go: to an actions process of its own, to the one that `ACTIONS_URL` names, or
 * nowhere yet.
 *
 * @module
 */

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
 * Chosen: with a `DATABASE_URL` of somebody's there is an actions process only when `ACTIONS_DATABASE_URL` names its
 * role too, because that database may have tenants with routes, whose leads would leave this machine, and because
 * login roles that we created on a server of somebody's would stay there.
 */
export type Destination = "own" | "given" | "none";

/** Settings as a process gets them. */
type Settings = Record<string, string>;

/** Where the leads go, as the environment has it. */
export function destinationOf(environment: Environment): Destination {
  if (isSet(environment.ACTIONS_URL)) return "given";
  return isSet(environment.DATABASE_URL) && !isSet(environment.ACTIONS_DATABASE_URL) ? "none" : "own";
}

/** Why the leads of a start without any destination wait; for the person at the terminal. */
export const noDestination =
  "DATABASE_URL is given, and neither ACTIONS_URL nor ACTIONS_DATABASE_URL (see docs/delivery.md)";

/**
 * Checks the settings of all processes before anything is started, as far as we do not choose them ourselves.
 * What `found` has is wrong already, and the rest is not looked at.
 *
 * @throws {ConfigError} with every fault at once
 */
export function checkSettings(environment: Environment, found: readonly string[] = []): void {
  if (found.length > 0) throw new ConfigError(found);
  const own = destinationOf(environment) === "own";
  const database = { DATABASE_URL: environment.DATABASE_URL || "postgres://127.0.0.1/not-started-yet" };
  // Any address that needs no certificates.
  const url = own ? { ACTIONS_URL: "http://127.0.0.1" } : {};
  const faults = faultsOf(() => readConfig({ ...environment, ...database, ...url }));
  if (own) faults.push(...actionsFaults(environment, database.DATABASE_URL));
  if (hasCatcher(environment)) faults.push(...faultsOf(() => caughtListen(environment)));
  // Both processes find the same misspelled setting.
  if (faults.length > 0) throw new ConfigError([...new Set(faults)]);
}

function actionsFaults(environment: Environment, databaseUrl: string): string[] {
  const given = isSet(environment.DATABASE_URL) ? {} : { ACTIONS_DATABASE_URL: databaseUrl };
  let host = "";
  const faults = faultsOf(() => {
    const { listen } = readActionsConfig({ ...environment, ...given });
    host = "host" in listen ? listen.host : `the socket ${listen.socket}`;
  })
    // The files are ours, and made later.
    .filter((fault) => !/^ACTIONS_(SERVER|CLIENT)_/.test(fault));
  host ||= /^\[?(.*?)\]?:\d+$/.exec(environment.ACTIONS_LISTEN?.trim() ?? "")?.[1] ?? "localhost";
  if (!thisMachine.test(host)) {
    faults.push(
      `ACTIONS_LISTEN is not on this machine (localhost, 127.0.0.1 or [::1]), and its certificate is for that`,
    );
  }
  return faults;
}

const thisMachine = /^(localhost|127\.0\.0\.1|::1)$/;

/**
 * Whether mails and webhooks are caught on this machine: only with a database of our own, because in somebody's the
 * tenant for it would be one more that is live.
 */
export function hasCatcher(environment: Environment): boolean {
  return !isSet(environment.DATABASE_URL) && destinationOf(environment) === "own";
}

/** Where the page of what was caught listens. Throws {@linkcode ConfigError} for anywhere but this machine. */
export function caughtListen(environment: Environment): ListenAddress {
  const read = new SettingsReader(startVariables, environment);
  const listen = read.listen("CAUGHT_LISTEN");
  if (listen.host !== "" && !thisMachine.test(listen.host)) {
    read.faults.push("CAUGHT_LISTEN is not on this machine (localhost, 127.0.0.1 or [::1]); it shows leads");
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

/** The certificates of both sides, or a sentence that says why there are none. */
export function certificates(): DevCertificates | string {
  try {
    // With the usual mode: PostgreSQL's account must reach its data below.
    mkdirSync(dataFolder, { recursive: true });
    return ensureDevCertificates(join(dataFolder, "certificates"));
  } catch (error) {
    // A folder of another account's, for one.
    return `The certificates could not be made: ${(error as Error).message}`;
  }
}

/** Where an actions process of our own listens. Nobody but the service calls it, so any free port will do. */
export async function actionsListen({ watch }: { readonly watch: boolean }): Promise<string> {
  const given = process.env.ACTIONS_LISTEN?.trim();
  if (given !== undefined && given !== "") return given;
  // One that starts again when a file changes has to come back where it was.
  return watch ? await nextFree("127.0.0.1:9442") : "127.0.0.1:0";
}

/** The settings of an actions process of our own; with a catcher, it may call that too. */
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

/** Whether mails go to a mail server of somebody's. */
export function hasOwnMail(environment: Environment): boolean {
  return isSet(environment.SMTP_URL);
}

/** A file with the certificates of two: the variable takes only one. */
function both(first: string, second: string): string {
  const file = join(dataFolder, "certificates", "trusted.pem");
  writeFileSync(file, `${readFileSync(first, "utf8")}\n${readFileSync(second, "utf8")}`, { mode: 0o600 });
  return file;
}

/** The settings of the service: `to` is the actions process of our own, when there is one. */
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
