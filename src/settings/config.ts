/** The settings of the service process. */

import { isContact } from "../contract/contact.ts";
import { type CheckoutConfig, readCheckoutConfig } from "./checkout.ts";
import type { Rate } from "../contract/limits.ts";
import type { Networks } from "../http/addresses.ts";
import type { TlsPaths } from "../http/tls_files.ts";
import { type DeliveryConfig, readDeliveryConfig } from "./delivery.ts";
import type { InheritedSockets } from "./inherited.ts";
import { readLinkSecrets } from "./link_secrets.ts";
import { type Place, placeFaults } from "./places.ts";
import { ConfigError, type Environment, type ListenPlace, SettingsReader } from "./reader.ts";
import {
  needsStore,
  type PublicSurface,
  publicSurfaces,
  type SurfaceName,
  surfaceNames,
} from "./surface_names.ts";
import { readLastFailure } from "./supervisor.ts";
import { unknownSettings } from "./unknown.ts";
import { variables } from "./variables.ts";

/** The settings of the service process. */
export interface Config {
  /** The surfaces that this process serves. */
  readonly surfaces: ReadonlySet<SurfaceName>;
  /** Empty if no surface needs a database. */
  readonly databaseUrl: string;
  /** The URL for LISTEN, if it differs from {@linkcode databaseUrl}. */
  readonly listenUrl: string | null;
  readonly intake: PublicListener;
  readonly forms: PublicListener;
  readonly subscription: PublicListener;
  readonly site: PublicListener;
  /** The folder that the site's listener serves. */
  readonly siteDir: string;
  readonly opsListen: ListenPlace;
  /** Inherited sockets that the settings name. */
  readonly sockets: InheritedSockets;
  /** The address where partners ask for a key. */
  readonly contactEmail: string | null;
  /** The console's time zone. */
  readonly consoleTimeZone: string;
  readonly tls: TlsPaths | null;
  readonly trustedProxies: Networks;
  /** Connections per client address; `null` for the default, which has exceptions. */
  readonly connectionsPerAddress: number | null;
  readonly intakeIpRate: Rate;
  readonly intakeKeyRate: Rate;
  readonly formsIpRate: Rate;
  readonly formsTenantRate: Rate;
  /** Whether the spam score learns from operators. */
  readonly formsSpamLearn: boolean;
  readonly publicReadRate: Rate;
  /** Secrets that verify digest links; empty: no links. */
  readonly linkSecrets: readonly string[];
  /** The actions tier, or `null`: events wait. */
  readonly delivery: DeliveryConfig | null;
  /** The checkout, or `null`. */
  readonly checkout: CheckoutConfig | null;
  /** The folder of backups' time stamps, or `null`. */
  readonly backupMarksDir: string | null;
  /** How the previous process failed, if it did. */
  readonly lastFailure: string | null;
}

/** Where a public surface listens. */
export interface PublicListener {
  readonly listen: ListenPlace;
  /** The public base address, or `null` for the listener's own. */
  readonly url: string | null;
}

/**
 * Reads the settings; `sockets` are the inherited ones.
 *
 * @throws {ConfigError} with all faults
 */
export function readConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): Config {
  const { config, faults } = examineConfig(environment, sockets);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads the settings without throwing; faulty ones are empty. */
export function examineConfig(
  environment: Environment,
  sockets: InheritedSockets | null = null,
): { readonly config: Config; readonly faults: readonly string[] } {
  const read = new SettingsReader(variables, environment);
  const surfaces = readSurfaces(read);
  const tls = readTls(read);
  const config: Config = {
    surfaces,
    databaseUrl: needsStore(surfaces) ? read.databaseUrl("DATABASE_URL") : "",
    listenUrl: read.directDatabaseUrl("DATABASE_LISTEN_URL"),
    intake: readPublic(read, "INTAKE"),
    forms: readPublic(read, "FORMS"),
    subscription: readPublic(read, "SUBSCRIPTION"),
    site: readPublic(read, "SITE"),
    siteDir: read.text("SITE_DIR") ?? variables.SITE_DIR.default,
    opsListen: read.listenPlace("OPS_LISTEN"),
    sockets: sockets ?? new Map(),
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
    formsSpamLearn: readSwitch(read, "FORMS_SPAM_LEARN"),
    publicReadRate: readRate(read, "PUBLIC_IP"),
    linkSecrets: readLinkSecrets(read),
    delivery: surfaces.has("delivery") ? readDeliveryConfig(read) : null,
    checkout: surfaces.has("subscription") ? readCheckoutConfig(read) : null,
    backupMarksDir: read.text("OPS_BACKUP_MARKS_DIR"),
    lastFailure: readLastFailure(environment),
  };
  read.faults.push(...placeFaults(placesOf(config), { isSecure: tls !== null, sockets }));
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

/** The public surfaces of the process. */
export function servedOf({ surfaces }: Pick<Config, "surfaces">): PublicSurface[] {
  return publicSurfaces.filter((surface) => surfaces.has(surface));
}

/** Delivery runs with the intake, or where it is named: DECISIONS, Decided since. */
function readSurfaces(read: Reader): ReadonlySet<SurfaceName> {
  const list = read.text("SURFACES")?.split(/[\s,]+/).filter((name) => name !== "");
  const named = list ?? surfaceNames;
  const isSurface = (name: string): name is SurfaceName => (surfaceNames as readonly string[]).includes(name);
  const unknown = named.filter((name) => !isSurface(name));
  if (unknown.length > 0 || named.length === 0) {
    read.faults.push(`SURFACES is not a list of ${surfaceNames.join(", ")}`);
  }
  // Leads may wait for a tier, but a process that only delivers would silently do nothing.
  if (list?.includes("delivery") && read.text("ACTIONS_URL") === null) {
    read.faults.push("ACTIONS_URL is not set, but SURFACES names delivery");
  }
  const surfaces = new Set(named.filter(isSurface));
  return surfaces.has("intake") ? surfaces.add("delivery") : surfaces;
}

function readPublic(read: Reader, prefix: Uppercase<PublicSurface>): PublicListener {
  const listen = read.listenPlace(`${prefix}_LISTEN`);
  const url = read.baseUrl(`${prefix}_URL`);
  if ("socket" in listen && url === null) {
    read.faults.push(
      `${prefix}_URL is not set; it is required because ${prefix}_LISTEN is a socket`,
    );
  }
  return { listen, url };
}

function placesOf(config: Config): Place[] {
  const places: Place[] = servedOf(config).map((name) => ({ name, ...config[name] }));
  return config.surfaces.has("ops")
    ? [...places, { name: "ops", listen: config.opsListen, url: null }]
    : places;
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

function readSwitch(read: Reader, name: "FORMS_SPAM_LEARN"): boolean {
  const text = read.text(name) ?? "on";
  if (text !== "on" && text !== "off") read.faults.push(`${name} is neither on nor off`);
  return text === "on";
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
