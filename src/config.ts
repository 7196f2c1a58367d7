/**
 * The settings of the service process.
 *
 * @module
 */

import { limits, type Rate } from "./contract/limits.ts";
import { isPrivateOrLoopback, type Networks, parseNetworks } from "./http/client.ts";
import { type Environment, type ListenAddress, SettingsReader } from "./settings.ts";

/** The settings of the service process. */
export interface Config {
  readonly databaseUrl: string;
  readonly intakeListen: ListenAddress;
  /** The public base address, or `null` for the listener's own. */
  readonly intakeUrl: string | null;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly trustedProxies: Networks;
  readonly intakeIpRate: Rate;
  readonly intakeKeyRate: Rate;
  /** Where accepted events go, or `null`: then they are accepted and wait. */
  readonly delivery: DeliveryConfig | null;
}

/** The settings of the delivery loop. */
export interface DeliveryConfig {
  readonly actionsUrl: string;
  /** `null` for plain HTTP to this machine, as benchmarks use it. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string } | null;
  readonly sendTimeoutMs: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly attemptsMax: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly concurrency: number;
}

/**
 * Every variable that {@linkcode readConfig} reads, with its default and its meaning: the README's table and the
 * Deno permission list are checked against it.
 */
export const variables = {
  DATABASE_URL: { default: "–", meaning: "PostgreSQL, `postgres://user:password@host:port/database`" },
  INTAKE_LISTEN: { default: "127.0.0.1:8080", meaning: "address:port of the intake" },
  INTAKE_URL: { default: "the listener's", meaning: "public base address of the intake" },
  TLS_CERT_FILE: {
    default: "–",
    meaning: "PEM certificate chain; with it the public listeners speak HTTPS",
  },
  TLS_KEY_FILE: { default: "–", meaning: "PEM private key of the certificate" },
  TRUSTED_PROXIES: { default: "none", meaning: "CIDR list whose `X-Forwarded-For` is believed" },
  INTAKE_IP_PER_MINUTE: {
    default: String(limits.ipRate.perMinute),
    meaning: "requests a minute per client address",
  },
  INTAKE_IP_BURST: { default: String(limits.ipRate.burst), meaning: "requests at once per client address" },
  INTAKE_KEY_PER_MINUTE: {
    default: String(limits.keyRate.perMinute),
    meaning: "requests a minute per key",
  },
  INTAKE_KEY_BURST: { default: String(limits.keyRate.burst), meaning: "requests at once per key" },
  ACTIONS_URL: { default: "–", meaning: "base address of the actions tier; without it leads wait" },
  ACTIONS_CA_FILE: { default: "–", meaning: "PEM certificate of the CA that signed the tier's certificate" },
  ACTIONS_CLIENT_CERT_FILE: { default: "–", meaning: "PEM certificate that the service shows the tier" },
  ACTIONS_CLIENT_KEY_FILE: { default: "–", meaning: "PEM private key of that certificate" },
  DELIVERY_SEND_TIMEOUT_MS: {
    default: "25000",
    meaning: "a delivery's answer must be there by then; shorter than the lease",
  },
  DELIVERY_BACKOFF_BASE_MS: { default: "5000", meaning: "wait after the first failed attempt; then × 3" },
  DELIVERY_BACKOFF_CAP_MS: { default: "21600000", meaning: "the longest wait between attempts" },
  DELIVERY_ATTEMPTS_MAX: { default: "24", meaning: "attempts after which an event is dead" },
  DELIVERY_LEASE_MS: { default: "50000", meaning: "how long a claimed event stays with its process" },
  DELIVERY_POLL_MS: { default: "5000", meaning: "how often the outbox is looked at without a hint" },
  DELIVERY_CONCURRENCY: { default: "128", meaning: "deliveries in flight" },
} as const;

/** Reads the settings. Throws {@linkcode ConfigError} with every fault at once. */
export function readConfig(environment: Environment): Config {
  const read = new SettingsReader(variables, environment);
  const tls = readTls(read);
  const config: Config = {
    databaseUrl: read.databaseUrl("DATABASE_URL"),
    intakeListen: read.listen("INTAKE_LISTEN"),
    intakeUrl: readBaseUrl(read, "INTAKE_URL"),
    tls,
    trustedProxies: read.networks("TRUSTED_PROXIES"),
    intakeIpRate: readRate(read, "INTAKE_IP"),
    intakeKeyRate: readRate(read, "INTAKE_KEY"),
    delivery: readDelivery(read),
  };
  if (tls === null) requirePrivate(read, "INTAKE_LISTEN", config.intakeListen);
  read.finish();
  return config;
}

type Name = keyof typeof variables;
type Reader = SettingsReader<Name>;

function requirePrivate(read: Reader, name: Name, address: ListenAddress): void {
  if (address.host === "" || isPrivateOrLoopback(address.host)) return;
  read.faults.push(
    `${name} is a public address (${address.host}) and there is no certificate: set TLS_CERT_FILE and ` +
      `TLS_KEY_FILE, or listen on a loopback or private address behind an edge`,
  );
}

function readBaseUrl(read: Reader, name: Name): string | null {
  const value = read.text(name);
  if (value === null) return null;
  const url = URL.canParse(value) ? new URL(value) : null;
  const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" &&
    url.username === "" && url.password === "" && url.pathname === "/";
  if (!isBase) read.faults.push(`${name} is not a base address such as https://intake.example.com`);
  return value.replace(/\/+$/, "");
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

function readRate(read: Reader, prefix: "INTAKE_IP" | "INTAKE_KEY"): Rate {
  return {
    perMinute: read.positiveInteger(`${prefix}_PER_MINUTE`),
    burst: read.positiveInteger(`${prefix}_BURST`),
  };
}

function readDelivery(read: Reader): DeliveryConfig | null {
  const actionsUrl = readBaseUrl(read, "ACTIONS_URL");
  if (actionsUrl === null) return null;
  const sendTimeoutMs = read.positiveInteger("DELIVERY_SEND_TIMEOUT_MS");
  const leaseMs = read.positiveInteger("DELIVERY_LEASE_MS");
  if (leaseMs <= sendTimeoutMs) {
    read.faults.push("DELIVERY_LEASE_MS is not longer than DELIVERY_SEND_TIMEOUT_MS");
  }
  return {
    actionsUrl,
    files: readActionsFiles(read, actionsUrl),
    sendTimeoutMs,
    leaseMs,
    backoffBaseMs: read.positiveInteger("DELIVERY_BACKOFF_BASE_MS"),
    backoffCapMs: read.positiveInteger("DELIVERY_BACKOFF_CAP_MS"),
    attemptsMax: read.positiveInteger("DELIVERY_ATTEMPTS_MAX"),
    pollMs: read.positiveInteger("DELIVERY_POLL_MS"),
    concurrency: read.positiveInteger("DELIVERY_CONCURRENCY"),
  };
}

function readActionsFiles(read: Reader, actionsUrl: string): DeliveryConfig["files"] {
  const url = URL.canParse(actionsUrl) ? new URL(actionsUrl) : null;
  if (url?.protocol === "http:") {
    // Leads never cross a network in the clear.
    if (isLoopback(url.hostname)) return null;
    read.faults.push("ACTIONS_URL is http: on another machine; the actions tier is reached over mutual TLS");
    return null;
  }
  const names = {
    ca: "ACTIONS_CA_FILE",
    cert: "ACTIONS_CLIENT_CERT_FILE",
    key: "ACTIONS_CLIENT_KEY_FILE",
  } as const;
  read.checkTlsFiles(names, "ACTIONS_URL needs it");
  const file = (name: Name) => read.text(name) ?? "";
  return { ca: file(names.ca), cert: file(names.cert), key: file(names.key) };
}

const loopback = parseNetworks("127.0.0.0/8, ::1");

/** `hostname` is a URL's: an IPv6 address is in brackets. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || loopback.contains(hostname.replace(/^\[(.*)\]$/, "$1"));
}
