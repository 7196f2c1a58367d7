/**
 * The file that the audit's rows are shipped to: a JSON object a line, as `ctl audit export` prints them.
 *
 * @module
 */

import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, statSync, writeSync } from "node:fs";
import type { AuditLink, AuditRow } from "#src/store/operator/audit_chain.ts";
import { Refused } from "./command.ts";

// Longer than any row.
const tailBytes = 65_536;

/** A row as it was shipped, with the digest of the row before. */
export type ShippedRow = AuditRow & { readonly before: string };

/**
 * A line that `ctl audit export` has printed. `name` is what a message calls it.
 *
 * @throws {Refused} for any other
 */
export function parseAuditRow(line: string, name: string): ShippedRow {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Refused(`${name} is no JSON`);
  }
  if (!isAuditRow(row)) throw new Refused(`${name} is no row of the audit`);
  return row;
}

/** Whether a JSON value has the shape of a row that was shipped. */
export function isAuditRow(value: unknown): value is ShippedRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  const isText = (name: string) => typeof row[name] === "string";
  const isTextOrNull = (name: string) => row[name] === null || isText(name);
  return Number.isSafeInteger(row.id) &&
    ["at", "actor", "action", "subject", "before", "digest"].every(isText) &&
    ["claimed", "detail"].every(isTextOrNull);
}

/**
 * The last row of a file, and the place before the first one where there is none; a line that a crash has cut short is
 * taken away.
 *
 * @throws {Refused} when it cannot be read, or ends with something else
 */
export function lastAuditRow(file: string): AuditLink {
  return withFile(file, "r+", (handle, size) => {
    const from = Math.max(0, size - tailBytes);
    const bytes = new Uint8Array(size - from);
    readSync(handle, bytes, 0, bytes.length, from);
    const whole = bytes.lastIndexOf(10) + 1;
    if (whole < bytes.length) ftruncateSync(handle, from + whole);
    const line = new TextDecoder().decode(bytes.subarray(0, whole)).trimEnd().split("\n").at(-1) ?? "";
    return line === "" ? { id: 0, digest: "" } : parseAuditRow(line, "The last line of the file");
  }) ?? { id: 0, digest: "" };
}

/**
 * Adds lines to a file, which is made when it is missing; they are on the disk when it returns how many.
 *
 * @throws {Refused} when it cannot be written
 */
export async function appendLines(file: string, lines: AsyncIterable<string>): Promise<number> {
  let added = 0;
  const handle = opened(file, "a");
  try {
    for await (const line of lines) {
      writeSync(handle, `${line}\n`);
      added += 1;
    }
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  return added;
}

function withFile<T>(file: string, flags: string, work: (handle: number, size: number) => T): T | null {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return null;
  const handle = opened(file, flags);
  try {
    return work(handle, size);
  } finally {
    closeSync(handle);
  }
}

function opened(file: string, flags: string): number {
  try {
    return openSync(file, flags, 0o600);
  } catch (error) {
    throw new Refused(`The file cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
}
