/**
 * The settings: the one reader of the environment. All faults are reported together, and no value
 * that may be a secret is repeated in a message.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { limits, type Rate } from "./contract/limits.ts";
import { isPrivateOrLoopback, type Networks, parseNetworks } from "./http/client.ts";

/** An address to listen on; port 0 asks the system for a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

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

/** Settings that cannot be used; `faults` has one sentence for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
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

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the settings. Throws {@linkcode ConfigError} with every fault at once. */
export function readConfig(environment: Environment): Config {
  const faults: string[] = [];
  const read = new Reader(environment, faults);
  const tls = read.tls();
  const config: Config = {
    databaseUrl: read.databaseUrl(),
    intakeListen: read.listen("INTAKE_LISTEN", variables.INTAKE_LISTEN.default),
    intakeUrl: read.baseUrl("INTAKE_URL"),
    tls,
    trustedProxies: read.networks("TRUSTED_PROXIES"),
    intakeIpRate: read.rate("INTAKE_IP", limits.ipRate),
    intakeKeyRate: read.rate("INTAKE_KEY", limits.keyRate),
    delivery: read.delivery(),
  };
  if (tls === null) read.requirePrivate("INTAKE_LISTEN", config.intakeListen);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads single variables and collects their faults. An empty variable counts as unset. */
class Reader {
  readonly #environment: Environment;
  readonly #faults: string[];

  constructor(environment: Environment, faults: string[]) {
    this.#environment = environment;
    this.#faults = faults;
  }

  #get(name: string): string | null {
    const value = this.#environment[name]?.trim();
    return value === undefined || value === "" ? null : value;
  }

  databaseUrl(): string {
    const value = this.#get("DATABASE_URL");
    if (value === null) {
      this.#faults.push("DATABASE_URL is not set; it names the PostgreSQL database");
    } else if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
      this.#faults.push("DATABASE_URL is not a postgres:// address");
    }
    return value ?? "";
  }

  listen(name: string, fallback: string): ListenAddress {
    const value = this.#get(name) ?? fallback;
    const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value);
    const host = match?.[1] ?? match?.[2] ?? "";
    const port = Number(match?.[3]);
    const isHost = isIP(host) !== 0 || host === "localhost";
    if (match === null || !isHost || port > 65_535) {
      this.#faults.push(`${name} is not address:port, such as ${fallback} or [::1]:8080`);
    }
    return { host, port };
  }

  requirePrivate(name: string, address: ListenAddress): void {
    if (address.host === "" || isPrivateOrLoopback(address.host)) return;
    this.#faults.push(
      `${name} is a public address (${address.host}) and there is no certificate: set TLS_CERT_FILE and ` +
        `TLS_KEY_FILE, or listen on a loopback or private address behind an edge`,
    );
  }

  baseUrl(name: string): string | null {
    const value = this.#get(name);
    if (value === null) return null;
    const url = URL.canParse(value) ? new URL(value) : null;
    const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" &&
      url.username === "" && url.password === "" && url.pathname === "/";
    if (!isBase) this.#faults.push(`${name} is not a base address such as https://intake.example.com`);
    return value.replace(/\/+$/, "");
  }

  tls(): Config["tls"] {
    const certFile = this.#get("TLS_CERT_FILE");
    const keyFile = this.#get("TLS_KEY_FILE");
    if (certFile === null && keyFile === null) return null;
    if (certFile === null || keyFile === null) {
      this.#faults.push(
        `${
          certFile === null ? "TLS_CERT_FILE" : "TLS_KEY_FILE"
        } is not set; the certificate and its key go together`,
      );
      return null;
    }
    this.#requireReadable("TLS_CERT_FILE", certFile);
    this.#requireReadable("TLS_KEY_FILE", keyFile);
    return { certFile, keyFile };
  }

  #requireReadable(name: string, file: string): void {
    try {
      readFileSync(file);
    } catch (error) {
      this.#faults.push(`${name} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
    }
  }

  delivery(): DeliveryConfig | null {
    const actionsUrl = this.baseUrl("ACTIONS_URL");
    if (actionsUrl === null) return null;
    const sendTimeoutMs = this.#integer("DELIVERY_SEND_TIMEOUT_MS");
    const leaseMs = this.#integer("DELIVERY_LEASE_MS");
    if (leaseMs <= sendTimeoutMs) {
      this.#faults.push("DELIVERY_LEASE_MS is not longer than DELIVERY_SEND_TIMEOUT_MS");
    }
    return {
      actionsUrl,
      files: this.#actionsFiles(actionsUrl),
      sendTimeoutMs,
      leaseMs,
      backoffBaseMs: this.#integer("DELIVERY_BACKOFF_BASE_MS"),
      backoffCapMs: this.#integer("DELIVERY_BACKOFF_CAP_MS"),
      attemptsMax: this.#integer("DELIVERY_ATTEMPTS_MAX"),
      pollMs: this.#integer("DELIVERY_POLL_MS"),
      concurrency: this.#integer("DELIVERY_CONCURRENCY"),
    };
  }

  #actionsFiles(actionsUrl: string): DeliveryConfig["files"] {
    const url = URL.canParse(actionsUrl) ? new URL(actionsUrl) : null;
    if (url?.protocol === "http:") {
      // Leads never cross a network in the clear.
      if (isLoopback(url.hostname)) return null;
      this.#faults.push(
        "ACTIONS_URL is http: on another machine; the actions tier is reached over mutual TLS",
      );
      return null;
    }
    const names = ["ACTIONS_CA_FILE", "ACTIONS_CLIENT_CERT_FILE", "ACTIONS_CLIENT_KEY_FILE"] as const;
    const [ca, cert, key] = names.map((name) => {
      const file = this.#get(name);
      if (file === null) this.#faults.push(`${name} is not set; ACTIONS_URL needs it`);
      else this.#requireReadable(name, file);
      return file ?? "";
    }) as [string, string, string];
    return { ca, cert, key };
  }

  #integer(name: keyof typeof variables): number {
    return this.#positiveInteger(name, Number(variables[name].default));
  }

  networks(name: string): Networks {
    try {
      return parseNetworks(this.#get(name) ?? "");
    } catch {
      this.#faults.push(`${name} is not a list of networks such as 10.0.0.0/8, ::1/128`);
      return parseNetworks("");
    }
  }

  rate(prefix: string, published: Rate): Rate {
    return {
      perMinute: this.#positiveInteger(`${prefix}_PER_MINUTE`, published.perMinute),
      burst: this.#positiveInteger(`${prefix}_BURST`, published.burst),
    };
  }

  #positiveInteger(name: string, fallback: number): number {
    const value = this.#get(name);
    if (value === null) return fallback;
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1) {
      this.#faults.push(`${name} is not a whole number from 1 to 999999999`);
    }
    return number;
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}
