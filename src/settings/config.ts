/**
 * The settings of the service process.
 *
 * @module
 */

import { isContact } from "../contract/contact.ts";
import { type CheckoutConfig, readCheckoutConfig } from "./checkout.ts";
import type { TimeZone } from "../contract/time_zone.ts";
import type { Rate } from "../contract/limits.ts";
import { isPrivateOrLoopback, type Networks } from "../http/addresses.ts";
import type { TlsPaths } from "../http/tls_files.ts";
import { type DeliveryConfig, readDeliveryConfig } from "./delivery.ts";
import { ConfigError, type Environment, type ListenAddress, SettingsReader } from "./reader.ts";
import { unknownSettings } from "./unknown.ts";
import { variables } from "./variables.ts";

/** The settings of the service process. */
export interface Config {
  /** What this process serves. */
  readonly surfaces: ReadonlySet<SurfaceName>;
  /** Empty when nothing of {@linkcode surfaces} needs a database. */
  readonly databaseUrl: string;
  readonly intake: PublicListener;
  readonly forms: PublicListener;
  readonly subscription: PublicListener;
  readonly site: PublicListener;
  /** What the site's listener serves. */
  readonly siteDir: string;
  /** The operator's listener: loopback or private, without TLS. */
  readonly opsListen: ListenAddress;
  /** Whom partners write to about a key. */
  readonly contactEmail: string | null;
  /** In which the console shows and reads times. */
  readonly consoleTimeZone: TimeZone;
  readonly tls: TlsPaths | null;
  readonly trustedProxies: Networks;
  /** Of any client address; `null` for the default, which has exceptions. */
  readonly connectionsPerAddress: number | null;
  readonly intakeIpRate: Rate;
  readonly intakeKeyRate: Rate;
  readonly formsIpRate: Rate;
  readonly formsTenantRate: Rate;
  readonly publicReadRate: Rate;
  /** Where accepted events go, or `null`: then they are accepted and wait. */
  readonly delivery: DeliveryConfig | null;
  /** Who may buy a plan, or `null`: nobody. */
  readonly checkout: CheckoutConfig | null;
}

/** Where a public surface listens. */
export interface PublicListener {
  readonly listen: ListenAddress;
  /** The public base address, or `null` for the listener's own. */
  readonly url: string | null;
}

/** Reads the settings. Throws {@linkcode ConfigError} with every fault at once. */
export function readConfig(environment: Environment): Config {
  const { config, faults } = examineConfig(environment);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads the settings for whoever wants to know of them all the same: what has a fault is empty, or cannot be used. */
export function examineConfig(
  environment: Environment,
): { readonly config: Config; readonly faults: readonly string[] } {
  const read = new SettingsReader(variables, environment);
  const surfaces = readSurfaces(read);
  const tls = readTls(read);
  const config: Config = {
    surfaces,
    databaseUrl: needsStore(surfaces) ? read.databaseUrl("DATABASE_URL") : "",
    intake: readPublic(read, "INTAKE"),
    forms: readPublic(read, "FORMS"),
    subscription: readPublic(read, "SUBSCRIPTION"),
    site: readPublic(read, "SITE"),
    siteDir: read.text("SITE_DIR") ?? variables.SITE_DIR.default,
    opsListen: read.listen("OPS_LISTEN"),
    contactEmail: readContact(read),
    consoleTimeZone: read.timeZone("CONSOLE_TIME_ZONE"),
    tls,
    trustedProxies: read.networks("TRUSTED_PROXIES"),
    connectionsPerAddress: read.text("CONNECTIONS_PER_ADDRESS") === null
      ? null
      : read.positiveInteger("CONNECTIONS_PER_ADDRESS"),
    intakeIpRate: readRate(read, "INTAKE_IP"),
    intakeKeyRate: readRate(read, "INTAKE_KEY"),
    formsIpRate: readRate(read, "FORMS_IP"),
    formsTenantRate: readRate(read, "FORMS_TENANT"),
    publicReadRate: readRate(read, "PUBLIC_IP"),
    delivery: surfaces.has("delivery") ? readDeliveryConfig(read) : null,
    checkout: surfaces.has("subscription") ? readCheckoutConfig(read) : null,
  };
  if (tls === null) { for (const surface of servedOf(config)) requirePrivate(read, surface, config); }
  checkOps(read, config);
  checkShared(read, config);
  read.faults.push(...unknownSettings(environment));
  return { config, faults: read.faults };
}

type Name = keyof typeof variables;
type Reader = SettingsReader<Name>;

function readContact(read: Reader): string | null {
  const contact = read.text("CONTACT_EMAIL");
  if (contact !== null && !isContact(contact)) {
    read.faults.push("CONTACT_EMAIL is not an address such as partners@example.com");
  }
  return contact;
}

/** The public surfaces as {@linkcode Config} names them. */
export const publicSurfaces = ["intake", "forms", "subscription", "site"] as const;

/** One of {@linkcode publicSurfaces}. */
export type PublicSurface = (typeof publicSurfaces)[number];

/**
 * What a process can serve: {@linkcode publicSurfaces}, the operator's listener, and the delivery loop.
 *
 * Chosen: a process for what must not keep the intake waiting, because the kernel then shares the processor out, whatever
 * a neighbour is asked for. Processor time of a turn of the intake's event loop, 99th percentile and longest, beside
 * 4,000 reads a second of the site: 4.5 and 6.8 ms in one process, 1.2 and 5.2 ms apart, 1.5 and 4.8 ms without them;
 * beside eight windows of the operator's pages: 9.1 and 16 ms, 1.3 and 6.0 ms, 1.7 and 3.7 ms (`npm run bench -- attacks`).
 * Rejected: a worker thread for the scorer, because a post's score is bounded by work (`src/forms/spam/score.ts`) and costs
 * less than the hand-over and the second heap would; admission by the loop's remaining time, because it would refuse
 * honest readers for what the operator's pages cost.
 */
export const surfaceNames = [...publicSurfaces, "ops", "delivery"] as const;

/** One of {@linkcode surfaceNames}. */
export type SurfaceName = (typeof surfaceNames)[number];

/** Whether a process that serves these works on the database: the site alone is files. */
export function needsStore(surfaces: ReadonlySet<SurfaceName>): boolean {
  return [...surfaces].some((surface) => surface !== "site");
}

/** The public surfaces that a process serves. */
export function servedOf({ surfaces }: Pick<Config, "surfaces">): PublicSurface[] {
  return publicSurfaces.filter((surface) => surfaces.has(surface));
}

/** Delivery runs where the intake runs, and where it is named: DECISIONS, Decided since. */
function readSurfaces(read: Reader): ReadonlySet<SurfaceName> {
  const list = read.text("SURFACES")?.split(/[\s,]+/).filter((name) => name !== "");
  const named = list ?? surfaceNames;
  const isSurface = (name: string): name is SurfaceName => (surfaceNames as readonly string[]).includes(name);
  const unknown = named.filter((name) => !isSurface(name));
  if (unknown.length > 0 || named.length === 0) {
    read.faults.push(`SURFACES is not a list of ${surfaceNames.join(", ")}`);
  }
  // The intake's leads may wait for a tier; a process that was set up to deliver would do nothing and not say so.
  if (list?.includes("delivery") && read.text("ACTIONS_URL") === null) {
    read.faults.push("ACTIONS_URL is not set, and SURFACES names delivery");
  }
  const surfaces = new Set(named.filter(isSurface));
  return surfaces.has("intake") ? surfaces.add("delivery") : surfaces;
}

type Prefix = Uppercase<PublicSurface>;

const prefixOf = (surface: PublicSurface) => surface.toUpperCase() as Prefix;

function readPublic(read: Reader, prefix: Prefix): PublicListener {
  return { listen: read.listen(`${prefix}_LISTEN`), url: read.baseUrl(`${prefix}_URL`) };
}

function requirePrivate(read: Reader, surface: PublicSurface, config: Config): void {
  const { host } = config[surface].listen;
  if (host === "" || isPrivateOrLoopback(host)) return;
  read.faults.push(
    `${
      prefixOf(surface)
    }_LISTEN is a public address (${host}) and there is no certificate: set TLS_CERT_FILE and ` +
      `TLS_KEY_FILE, or listen on a loopback or private address behind an edge`,
  );
}

/** The whole view of everything is for the operator alone, whatever stands before the public listeners. */
function checkOps(read: Reader, config: Config): void {
  if (!config.surfaces.has("ops")) return;
  const { host } = config.opsListen;
  if (host !== "" && !isPrivateOrLoopback(host)) {
    read.faults.push(`OPS_LISTEN is a public address (${host}); it takes a loopback or private one only`);
  }
  for (const surface of servedOf(config)) {
    if (isSame(config.opsListen, config[surface].listen)) {
      read.faults.push(
        `OPS_LISTEN and ${prefixOf(surface)}_LISTEN are one address; the operator's is its own`,
      );
    }
  }
}

/** Surfaces on one address are told apart by Host, so each needs a name of its own. */
function checkShared(read: Reader, config: Config): void {
  const names = new Map<string, PublicSurface>();
  const served = servedOf(config);
  for (const surface of served) {
    const { listen, url } = config[surface];
    const shares = served.some((other) => other !== surface && isSame(config[other].listen, listen));
    if (!shares) continue;
    if (url === null) {
      read.faults.push(`${prefixOf(surface)}_URL is not set; surfaces on one address are told apart by it`);
      continue;
    }
    const name = `${listen.host}:${listen.port} ${URL.canParse(url) ? new URL(url).host : url}`;
    const other = names.get(name);
    if (other !== undefined) {
      read.faults.push(`${prefixOf(other)}_URL and ${prefixOf(surface)}_URL name one host on one address`);
    }
    names.set(name, surface);
  }
}

/** Whether two listeners are one; two on port 0 get different ports. */
export function isSame(one: ListenAddress, other: ListenAddress): boolean {
  return one.port !== 0 && one.port === other.port && one.host === other.host;
}

function readTls(read: Reader): Config["tls"] {
  const certFile = read.text("TLS_CERT_FILE");
  const keyFile = read.text("TLS_KEY_FILE");
  if (certFile === null && keyFile === null) return null;
  read.checkTlsFiles(
    { cert: "TLS_CERT_FILE", key: "TLS_KEY_FILE" },
    "the certificate and its key go together",
  );
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

function readRate(
  read: Reader,
  prefix: "INTAKE_IP" | "INTAKE_KEY" | "FORMS_IP" | "FORMS_TENANT" | "PUBLIC_IP",
): Rate {
  return {
    perMinute: read.positiveInteger(`${prefix}_PER_MINUTE`),
    burst: read.positiveInteger(`${prefix}_BURST`),
  };
}
