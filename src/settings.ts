/**
 * Reads settings from an environment, one variable at a time: faults are collected and reported together, and no
 * value that may be a secret is repeated in a message.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type Networks, parseNetworks } from "./http/client.ts";

/** An address to listen on; port 0 asks the system for a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables with their defaults, as text, and what they mean. */
export type Variables = Readonly<Record<string, { readonly default: string; readonly meaning: string }>>;

/** Settings that cannot be used; `faults` has one sentence for each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings are wrong:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** Reads the variables of a table. An empty variable counts as unset. */
export class SettingsReader<Name extends string> {
  readonly #variables: Readonly<Record<Name, { readonly default: string }>>;
  readonly #environment: Environment;
  /** What is wrong, one sentence each. */
  readonly faults: string[] = [];

  constructor(variables: Readonly<Record<Name, { readonly default: string }>>, environment: Environment) {
    this.#variables = variables;
    this.#environment = environment;
  }

  /** Throws {@linkcode ConfigError} when anything was wrong. */
  finish(): void {
    if (this.faults.length > 0) throw new ConfigError(this.faults);
  }

  /** The variable's text, or `null`. */
  text(name: Name): string | null {
    const value = this.#environment[name]?.trim();
    return value === undefined || value === "" ? null : value;
  }

  /** The address of a PostgreSQL database; required. */
  databaseUrl(name: Name): string {
    const value = this.text(name);
    if (value === null) {
      this.faults.push(`${name} is not set; it names the PostgreSQL database`);
    } else if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
      this.faults.push(`${name} is not a postgres:// address`);
    }
    return value ?? "";
  }

  /** An address to listen on. */
  listen(name: Name): ListenAddress {
    const fallback = this.#variables[name].default;
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

  /** A list of networks, empty when unset. */
  networks(name: Name): Networks {
    try {
      return parseNetworks(this.text(name) ?? "");
    } catch {
      this.faults.push(`${name} is not a list of networks such as 10.0.0.0/8, ::1/128`);
      return parseNetworks("");
    }
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

  /** The text of a file that a variable names; `""` when it is not set or cannot be read, which is a fault. */
  fileText(name: Name, whyNeeded: string): string {
    const file = this.text(name);
    if (file === null) {
      this.faults.push(`${name} is not set; ${whyNeeded}`);
      return "";
    }
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      this.faults.push(`${name} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
      return "";
    }
  }
}
