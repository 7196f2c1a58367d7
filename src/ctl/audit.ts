/** `ctl audit …` */

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
import { type Command, Refused, type Reply, WrongUsage } from "./command.ts";
import { listCommand } from "./list.ts";
import { counted, JsonText, shortTime } from "./terminal.ts";

/** A row as it was shipped, with the digest of the row before. */
export type ShippedRow = AuditRow & { readonly before: string };

/** Whether a JSON value has the shape of a row that was shipped. */
export function isAuditRow(value: unknown): value is ShippedRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  const isText = (name: string) => typeof row[name] === "string";
  return Number.isSafeInteger(row.id) &&
    ["at", "actor", "action", "subject", "before", "digest"].every(isText) &&
    ["claimed", "detail"].every((name) => row[name] === null || isText(name));
}

/**
 * A line of a file of shipped rows. `name` is what a message calls it.
 *
 * @throws {Refused} for any other
 */
function parseAuditRow(line: string, name: string): ShippedRow {
  try {
    const row: unknown = JSON.parse(line);
    if (isAuditRow(row)) return row;
  } catch {
    // As any other line that is none.
  }
  throw new Refused(`${name} is no row of the audit`);
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

// Longer than any row.
const tailBytes = 65_536;

/**
 * The last row of an open file, and the place before the first one where there is none; a line that a crash has cut short
 * is taken away.
 *
 * @throws {Refused} when it ends with something else
 */
function lastAuditRow(handle: number, size: number): AuditLink {
  const from = Math.max(0, size - tailBytes);
  const bytes = new Uint8Array(size - from);
  readSync(handle, bytes, 0, bytes.length, from);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) ftruncateSync(handle, from + whole);
  const line = new TextDecoder().decode(bytes.subarray(0, whole)).trimEnd().split("\n").at(-1) ?? "";
  return line === "" ? { id: 0, digest: "" } : parseAuditRow(line, "The last line of the file");
}

const subjectLengthMax = 200;

const list = listCommand({
  words: "audit list",
  options: { subject: { value: "ID", description: "only what was done to this event, key, term …" } },
  limit: 50,
  summary: "List what operators did, the newest first",
  notes: `WHO is the tool (ctl or console) and the database login. SAYS is unverified: the account on the
machine, or the address of the console's client.`,
  prepare: (input) => (pool, { limit }) =>
    listAudit(pool, { subject: input.option("subject")?.slice(0, subjectLengthMax) ?? null, limit }),
  empty: "No actions yet.",
  columns: {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "SAYS": ({ claimed }) => claimed ?? "-",
    "WHAT": ({ action }) => action,
    "TO": ({ subjects, count }) =>
      subjects.join(" ") + (count > subjects.length ? ` and ${count - subjects.length} more` : ""),
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
  options: {
    append: {
      value: "FILE",
      required: true,
      description: "what came after the last row of this file is added to it; it is made when it is missing",
    },
  },
  summary: "Add the new rows of the audit to a file, with their digests, a JSON object a line",
  notes:
    `Ship it where the owner of the database cannot write, once a minute. What is added is on the disk when
the command ends. Exit 1: the file's last row is gone, or is another one, so the audit was cut off, or
the database is an older copy (ctl restored). No row has personal data of a lead. The check needs no
database: ctl audit verify --file audit.jsonl.

A row's digest is the SHA-256, in hex, of the digest before it and the JSON array of id, at,
actor, claimed, action, subject and detail, as Python writes it:
  sha256((before + json.dumps([row[k] for k in keys], ensure_ascii=False)).encode())`,
  prepare: (input) => (pool) => appendTo(pool, input.required("append")),
};

async function appendTo(pool: Pool, file: string): Promise<Reply> {
  let handle: number;
  try {
    const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
    handle = openSync(file, isThere ? "r+" : "w+", 0o600);
  } catch (error) {
    throw new Refused(`The file cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    let last = lastAuditRow(handle, statSync(file).size);
    let place = statSync(file).size;
    const { id: upTo } = await readAuditHead(pool);
    if (last.id > upTo || await readAuditDigest(pool, last.id) !== last.digest) {
      refuseBroken(
        `row ${last.id} of the file is not in the database: its end was cut off, or it is an older copy; see ctl restored`,
      );
    }
    let added = 0;
    for await (const { digest, ...content } of readAuditRows(pool, { after: last.id, upTo })) {
      place += writeSync(handle, `${JSON.stringify({ ...content, before: last.digest, digest })}\n`, place);
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
    head: { value: "ID:DIGEST", description: "a head that was written down: this row must still be there" },
    file: { value: "FILE", description: "check what ctl audit export has written, without a database" },
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

/** Follows a chain from row to row; `at` is the last one. */
interface Followed {
  readonly at: AuditLink;
  readonly count: number;
}

function follow({ at, count }: Followed, row: AuditRow): Followed {
  refuseBroken(chainFault(at, row));
  return { at: row, count: count + 1 };
}

async function verifyStore(pool: Pool, known: AuditLink | null): Promise<Reply> {
  const head = await readAuditHead(pool);
  let chain: Followed = { at: { id: 0, digest: "" }, count: 0 };
  let isKnownThere = known === null;
  for await (const row of readAuditRows(pool, { after: 0, upTo: head.id })) {
    chain = follow(chain, row);
    isKnownThere ||= row.id === known?.id && row.digest === known.digest;
  }
  const { id, digest } = chain.at;
  if (id !== head.id) {
    refuseBroken(`row ${id + 1} is missing: the last one there is ${id}, and it was ${head.id}`);
  }
  if (digest !== head.digest) refuseBroken(`row ${id} was changed: its digest is not that of the head`);
  if (!isKnownThere) refuseBroken(`row ${known?.id} is not the one that was written down, or is gone`);
  return whole(chain, "The audit");
}

async function verifyFile(file: string): Promise<Reply> {
  let chain: Followed | null = null;
  let lineNumber = 0;
  try {
    for await (const line of readLines(file)) {
      lineNumber += 1;
      if (line.trim() === "") continue;
      const { before, ...row } = parseAuditRow(line, `Line ${lineNumber}`);
      // A file may begin anywhere, and rows before its first one are known by their digest alone.
      chain ??= { at: { id: row.id - 1, digest: before }, count: 0 };
      if (before !== chain.at.digest || (row.id === 1 && before !== "")) {
        refuseBroken(`row ${row.id} does not follow row ${chain.at.id}`);
      }
      chain = follow(chain, row);
    }
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (error instanceof Refused || typeof code !== "string") throw error;
    throw new Refused(`The file cannot be read: ${code}`);
  }
  return whole(chain ?? { at: { id: 0, digest: "" }, count: 0 }, "The file");
}

function refuseBroken(fault: string | null): void {
  if (fault !== null) throw new Refused(`The audit is broken: ${fault}`);
}

function whole({ at, count }: Followed, what: string): Reply {
  const head = count === 0 ? null : `${at.id}:${at.digest}`;
  return {
    json: { ok: true, rows: count, head },
    text: `${what} is whole: ${counted(count, "row")}.${head === null ? "" : `\nIts head: ${head}`}`,
  };
}

/** The commands, in the order of the help. */
export const auditCommands: readonly Command[] = [list, exported, verify];
