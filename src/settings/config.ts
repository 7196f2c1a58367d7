/** Reads the settings of the service process. */

import { isContact } from "../contract/contact.ts";
import { type CheckoutConfig, readCheckoutConfig } from "./checkout.ts";
import type { Rate } from "../contract/limits.ts";
import type { Networks } from "../http/addresses.ts";
import type { TlsPaths } from "../http/tls_files.ts";
import { type DeliveryConfig, readDeliveryConfig } from "./delivery.ts";
import type { InheritedSockets } from "./inherited.ts";
import { readLinkSecrets } from "./link_secrets.ts";
import { type ConfiguredListener, listenerFaults } from "./listen_targets.ts";
import { ConfigError, type Environment, type ListenTarget, SettingsReader } from "./reader.ts";
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

export interface Config {
  readonly surfaces: ReadonlySet<SurfaceName>;
  /** The database's URL; empty if no surface needs a database. */
  readonly databaseUrl: string;
  /** The URL for LISTEN, if it differs from {@linkcode databaseUrl}. */
  readonly listenUrl: string | null;
  readonly intake: PublicListener;
  readonly forms: PublicListener;
  readonly subscription: PublicListener;
  readonly site: PublicListener;
  /** The folder that the site's listener serves. */
  readonly siteDir: string;
  readonly opsListen: ListenTarget;
  /** The console's base URL behind a proxy; `null` if unset. */
  readonly opsUrl: string | null;
  /** The proxies whose `X-Forwarded-User` names the console's operator. */
  readonly opsTrustedProxies: Networks;
  /** The inherited sockets; empty if there are none. */
  readonly sockets: InheritedSockets;
  /** The email address for partners' questions about keys; `null` if unset. */
  readonly contactEmail: string | null;
  readonly consoleTimeZone: string;
  readonly tls: TlsPaths | null;
  readonly trustedProxies: Networks;
  /** The maximum number of connections per client address; `null` for the default, which exempts trusted proxies. */
  readonly connectionsPerAddress: number | null;
  readonly intakeIpRate: Rate;
  readonly intakeKeyRate: Rate;
  readonly formsIpRate: Rate;
  readonly formsTenantRate: Rate;
  /** Whether the spam score learns from operators' reviews. */
  readonly formsSpamLearn: boolean;
  readonly publicReadRate: Rate;
  /** The secrets that verify digest links; empty if there are no links. */
  readonly linkSecrets: readonly string[];
  /**
   * `null` if this process neither delivers events nor serves the console, which tests routes, or if there is no actions tier,
   * in which case events stay pending.
   */
  readonly delivery: DeliveryConfig | null;
  /** `null` if this process does not serve the checkout, or no setting of the checkout is set. */
  readonly checkout: CheckoutConfig | null;
  /** The folder with the timestamp files of the backup units; `null` if unset. */
  readonly backupMarksDir: string | null;
  /** Why the previous process failed; `null` if it did not fail or the reason is unknown. */
  readonly lastFailure: string | null;
}

export interface PublicListener {
  readonly listen: ListenTarget;
  /** The public base URL, or `null` for the listener's own. */
  readonly url: string | null;
}

/**
 * Reads the settings; `sockets` are the inherited sockets, or `null` to skip their checks.
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

/** Reads the settings without throwing; with faults, `config` may contain empty or invalid values. */
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
    opsListen: read.listenTarget("OPS_LISTEN"),
    opsUrl: read.baseUrl("OPS_URL", "https://ops.example.com"),
    opsTrustedProxies: read.networks("OPS_TRUSTED_PROXIES"),
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
    delivery: surfaces.has("delivery") || surfaces.has("ops") ? readDeliveryConfig(read) : null,
    checkout: surfaces.has("subscription") ? readCheckoutConfig(read) : null,
    backupMarksDir: read.text("OPS_BACKUP_MARKS_DIR"),
    lastFailure: readLastFailure(environment),
  };
  read.faults.push(...listenerFaults(configuredListeners(config), { isSecure: tls !== null, sockets }));
  read.faults.push(...unknownSettings(environment));
  return { config, faults: read.faults };
}

type Name = keyof typeof variables;
type Reader = SettingsReader<Name>;

function readContact(read: Reader): string | null {
  const contact = read.text("CONTACT_EMAIL");
  if (contact !== null && !isContact(contact)) {
    read.faults.push("CONTACT_EMAIL is not an email address such as partners@example.com");
  }
  return contact;
}

/** Reads the surfaces; adds delivery if the intake is among them. Source: DECISIONS, Decided since. */
function readSurfaces(read: Reader): ReadonlySet<SurfaceName> {
  const list = read.text("SURFACES")?.split(/[\s,]+/).filter((name) => name !== "");
  const named = list ?? surfaceNames;
  const isSurface = (name: string): name is SurfaceName => (surfaceNames as readonly string[]).includes(name);
  const unknown = named.filter((name) => !isSurface(name));
  if (unknown.length > 0 || named.length === 0) {
    read.faults.push(`SURFACES must be a list of ${surfaceNames.join(", ")}`);
  }
  // The intake may run without an actions tier, but a process that only delivers would silently do nothing.
  if (list?.includes("delivery") && read.text("ACTIONS_URL") === null) {
    read.faults.push("ACTIONS_URL is not set; delivery in SURFACES requires it");
  }
  const surfaces = new Set(named.filter(isSurface));
  return surfaces.has("intake") ? surfaces.add("delivery") : surfaces;
}

function readPublic(read: Reader, prefix: Uppercase<PublicSurface>): PublicListener {
  const listen = read.listenTarget(`${prefix}_LISTEN`);
  const url = read.baseUrl(`${prefix}_URL`);
  if ("socket" in listen && url === null) {
    read.faults.push(
      `${prefix}_URL is not set; it is required because ${prefix}_LISTEN is a socket`,
    );
  }
  return { listen, url };
}

function configuredListeners(config: Config): ConfiguredListener[] {
  const served = publicSurfaces.filter((surface) => config.surfaces.has(surface));
  const listeners: ConfiguredListener[] = served.map((name) => ({ name, ...config[name] }));
  return config.surfaces.has("ops")
    ? [...listeners, { name: "ops", listen: config.opsListen, url: null }]
    : listeners;
}

function readTls(read: Reader): Config["tls"] {
  const certFile = read.text("TLS_CERT_FILE");
  const keyFile = read.text("TLS_KEY_FILE");
  if (certFile === null && keyFile === null) return null;
  read.checkTlsFiles(
    { cert: "TLS_CERT_FILE", key: "TLS_KEY_FILE" },
    "set both the certificate and its key",
  );
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

function readSwitch(read: Reader, name: "FORMS_SPAM_LEARN"): boolean {
  const text = read.text(name) ?? "on";
  if (text !== "on" && text !== "off") read.faults.push(`${name} must be on or off`);
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
