/**
 * What a case file says, and its defaults.
 *
 * @module
 */

import { readdirSync, readFileSync } from "node:fs";

/** Where the calls of a case go. */
export type Place =
  /** Plain HTTP on the loopback. */
  | "http"
  /** TLS with a certificate of the authority that `ca_file` names. */
  | "https"
  /** The same, but the certificate is for another name. */
  | "https of another name"
  /** A certificate of an authority that nobody trusts. */
  | "https of another authority"
  /** TLS that goes no higher than 1.1. */
  | "https by TLS 1.1"
  /** The address says `https://`, and plain HTTP answers. */
  | "https to plain HTTP"
  /** A port at which nobody listens. */
  | "nobody"
  /** An address that never answers the first packet of connecting. */
  | "black hole";

/** What the server does with one request, in the order in which requests come. */
export interface Answer {
  /** One of `named`; what stands beside it here replaces its members. */
  readonly like?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body of JSON; `text` is one of any kind. Both may have placeholders. */
  readonly json?: unknown;
  readonly text?: string;
  /** `text`, so many times. */
  readonly times?: number;
  /** Statuses of interim answers before it. */
  readonly interim?: readonly number[];
  /** Sends the body in chunks, or up to the end of the connection; else with a Content-Length. */
  readonly framing?: "chunked" | "until closed";
  /** Sends no more than so many bytes of the body. */
  readonly cut_after?: number;
  /** Sends everything byte by byte, one in so many milliseconds; `head` then `body` say where that begins. */
  readonly drip?: { readonly from: "head" | "body"; readonly every_ms: number };
  /** These bytes instead of an answer. */
  readonly raw?: string;
  /** Gives its answer before it reads: as soon as somebody has connected. */
  readonly when?: "connected" | "asked";
  /** These bytes come after the answer, when its connection is idle again. */
  readonly stray?: string;
  /** What becomes of the connection afterwards; kept alive when left out. */
  readonly then?: "close" | "reset" | "hang";
}

/** One line for the driver, and what it has to answer. */
export interface Call {
  /** What differs from the line that all cases share. */
  readonly line: Readonly<Record<string, unknown>>;
  /** Members of `result`, of `error`, or the waits; each as it must be, or a condition of `expect.ts`. */
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
  readonly waits_ms?: readonly unknown[];
  /** Words that `text` must have. */
  readonly says?: string;
}

/** A case file. */
export interface Case {
  readonly name: string;
  /** A sentence: the rule that it shows. */
  readonly about: string;
  readonly place: Place;
  /** The host in the address: `127.0.0.1` when left out. */
  readonly host?: string;
  /** What stands behind the address, a path for example. */
  readonly behind?: string;
  /** Environment variables; the driver is a process of this case's own then. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Calls are made together and not one after the other. */
  readonly together?: boolean;
  readonly answers: readonly (Answer | string)[];
  /** The last answer is given to all further requests. */
  readonly and_so_on?: boolean;
  readonly calls: readonly Call[];
  /** How many requests have to come. */
  readonly requests?: unknown;
  /** How many connections have to be opened. */
  readonly connections?: unknown;
  /** How long the driver may take for a call, where a rule is about time; far more than it needs. */
  readonly within_s?: number;
  /** A header that has to be another one on each request. */
  readonly distinct?: string;
  /** The waits of the first call have to come of several draws. */
  readonly drawn?: boolean;
  /** Members of the n-th request: `target`, `method`, `header NAME` (null: absent), `body`, `after_ms` (since the one before). */
  readonly seen?: readonly Readonly<Record<string, unknown>>[];
}

const folder = new URL("./cases/", import.meta.url);

/** All cases, by name. @throws {Error} for a file that is no case */
export function readCases(): Case[] {
  return readdirSync(folder).filter((file) => file.endsWith(".json")).sort().map((file) => {
    const read = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
    const name = file.slice(0, -".json".length);
    if (typeof read.about !== "string" || !Array.isArray(read.calls) || read.calls.length === 0) {
      throw new Error(`${file} is no case: it needs about and calls`);
    }
    return { place: "http", answers: [], ...read, name };
  });
}

/** The values that placeholders in a case stand for: `{{name}}`. */
export type Values = Readonly<Record<string, string>>;

/** Text with its placeholders filled in; `{{date+10}}` is the HTTP date in ten seconds. */
export function fill(text: string, values: Values): string {
  return text.replace(/\{\{(\w+)([+-]\d+)?\}\}/g, (whole, name: string, offset?: string) => {
    if (name === "date") return new Date(Date.now() + Number(offset ?? 0) * 1000).toUTCString();
    return values[name] ?? whole;
  });
}

/** `fill` for every string within a value of JSON. */
export function fillAll<T>(value: T, values: Values): T {
  if (typeof value === "string") return fill(value, values) as T;
  if (Array.isArray(value)) return value.map((item) => fillAll(item, values)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, fillAll(item, values)]),
  ) as T;
}
