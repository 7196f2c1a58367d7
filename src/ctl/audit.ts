/** Defines the `ctl audit` commands. */

import {
  closeSync,
  createReadStream,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from "node:fs";
import {
  type AuditLink,
  type AuditRow,
  chainFault,
  listAudit,
  readAuditDigest,
  readAuditHead,
  readAuditRows,
} from "#src/store/operator/audit.ts";
import type { Pool } from "#src/store/pool.ts";
import { type Command, Refused, type Reply, UsageError } from "./command.ts";
import { listCommand } from "./list.ts";
import { counted, JsonText, shortTime } from "./terminal.ts";

/** A row in a file that `ctl audit export` wrote; `before` is the previous row's digest. */
export type ExportedRow = AuditRow & { readonly before: string };

/** Whether a JSON value has the shape of an exported row. */
export function isAuditRow(value: unknown): value is ExportedRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  const isText = (name: string) => typeof row[name] === "string";
  return Number.isSafeInteger(row.id) &&
    ["at", "actor", "action", "subject", "before", "digest"].every(isText) &&
    ["claimed", "detail"].every((name) => row[name] === null || isText(name));
}

/**
 * Parses an exported row; `name` is the subject of the error message.
 *
 * @throws {Refused} if the line is not a row
 */
function parseAuditRow(line: string, name: string): ExportedRow {
  try {
    const row: unknown = JSON.parse(line);
    if (isAuditRow(row)) return row;
  } catch {
    // Refused below.
  }
  throw new Refused(`${name} is not an audit row`);
}

/**
 * Reads a file's lines. Only a line feed ends a line: node:readline also splits at U+2028 and U+2029, which JSON strings may
 * contain.
 *
 * @throws what the file system throws
 */
export async function* readLines(file: string): AsyncGenerator<string> {
  let partial = "";
  for await (const chunk of createReadStream(file, { encoding: "utf8" })) {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop() ?? "";
    yield* lines;
  }
  if (partial !== "") yield partial;
}

// Longer than any row.
const tailBytes = 65_536;

/**
 * Returns the last row of an open file, or id 0 for an empty file. Cuts off an incomplete line that a crash left.
 *
 * @throws {Refused} if the last line is not a row
 */
function lastAuditRow(handle: number, size: number): AuditLink {
  const from = Math.max(0, size - tailBytes);
  const bytes = new Uint8Array(size - from);
  readSync(handle, bytes, 0, bytes.length, from);
  const end = bytes.lastIndexOf(10) + 1;
  if (end < bytes.length) ftruncateSync(handle, from + end);
  const line = new TextDecoder().decode(bytes.subarray(0, end)).trimEnd().split("\n").at(-1) ?? "";
  return line === "" ? { id: 0, digest: "" } : parseAuditRow(line, "The last line of the file");
}

const subjectLengthMax = 200;

const list = listCommand({
  words: "audit list",
  options: { subject: { value: "ID", description: "only actions on this event, key, term …" } },
  limit: 50,
  summary: "List operator actions, newest first",
  notes:
    `WHO is the tool (ctl or console) and the database login. CLAIMED is an unverified name: the account on
the machine, or the console operator's from X-Forwarded-User (see OPS_TRUSTED_PROXIES).`,
  prepare: (input) => (pool, { limit }) =>
    listAudit(pool, { subject: input.option("subject")?.slice(0, subjectLengthMax) ?? null, limit }),
  empty: "No actions yet.",
  columns: {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "CLAIMED": ({ claimed }) => claimed ?? "-",
    "WHAT": ({ action }) => action,
    "SUBJECT": ({ subjects, count }) =>
      subjects.join(" ") + (count > subjects.length ? ` and ${count - subjects.length} more` : ""),
    "DETAIL": ({ detail }) => detail ?? "-",
  },
  json: ({ id, detail, ...rest }) => ({
    id: Number(id),
    ...rest,
    detail: detail === null ? null : new JsonText(detail),
  }),
});

const exportCommand: Command = {
  words: "audit export",
  options: {
    append: {
      value: "FILE",
      required: true,
      description:
        "append the rows that follow this file's last row; the file is created if it does not exist",
    },
  },
  summary: "Add the audit's new rows to a file, with their digests, one JSON object per line",
  notes: `Export once a minute, and copy the file to a place where the owner of the database cannot write. The
rows are on disk when the command ends. Exit 1: the last row of the file is missing from the database or differs:
the audit was truncated, or the database is an older copy (ctl restored). No row contains personal
data from a lead. To check the file without a database: ctl audit verify --file audit.jsonl.

A row's digest is the SHA-256, in hex, of the previous digest followed by the JSON array of id,
at, actor, claimed, action, subject and detail, as Python writes it:
  sha256((before + json.dumps([row[k] for k in keys], ensure_ascii=False)).encode())`,
  prepare: (input) => (pool) => appendTo(pool, input.required("append")),
};

async function appendTo(pool: Pool, file: string): Promise<Reply> {
  let handle: number;
  try {
    const exists = statSync(file, { throwIfNoEntry: false }) !== undefined;
    handle = openSync(file, exists ? "r+" : "w+", 0o600);
  } catch (error) {
    throw new Refused(`The file cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    let last = lastAuditRow(handle, statSync(file).size);
    let offset = statSync(file).size;
    const { id: upTo } = await readAuditHead(pool);
    if (last.id > upTo || await readAuditDigest(pool, last.id) !== last.digest) {
      refuseBroken(
        `row ${last.id} of the file is not in the database: the audit was truncated, or the database is an older copy; see ctl restored`,
      );
    }
    let added = 0;
    for await (const { digest, ...content } of readAuditRows(pool, { after: last.id, upTo })) {
      offset += writeSync(handle, `${JSON.stringify({ ...content, before: last.digest, digest })}\n`, offset);
      last = { id: content.id, digest };
      added += 1;
    }
    fsyncSync(handle);
    return { json: { added, last: upTo }, text: `Added ${counted(added, "row")}.` };
  } finally {
    closeSync(handle);
  }
}

const verify: Command = {
  words: "audit verify",
  options: {
    head: { value: "ID:DIGEST", description: "a head that you recorded earlier; this row must still exist" },
    file: { value: "FILE", description: "check a file that ctl audit export wrote, without a database" },
  },
  summary: "Check that no row of the audit was changed, removed or added outside the service",
  notes: `Exit 0: the audit is intact. Exit 1: it is broken; the message names the first wrong row. The check
detects every row that was changed, removed or inserted, and rows missing at the end.

The owner of the database could rewrite the whole chain from some row on, including its head. Only a
copy kept elsewhere reveals that: record the head that this command prints (--head), or the rows
(ctl audit export).`,
  prepareWithoutStore(input) {
    const file = input.option("file");
    if (file === undefined) return null;
    if (input.option("head") !== undefined) {
      throw new UsageError("--head cannot be combined with --file");
    }
    return () => verifyFile(file);
  },
  prepare(input) {
    const head = parseHead(input.option("head"));
    return (pool) => verifyStore(pool, head);
  },
};

function parseHead(text: string | undefined): AuditLink | null {
  if (text === undefined) return null;
  const shape = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text);
  if (shape === null) throw new UsageError("--head must be ID:DIGEST, as printed by ctl audit verify");
  return { id: Number(shape[1]), digest: shape[2] as string };
}

/** The verified part of a chain; `at` is its last row. */
interface Verified {
  readonly at: AuditLink;
  readonly count: number;
}

function verifyRow({ at, count }: Verified, row: AuditRow): Verified {
  refuseBroken(chainFault(at, row));
  return { at: row, count: count + 1 };
}

async function verifyStore(pool: Pool, known: AuditLink | null): Promise<Reply> {
  const head = await readAuditHead(pool);
  let chain: Verified = { at: { id: 0, digest: "" }, count: 0 };
  let isHeadFound = known === null;
  for await (const row of readAuditRows(pool, { after: 0, upTo: head.id })) {
    chain = verifyRow(chain, row);
    isHeadFound ||= row.id === known?.id && row.digest === known.digest;
  }
  const { id, digest } = chain.at;
  if (id !== head.id) {
    refuseBroken(`row ${id + 1} is missing: the last row is ${id}, but the head is ${head.id}`);
  }
  if (digest !== head.digest) refuseBroken(`row ${id} was changed: its digest differs from the head's`);
  if (!isHeadFound) refuseBroken(`row ${known?.id} is missing, or differs from the recorded head`);
  return intactReply(chain, "The audit");
}

async function verifyFile(file: string): Promise<Reply> {
  let chain: Verified | null = null;
  let lineNumber = 0;
  try {
    for await (const line of readLines(file)) {
      lineNumber += 1;
      if (line.trim() === "") continue;
      const { before, ...row } = parseAuditRow(line, `Line ${lineNumber}`);
      // A file may start with any row.
      chain ??= { at: { id: row.id - 1, digest: before }, count: 0 };
      if (before !== chain.at.digest || (row.id === 1 && before !== "")) {
        refuseBroken(`row ${row.id} does not follow row ${chain.at.id}`);
      }
      chain = verifyRow(chain, row);
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (error instanceof Refused || typeof code !== "string") throw error;
    throw new Refused(`The file cannot be read: ${code}`);
  }
  return intactReply(chain ?? { at: { id: 0, digest: "" }, count: 0 }, "The file");
}

function refuseBroken(fault: string | null): void {
  if (fault !== null) throw new Refused(`The audit is broken: ${fault}`);
}

function intactReply({ at, count }: Verified, subject: string): Reply {
  const head = count === 0 ? null : `${at.id}:${at.digest}`;
  return {
    json: { ok: true, rows: count, head },
    text: `${subject} is intact: ${counted(count, "row")}.${head === null ? "" : `\nHead: ${head}`}`,
  };
}

export const auditCommands: readonly Command[] = [list, exportCommand, verify];
