/** Reads settings from an environment, collecting faults. Messages never repeat a value that may be secret. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { addressFault, parseDatabaseUrl } from "../store/address.ts";
import { type NamedSocket, socketName } from "./inherited.ts";
import { readSecretFiles } from "./secret_files.ts";
import { likelyTimeZone, timeZoneName } from "./time_zone.ts";

/** A listen address; port 0 is any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A listen address or an inherited socket. */
export type ListenPlace = ListenAddress | NamedSocket;

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Invalid settings; `faults` has one sentence per fault. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Variables with PEM files of a TLS endpoint; `ca` is what it trusts. */
export interface TlsVariables<Name extends string> {
  readonly cert: Name;
  readonly key: Name;
  readonly ca?: Name;
}

/** Reads a table's variables; an empty one counts as unset. */
export class SettingsReader<Name extends string> {
  readonly #variables: Readonly<Record<Name, { readonly default: string }>>;
  readonly #environment: Environment;
  /** Secrets from files. */
  readonly #secrets: Environment;
  /** The faults, one sentence each. */
  readonly faults: string[] = [];

  constructor(variables: Readonly<Record<Name, { readonly default: string }>>, environment: Environment) {
    this.#variables = variables;
    this.#environment = environment;
    const { secrets, faults } = readSecretFiles(environment, Object.keys(variables));
    this.#secrets = secrets;
    this.faults.push(...faults);
  }

  /** A variable's text, or `null`. */
  text(name: Name): string | null {
    const value = (this.#secrets[name] ?? this.#environment[name])?.trim();
    return value === undefined || value === "" ? null : value;
  }

  /** A PostgreSQL URL; required. */
  databaseUrl(name: Name): string {
    const value = this.text(name);
    if (value === null) {
      const isInFile = this.faults.some((fault) => fault.startsWith(`${name}_FILE: `));
      if (!isInFile) this.faults.push(`${name} is not set; it names the PostgreSQL database`);
    } else this.#checkDatabaseUrl(name, value);
    return value ?? "";
  }

  /** An optional PostgreSQL URL without a pooler, or `null`. */
  directDatabaseUrl(name: Name): string | null {
    const value = this.text(name);
    if (value !== null && this.#checkDatabaseUrl(name, value) && parseDatabaseUrl(value).isPooled) {
      this.faults.push(`${name} is the address of a pooler; use the address of the server`);
    }
    return value;
  }

  #checkDatabaseUrl(name: Name, value: string): boolean {
    const fault = addressFault(value);
    if (fault !== null) this.faults.push(`${name} ${fault}`);
    return fault === null;
  }

  /** A base URL without a path, or `null`. */
  baseUrl(name: Name, example = "https://intake.example.com"): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const url = URL.canParse(value) ? new URL(value) : null;
    const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" &&
      url.username === "" && url.password === "" && url.pathname === "/";
    if (!isBase) this.faults.push(`${name} is not a base address such as ${example}`);
    return value.replace(/\/+$/, "");
  }

  /** A listen address; `example` is for variables without a default. */
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

  /** A listen address, or `fd:NAME` for an inherited socket. */
  listenPlace(name: Name, fallback?: string): ListenPlace {
    const socket = socketName(this.text(name) ?? "");
    return socket === null ? this.listen(name, fallback) : { socket };
  }

  /** A list of networks; empty if unset. */
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
        `${name} is not a time zone such as Europe/Berlin${
          likely === null ? "" : `; did you mean ${likely}?`
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
   * Validates TLS files and their combination, so that faults are reported together and before the database is opened.
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
      // Such as a short key, or a broken chain after the first certificate.
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
      this.faults.push(`${name} is not valid PEM without a passphrase`);
      return null;
    }
  }

  /** The contents of a variable's file; `null` if unset, or unreadable, which is a fault. */
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
