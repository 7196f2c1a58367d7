/** Reads settings from an environment and collects their faults. Messages never contain values that could be secret. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { type Networks, parseNetworks } from "../http/addresses.ts";
import { databaseUrlError, parseDatabaseUrl } from "../store/address.ts";
import { type NamedSocket, socketName } from "./inherited.ts";
import { readSecretFiles } from "./secret_files.ts";
import { likelyTimeZone, timeZoneName } from "./time_zone.ts";

/** A listen address; port 0 means any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A listen address or an inherited socket. */
export type ListenTarget = ListenAddress | NamedSocket;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Invalid settings; `faults` has one sentence per fault. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are invalid:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** The variables for a TLS endpoint's PEM files; `ca` is for the certificate of the CA that the endpoint trusts. */
export interface TlsVariables<Name extends string> {
  readonly cert: Name;
  readonly key: Name;
  readonly ca?: Name;
}

/** Reads the variables of a table; an empty variable counts as unset. */
export class SettingsReader<Name extends string> {
  readonly #variables: Readonly<Record<Name, { readonly default: string }>>;
  readonly #environment: Environment;
  /** The secrets that were read from files. */
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

  /** Returns a variable's trimmed value; `null` if unset. */
  text(name: Name): string | null {
    const value = (this.#secrets[name] ?? this.#environment[name])?.trim();
    return value === undefined || value === "" ? null : value;
  }

  /** Reads a required PostgreSQL URL; `""` if unset, which is a fault. */
  databaseUrl(name: Name): string {
    const value = this.text(name);
    if (value === null) {
      const hasFileFault = this.faults.some((fault) => fault.startsWith(`${name}_FILE: `));
      if (!hasFileFault) {
        this.faults.push(`${name} is not set; it must be the URL of the PostgreSQL database`);
      }
    } else this.#checkDatabaseUrl(name, value);
    return value ?? "";
  }

  /** Reads an optional PostgreSQL URL, which must not lead to a pooler; `null` if unset. */
  directDatabaseUrl(name: Name): string | null {
    const value = this.text(name);
    if (value !== null && this.#checkDatabaseUrl(name, value) && parseDatabaseUrl(value).isPooled) {
      this.faults.push(`${name} is a pooler's URL; use the server's`);
    }
    return value;
  }

  #checkDatabaseUrl(name: Name, value: string): boolean {
    const fault = databaseUrlError(value);
    if (fault !== null) this.faults.push(`${name} ${fault}`);
    return fault === null;
  }

  /** Reads a base URL without a path; `null` if unset. */
  baseUrl(name: Name, example = "https://intake.example.com"): string | null {
    const value = this.text(name);
    if (value === null) return null;
    const url = URL.canParse(value) ? new URL(value) : null;
    const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" &&
      url.username === "" && url.password === "" && url.pathname === "/";
    if (!isBase) this.faults.push(`${name} is not a base URL such as ${example}`);
    return value.replace(/\/+$/, "");
  }

  /** Reads a listen address; pass `fallback` for variables without a default. */
  listen(name: Name, fallback: string = this.#variables[name].default): ListenAddress {
    const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(this.text(name) ?? fallback);
    const host = match?.[1] ?? match?.[2] ?? "";
    const port = Number(match?.[3]);
    const isHost = isIP(host) !== 0 || host === "localhost";
    if (match === null || !isHost || port > 65_535) {
      const other = fallback.replace(/^[^:]*/, "[::1]");
      this.faults.push(`${name} must be address:port, such as ${fallback} or ${other}`);
    }
    return { host, port };
  }

  /** Reads a listen address, or `fd:NAME` for an inherited socket. */
  listenTarget(name: Name, fallback?: string): ListenTarget {
    const socket = socketName(this.text(name) ?? "");
    return socket === null ? this.listen(name, fallback) : { socket };
  }

  /** Reads a list of networks; empty if unset or invalid. */
  networks(name: Name): Networks {
    try {
      return parseNetworks(this.text(name) ?? "");
    } catch {
      this.faults.push(`${name} is not a list of networks such as 10.0.0.0/8, ::1/128`);
      return parseNetworks("");
    }
  }

  /** Reads the IANA name of a time zone; `UTC` if invalid. */
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

  /** Reads a whole number from 1 to `max`. */
  positiveInteger(name: Name, max = 999_999_999): number {
    const value = this.text(name) ?? this.#variables[name].default;
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1 || number > max) {
      this.faults.push(`${name} is not a whole number from 1 to ${max}`);
    }
    return number;
  }

  /** Checks TLS files and their combination, so that all faults are reported before the database is opened. */
  checkTlsFiles(names: TlsVariables<Name>, requirement: string): void {
    const certificate = (pem: string) => new X509Certificate(pem);
    const cert = this.#pem(names.cert, requirement, certificate);
    const key = this.#pem(names.key, requirement, (pem) => createPrivateKey(pem));
    const ca = names.ca === undefined ? { text: undefined } : this.#pem(names.ca, requirement, certificate);
    if (cert === null || key === null || ca === null) return;
    const both = `${names.cert} and ${names.key}`;
    if (!cert.parsed.checkPrivateKey(key.parsed)) {
      this.faults.push(`${both} do not match`);
      return;
    }
    try {
      createSecureContext({ cert: cert.text, key: key.text, ca: ca.text });
    } catch (error) {
      // For example, the key is too short, or a later certificate in the chain is invalid.
      this.faults.push(`${both} cannot be used for TLS (${codeOf(error)})`);
    }
  }

  #pem<T>(
    name: Name,
    requirement: string,
    parse: (pem: string) => T,
  ): { readonly text: string; readonly parsed: T } | null {
    const text = this.#fileText(name, requirement);
    if (text === null) return null;
    try {
      return { text, parsed: parse(text) };
    } catch {
      this.faults.push(`${name} is not a valid PEM file, or is encrypted with a passphrase`);
      return null;
    }
  }

  /** Returns the text of the file that a variable names; if it cannot be read, adds a fault and returns `null`. */
  #fileText(name: Name, requirement: string): string | null {
    const file = this.text(name);
    if (file === null) {
      this.faults.push(`${name} is not set; ${requirement}`);
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
