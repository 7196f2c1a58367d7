/**
 * `ctl audit …`
 *
 * @module
 */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type AuditEntry, listAudit, listAuditOf } from "#src/store/operator/audit.ts";
import {
  AuditChain,
  type AuditLink,
  findAuditTime,
  readAuditDigest,
  readAuditHead,
  readAuditRows,
} from "#src/store/operator/audit_chain.ts";
import type { Pool } from "#src/store/pool.ts";
import { appendLines, lastAuditRow, parseAuditRow } from "./audit_file.ts";
import { type Command, Refused, type Reply, WrongUsage } from "./command.ts";
import { JsonText, shortTime, table } from "./terminal.ts";
import { limitOption, parseTime, readLimit } from "./values.ts";

const subjectLengthMax = 200;

const list: Command = {
  words: "audit list",
  positionals: [],
  options: {
    subject: { value: "ID", description: "only what was done to this event, key, term …" },
    ...limitOption(),
  },
  summary: "List what operators did, the newest first",
  notes: `WHO is the way (ctl or console) and the role that had logged in to the database. SAYS is
what whoever did it told of himself, and nobody has checked: the account of the machine, the
address of the console's client.`,
  prepare(input) {
    const limit = readLimit(input);
    const subject = input.option("subject");
    return async (pool) => {
      const entries = subject === undefined
        ? await listAudit(pool, { fromId: null, limit })
        : await listAuditOf(pool, { subject: subject.slice(0, subjectLengthMax), limit });
      return { json: entries.map(entryJson), text: entriesText(entries) };
    };
  },
};

function entryJson({ id, at, actor, claimed, action, subjects, count, detail }: AuditEntry) {
  return {
    id: Number(id),
    at,
    actor,
    claimed,
    action,
    subjects,
    count,
    detail: detail === null ? null : new JsonText(detail),
  };
}

function entriesText(entries: readonly AuditEntry[]): string {
  return table(entries, "Nothing was done yet.", {
    "WHEN (UTC)": ({ at }) => shortTime(at),
    "WHO": ({ actor }) => actor,
    "SAYS": ({ claimed }) => claimed ?? "-",
    "WHAT": ({ action }) => action,
    "TO": ({ subjects, count }) =>
      count > subjects.length
        ? `${subjects.join(" ")} and ${count - subjects.length} more`
        : subjects.join(" "),
    "DETAIL": ({ detail }) => detail ?? "-",
  });
}

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
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      lineNumber += 1;
      if (line === "") continue;
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
