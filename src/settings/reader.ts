/**
 * Reads settings from an environment, one variable at a time: faults are collected and reported together, and no
 * value that may be a secret is repeated in a message.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { addressFault, parseDatabaseUrl } from "../store/address.ts";
import { type NamedSocket, socketName } from "./inherited.ts";
import { readSecretFiles } from "./secret_files.ts";
import { likelyTimeZone, timeZoneName } from "./time_zone.ts";

/** An address to listen on; port 0 asks the system for a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Where a process listens: at an address, or on a socket that it was handed. */
export type ListenPlace = ListenAddress | NamedSocket;

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings that cannot be used; `faults` has one sentence for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** The variables that name the PEM files of one end of a TLS connection; `ca` is what it trusts. */
export interface TlsVariables<Name extends string> {
  readonly cert: Name;
  readonly key: Name;
  readonly ca?: Name;
}

/** Reads the variables of a table. An empty variable counts as unset. */
export class SettingsReader<Name extends string> {
  readonly #variables: Readonly<Record<Name, { readonly default: string }>>;
  readonly #environment: Environment;
  /** Those that stand in files. */
  readonly #secrets: Environment;
  /** What is wrong, one sentence each. */
  readonly faults: string[] = [];

  constructor(variables: Readonly<Record<Name, { readonly default: string }>>, environment: Environment) {
    this.#variables = variables;
    this.#environment = environment;
    const { secrets, faults } = readSecretFiles(environment, Object.keys(variables));
    this.#secrets = secrets;
    this.faults.push(...faults);
  }

  /** The variable's text, or `null`. */
  text(name: Name): string | null {
    const value = (this.#secrets[name] ?? this.#environment[name])?.trim();
    return value === undefined || value === "" ? null : value;
  }

  /** The address of a PostgreSQL database; required. */
  databaseUrl(name: Name): string {
    const value = this.text(name);
    if (value === null) {
      const isInFile = this.faults.some((fault) => fault.startsWith(`${name}_FILE: `));
      if (!isInFile) this.faults.push(`${name} is not set; it names the PostgreSQL database`);
    } else this.#checkDatabaseUrl(name, value);
    return value ?? "";
  }

  /** The same of one that is not required, and leads past any pooler; `null` when it is not set. */
  directDatabaseUrl(name: Name): string | null {
    const value = this.text(name);
    if (value !== null && this.#checkDatabaseUrl(name, value) && parseDatabaseUrl(value).isPooled) {
      this.faults.push(`${name} has a pooler; it is for an address without one`);
    }
    return value;
  }

  #checkDatabaseUrl(name: Name, value: string): boolean {
    const fault = addressFault(value);
    if (fault !== null) this.faults.push(`${name} ${fault}`);
    return fault === null;
  }

  /** The base address of a surface, a tier or a provider, without a path; `null` when it is not set. */
  baseUrl(name: Name, example = "https://intake.example.com"): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const url = URL.canParse(value) ? new URL(value) : null;
    const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" &&
      url.username === "" && url.password === "" && url.pathname === "/";
    if (!isBase) this.faults.push(`${name} is not a base address such as ${example}`);
    return value.replace(/\/+$/, "");
  }

  /** An address to listen on; one that has no default is given an example. */
  listen(name: Name, fallback: string = this.#variables[name].default): ListenAddress {
    const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(this.text(name) ?? fallback);
    const host = match?.[1] ?? match?.[2] ?? "";
    const port = Number(match?.[3]);
    const isHost = isIP(host) !== 0 || host === "localhost";
    if (match === null || !isHost || port > 65_535) {
      const other = fallback.replace(/^[^:]*/, "[::1]");
      this.faults.push(`${name} is not address:port, such as ${fallback} or ${other}`);
    }
    return { host, port };
  }

  /** An address to listen on, or `fd:NAME`: the socket of that name which the process was handed. */
  listenPlace(name: Name, fallback?: string): ListenPlace {
    const socket = socketName(this.text(name) ?? "");
    return socket === null ? this.listen(name, fallback) : { socket };
  }

  /** A list of networks, empty when unset. */
  networks(name: Name): Networks {
    try {
      return parseNetworks(this.text(name) ?? "");
    } catch {
      this.faults.push(`${name} is not a list of networks such as 10.0.0.0/8, ::1/128`);
      return parseNetworks("");
    }
  }

  /** The IANA name of a time zone. */
  timeZone(name: Name): string {
    const value = this.text(name) ?? this.#variables[name].default;
    const zone = timeZoneName(value);
    if (zone === null) {
      const likely = likelyTimeZone(value);
      this.faults.push(
        `${name} is no time zone such as Europe/Berlin${
          likely === null ? "" : `; the likely one is ${likely}`
        }`,
      );
    }
    return zone ?? "UTC";
  }

  /** A whole number from 1 to `max`. */
  positiveInteger(name: Name, max = 999_999_999): number {
    const value = this.text(name) ?? this.#variables[name].default;
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1 || number > max) {
      this.faults.push(`${name} is not a whole number from 1 to ${max}`);
    }
    return number;
  }

  /**
   * Makes sure that the files are there, hold what they should and can be used with one another. The service would
   * find out too, but only after it has opened the database, and one fault at a time.
   */
  checkTlsFiles(names: TlsVariables<Name>, whyNeeded: string): void {
    const certificate = (pem: string) => new X509Certificate(pem);
    const cert = this.#pem(names.cert, whyNeeded, certificate);
    const key = this.#pem(names.key, whyNeeded, (pem) => createPrivateKey(pem));
    const ca = names.ca === undefined ? { text: undefined } : this.#pem(names.ca, whyNeeded, certificate);
    if (cert === null || key === null || ca === null) return;
    const both = `${names.cert} and ${names.key}`;
    if (!cert.parsed.checkPrivateKey(key.parsed)) {
      this.faults.push(`${both} do not belong together`);
      return;
    }
    try {
      createSecureContext({ cert: cert.text, key: key.text, ca: ca.text });
    } catch (error) {
      // Such as a key that is too short, or a chain that is broken behind its first certificate.
      this.faults.push(`${both} cannot be used for TLS (${codeOf(error)})`);
    }
  }

  #pem<T>(
    name: Name,
    whyNeeded: string,
    parse: (pem: string) => T,
  ): { readonly text: string; readonly parsed: T } | null {
    const text = this.#fileText(name, whyNeeded);
    if (text === null) return null;
    try {
      return { text, parsed: parse(text) };
    } catch {
      this.faults.push(`${name} does not hold what it should, in PEM and without a passphrase`);
      return null;
    }
  }

  /** The text of a file that a variable names; `null` when it is not set or cannot be read, which is a fault. */
  #fileText(name: Name, whyNeeded: string): string | null {
    const file = this.text(name);
    if (file === null) {
      this.faults.push(`${name} is not set; ${whyNeeded}`);
      return null;
    }
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      this.faults.push(`${name} cannot be read (${codeOf(error)})`);
      return null;
    }
  }
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? "unknown cause";
}
