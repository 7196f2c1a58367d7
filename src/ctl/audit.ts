/**
 * `ctl audit …`
 *
 * @module
 */

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
import { type Command, Refused, type Reply, WrongUsage } from "./command.ts";
import { JsonText, shortTime } from "./terminal.ts";
import { parseTime } from "./values.ts";
import {
  AuditChain,
  type AuditLink,
  type AuditRow,
  findAuditTime,
  listAudit,
  listAuditOf,
  readAuditDigest,
  readAuditHead,
  readAuditRows,
} from "#src/store/operator/audit.ts";
import type { Pool } from "#src/store/pool.ts";
import { listCommand } from "./list.ts";

// Longer than any row.
const tailBytes = 65_536;

/** A row as it was shipped, with the digest of the row before. */
export type ShippedRow = AuditRow & { readonly before: string };

/**
 * A line that `ctl audit export` has printed. `name` is what a message calls it.
 *
 * @throws {Refused} for any other
 */
function parseAuditRow(line: string, name: string): ShippedRow {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Refused(`${name} is no JSON`);
  }
  if (!isAuditRow(row)) throw new Refused(`${name} is no row of the audit`);
  return row;
}

/**
 * The lines of a file, which a line feed ends, and nothing else: node:readline also ends them at U+2028 and U+2029, which
 * stand in JSON as they are.
 *
 * @throws what the file system throws
 */
export async function* readLines(file: string): AsyncGenerator<string> {
  let begun = "";
  for await (const chunk of createReadStream(file, { encoding: "utf8" })) {
    const lines = (begun + chunk).split("\n");
    begun = lines.pop() ?? "";
    yield* lines;
  }
  if (begun !== "") yield begun;
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
function lastAuditRow(file: string): AuditLink {
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
async function appendLines(file: string, lines: AsyncIterable<string>): Promise<number> {
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

const subjectLengthMax = 200;

const list = listCommand({
  words: "audit list",
  options: { subject: { value: "ID", description: "only what was done to this event, key, term …" } },
  limit: 50,
  summary: "List what operators did, the newest first",
  notes: `WHO is the way (ctl or console) and the role that had logged in to the database. SAYS is
what whoever did it told of himself, and nobody has checked: the account of the machine, the
address of the console's client.`,
  prepare: (input) => (pool, { limit }) => {
    const subject = input.option("subject");
    return subject === undefined
      ? listAudit(pool, { fromId: null, limit })
      : listAuditOf(pool, { subject: subject.slice(0, subjectLengthMax), limit });
  },
  empty: "Nothing was done yet.",
  columns: {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "SAYS": ({ claimed }) => claimed ?? "-",
    "WHAT": ({ action }) => action,
    "TO": ({ subjects, count }) =>
      count > subjects.length
        ? `${subjects.join(" ")} and ${count - subjects.length} more`
        : subjects.join(" "),
    "DETAIL": ({ detail }) => detail ?? "-",
  },
  json: ({ id, detail, ...rest }) => ({
    id: Number(id),
    ...rest,
    detail: detail === null ? null : new JsonText(detail),
  }),
});

const exported: Command = {
  words: "audit export",
  positionals: [],
  options: {
    since: {
      value: "ID|TIME",
      description: "the rows after this number, or from this time on; all when left out",
    },
    append: {
      value: "FILE",
      description: "add to this file what came after its last row, instead of printing",
    },
  },
  summary: "Print the rows of the audit with their digests, a JSON object a line",
  notes: `Ship it where the owner of the database cannot write, once a minute: --append FILE, or with the
number of the last row that is there, --since 1200 >> audit.jsonl. Exit 1: this row is gone, or is
another one, so the audit was cut off, or the database is an older copy (ctl restored). No row has
personal data of a lead. The check needs no database: ctl audit verify --file audit.jsonl.

A row's digest is the SHA-256, in hex, of the digest before it and the JSON array of id, at,
actor, claimed, action, subject and detail, as Python writes it:
  sha256((before + json.dumps([row[k] for k in keys], ensure_ascii=False)).encode())`,
  prepare(input) {
    const file = input.option("append");
    if (file !== undefined) {
      if (input.option("since") !== undefined) throw new WrongUsage("--append goes without --since");
      return (pool) => appendTo(pool, file);
    }
    const since = parseSince(input.option("since"));
    return async (pool) => {
      const after = typeof since === "number" ? since : await findAuditTime(pool, since);
      const { id: upTo } = await readAuditHead(pool);
      const before = await readAuditDigest(pool, after);
      // Whoever names a row has it from an earlier export: an end that was cut off must not look like nothing new.
      if (before === null && after > upTo) {
        refuseBroken(`it ends at row ${upTo}; row ${after} is gone, or never was`);
      }
      if (before === null) refuseBroken(`row ${after} is missing; see ctl audit verify`);
      return { json: null, text: "", lines: exportLines(pool, { id: after, digest: before ?? "" }, upTo) };
    };
  },
};

/** Adds what is new to a file of ours and has it on disk before it says so. */
async function appendTo(pool: Pool, file: string): Promise<Reply> {
  const last = lastAuditRow(file);
  const { id: upTo } = await readAuditHead(pool);
  if (last.id > upTo || await readAuditDigest(pool, last.id) !== last.digest) {
    refuseBroken(
      `row ${last.id} of the file is not in the database: its end was cut off, or it is an older copy; see ctl restored`,
    );
  }
  const added = await appendLines(file, exportLines(pool, last, upTo));
  return { json: { added, last: upTo }, text: `Added ${added === 1 ? "1 row" : `${added} rows`}.` };
}

function parseSince(text: string | undefined): number | string {
  if (text === undefined) return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return parseTime(text, { name: "--since", direction: "past", nowMs: Date.now() });
}

async function* exportLines(pool: Pool, from: AuditLink, upTo: number): AsyncGenerator<string> {
  let before = from.digest;
  for await (const row of readAuditRows(pool, { after: from.id, upTo })) {
    const { digest, ...content } = row;
    yield JSON.stringify({ ...content, before, digest });
    before = digest;
  }
}

const verify: Command = {
  words: "audit verify",
  positionals: [],
  options: {
    head: { value: "ID:DIGEST", description: "a head that was written down: this row must still be there" },
    file: { value: "FILE", description: "check what ctl audit export has printed, without a database" },
  },
  summary: "Check that no row of the audit was changed, removed or added behind the service's back",
  notes: `Exit 0: it is whole; 1: the first row that is wrong is named. It finds every row that was
changed, removed or put in, wherever it stands, and an end that was cut off.

Whoever owns the database could write the whole chain anew from some row on, its head too: only
what is kept elsewhere tells that. Write the head down that this prints (--head), or ship the
rows (ctl audit export).`,
  prepareAlone(input) {
    const file = input.option("file");
    if (file === undefined) return null;
    if (input.option("head") !== undefined) {
      throw new WrongUsage("--head is for the database, not for --file");
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
  if (shape === null) throw new WrongUsage("--head must be ID:DIGEST, as ctl audit verify prints it");
  return { id: Number(shape[1]), digest: shape[2] as string };
}

async function verifyStore(pool: Pool, known: AuditLink | null): Promise<Reply> {
  const head = await readAuditHead(pool);
  const chain = new AuditChain({ id: 0, digest: "" });
  let isKnownThere = known === null;
  for await (const row of readAuditRows(pool, { after: 0, upTo: head.id })) {
    refuseBroken(chain.add(row));
    isKnownThere ||= row.id === known?.id && row.digest === known.digest;
  }
  if (chain.last.id !== head.id) {
    refuseBroken(
      `row ${chain.last.id + 1} is missing: the last one there is ${chain.last.id}, and it was ${head.id}`,
    );
  }
  if (chain.last.digest !== head.digest) {
    refuseBroken(`row ${head.id} was changed: its digest is not that of the head`);
  }
  if (!isKnownThere) refuseBroken(`row ${known?.id} is not the one that was written down, or is gone`);
  return whole(chain, "The audit");
}

async function verifyFile(file: string): Promise<Reply> {
  let chain: AuditChain | null = null;
  let lineNumber = 0;
  try {
    for await (const line of readLines(file)) {
      lineNumber += 1;
      if (line.trim() === "") continue;
      const { before, ...row } = parseAuditRow(line, `Line ${lineNumber}`);
      // A file may begin anywhere, and rows before its first one are known by their digest alone.
      chain ??= new AuditChain({ id: row.id - 1, digest: before });
      if (before !== chain.last.digest || (row.id === 1 && before !== "")) {
        refuseBroken(`row ${row.id} does not follow row ${chain.last.id}`);
      }
      refuseBroken(chain.add(row));
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (error instanceof Refused || typeof code !== "string") throw error;
    throw new Refused(`The file cannot be read: ${code}`);
  }
  return whole(chain ?? new AuditChain({ id: 0, digest: "" }), "The file");
}

function refuseBroken(fault: string | null): void {
  if (fault !== null) throw new Refused(`The audit is broken: ${fault}`);
}

function whole(chain: AuditChain, what: string): Reply {
  const { id, digest } = chain.last;
  const head = chain.count === 0 ? null : `${id}:${digest}`;
  const rows = `${chain.count} ${chain.count === 1 ? "row" : "rows"}`;
  return {
    json: { ok: true, rows: chain.count, head },
    text: `${what} is whole: ${rows}.${head === null ? "" : `\nIts head: ${head}`}`,
  };
}

/** The commands, in the order of the help. */
export const auditCommands: readonly Command[] = [list, exported, verify];
