/** Commits a batch of events in one transaction, a call to the SQL function `accept`. */

import { randomBytes } from "node:crypto";
import type postgres from "postgres";
import { eventIdLength } from "../../contract/event_id.ts";
import { limits } from "../../contract/limits.ts";
import { contactsOf } from "../../lead/person.ts";
import { type Pool, Unavailable } from "../pool.ts";

/** The spam verdict on a form submission. With a verdict other than `clean`, the submission is stored but not delivered. */
export interface SubmissionPart {
  readonly formId: number;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  readonly reasons: readonly string[];
  /** The sender's contact, for the operator's search. */
  readonly contact: {
    readonly phone: string | null;
    readonly email: string | null;
    readonly lastName: string | null;
    readonly fullName: string | null;
  };
}

export type SubmissionVerdict = "clean" | "honeypot" | "spam";

/** An event to commit. Digests are the first 128 bits of a SHA-256, as 32 hex digits. */
export interface Entry {
  readonly kind: "lead" | "form";
  readonly keyId: number;
  readonly tenantId: number;
  /** What `digest` is computed from: `k` the Idempotency-Key, `c` the content; `K` and `C` for forms. */
  readonly space: "k" | "c" | "K" | "C";
  readonly digest: string;
  /** The digest of the normalized content. It tells a repeat from a different lead with the same Idempotency-Key. */
  readonly contentDigest: string;
  readonly idempotencyKey: string | null;
  readonly requestId: string | null;
  readonly flags: readonly string[];
  readonly lead: string;
  /** The text of a JSON object. */
  readonly extra: string | null;
  /** The body as posted. */
  readonly raw: string;
  readonly costCents: number | null;
  /** When the request arrived, on the process's monotonic clock. */
  readonly arrivedAtMs: number;
  readonly submission: SubmissionPart | null;
}

/** The outcome of an {@linkcode Entry}. `receivedAt` is ISO 8601 in UTC with milliseconds. */
export type Outcome =
  | { readonly kind: "accepted"; readonly eventId: string; readonly receivedAt: string }
  | {
    readonly kind: "duplicate";
    /** Whether the content differs from the event's; it is stored as a collision. */
    readonly isCollision: boolean;
    readonly eventId: string;
    readonly receivedAt: string;
    readonly flags: readonly string[];
  }
  | { readonly kind: "revoked" };

/** `busy`: the entry's key is being revoked; nothing was decided, so retry the entry. */
export type Decision = Outcome | { readonly kind: "busy" };

/** Returns whether committing the entry also queues it for delivery. */
export function isQueued({ submission }: Entry): boolean {
  return submission === null || submission.verdict === "clean";
}

/**
 * A row of `accept`: one per entry or, if all are accepted, one with `ord` 0 and the concatenated ids. `event_id` is
 * `null` for a revoked key, and if nothing was decided: a concurrent batch released the digest, one of the batch's keys
 * is being revoked, or an erasure is in progress (`watched`).
 */
interface AcceptRow {
  readonly ord: number;
  readonly outcome: "accepted" | "duplicate" | "collision" | "revoked" | "busy" | "undecided" | "watched";
  readonly event_id: string | null;
  readonly received_at: string;
  readonly flags: string | null;
}

// Serialization failure and deadlock: nothing was committed.
const rolledBackStates = new Set(["40001", "40P01"]);
const attemptsMax = 5;

/** Commits batches. One connection suffices; two or three were no faster (measured). */
export class AcceptStore {
  readonly #pool: Pool;
  readonly #node: string;
  readonly #nowMs: () => number;

  /** `node` identifies this process in notifications; `nowMs` is the clock of {@linkcode Entry}. */
  constructor(pool: Pool, options: { node: string; nowMs: () => number }) {
    this.#pool = pool;
    this.#node = options.node;
    this.#nowMs = options.nowMs;
  }

  /**
   * Commits a batch and returns the decisions in the order of the entries. Undecided entries are tried again in a batch
   * of their own.
   *
   * @throws {Unavailable} when it is unknown whether the batch was committed
   * @throws {postgres.PostgresError} when the server refused the batch: nothing was committed
   */
  async accept(entries: readonly Entry[], deadlineMs: number): Promise<Decision[]> {
    const outcomes = await this.#acceptWithRetries(entries, deadlineMs);
    // An entry is undecided if a concurrent batch released its digest between the insert and the read of the event with
    // this digest, or if another entry's key was busy.
    for (let round = 1;; round += 1) {
      const undecided = outcomes.flatMap((outcome, index) => outcome === null ? [index] : []);
      if (undecided.length === 0) return outcomes as Decision[];
      if (round === attemptsMax) throw new Unavailable("still undecided after several attempts");
      const retried = await this.#acceptWithRetries(
        undecided.map((index) => entries[index] as Entry),
        deadlineMs,
      )
        // The other entries are committed, so the error must not look like a refusal of the whole batch.
        .catch((cause) => {
          throw cause instanceof Unavailable ? cause : new Unavailable("the rest was refused", { cause });
        });
      retried.forEach((outcome, nth) => outcomes[undecided[nth] as number] = outcome);
    }
  }

  // Returns `null` for undecided entries.
  async #acceptWithRetries(entries: readonly Entry[], deadlineMs: number): Promise<(Decision | null)[]> {
    for (let attempt = 1;; attempt += 1) {
      try {
        return await this.#acceptOnce(entries, deadlineMs);
      } catch (error) {
        const code = (error as { code?: unknown }).code;
        if (attempt === attemptsMax || typeof code !== "string" || !rolledBackStates.has(code)) throw error;
      }
    }
  }

  async #acceptOnce(entries: readonly Entry[], deadlineMs: number): Promise<(Decision | null)[]> {
    const node = this.#node;
    let rows = await this.#pool.run(
      deadlineMs,
      (sql) => callAccept(sql, entries, { node, watched: noWatch }),
    );
    if (rows[0]?.outcome === "watched") {
      const contacts = entries.map(contactLines);
      rows = await this.#pool.run(deadlineMs, (sql) => {
        const sentAtMs = this.#nowMs();
        const agesMs = entries.map(({ arrivedAtMs }) => Math.floor(sentAtMs - arrivedAtMs));
        return callAccept(sql, entries, { node, watched: { agesMs, contacts } });
      });
    }

    const [first] = rows;
    if (first?.ord === 0) return allAccepted(first);
    const outcomes = new Array<Decision | null>(entries.length).fill({ kind: "revoked" });
    for (const row of rows) {
      const { event_id: eventId, received_at: receivedAt } = row;
      if (row.outcome === "revoked") continue;
      if (eventId === null) {
        outcomes[row.ord - 1] = row.outcome === "busy" ? { kind: "busy" } : null;
        continue;
      }
      outcomes[row.ord - 1] = row.outcome === "accepted" ? { kind: "accepted", eventId, receivedAt } : {
        kind: "duplicate",
        isCollision: row.outcome === "collision",
        eventId,
        receivedAt,
        flags: row.flags ? row.flags.split(",") : [],
      };
    }
    return outcomes;
  }
}

function allAccepted({ event_id: ids, received_at: receivedAt }: AcceptRow): Decision[] {
  const decisions: Decision[] = [];
  for (let from = 0; ids !== null && from < ids.length; from += eventIdLength) {
    decisions.push({ kind: "accepted", eventId: ids.slice(from, from + eventIdLength), receivedAt });
  }
  return decisions;
}

/** What `accept` additionally needs during an erasure. */
interface WatchData {
  /** The time since each entry's arrival. */
  readonly agesMs: readonly number[];
  /** The contacts of each entry, one per line. */
  readonly contacts: readonly string[];
}

const noWatch: WatchData = { agesMs: [], contacts: [] };

function contactLines({ lead, extra, raw, submission }: Entry): string {
  const contact = submission === null ? null : JSON.stringify(submission.contact);
  return [...contactsOf({ lead, extra, raw, contact, identifiers: [] })].join("\n");
}

/** Separates the values of a column and, reversed, stands for null. It is random, so that no value contains it. */
const separator = randomBytes(6).toString("base64url") + "\x1f";
const nullValue = [...separator].reverse().join("");

/**
 * Calls `accept` with one text per column; a column with only nulls is sent as an empty text.
 *
 * Rejected: arrays, which postgres.js escapes and PostgreSQL parses character by character.
 */
function callAccept(
  sql: postgres.Sql,
  entries: readonly Entry[],
  { node, watched }: { readonly node: string; readonly watched: WatchData },
): PromiseLike<AcceptRow[]> {
  const entryColumn = (pick: (entry: Entry) => string | number | null): string => column(entries.map(pick));
  const submissionColumn = (pick: (submission: SubmissionPart) => string | number | null) =>
    entryColumn(({ submission }) => submission === null ? null : pick(submission));
  return sql<AcceptRow[]>`
    select * from accept(
      p_separator => ${separator},
      p_key_id => ${entryColumn((entry) => entry.keyId)},
      p_space => ${entryColumn((entry) => entry.space)},
      p_digest => ${entryColumn((entry) => entry.digest)},
      p_content => ${entryColumn((entry) => entry.contentDigest)},
      p_idempotency_key => ${entryColumn((entry) => entry.idempotencyKey)},
      p_request_id => ${entryColumn((entry) => entry.requestId)},
      p_flags => ${entryColumn((entry) => entry.flags.join(","))},
      p_lead => ${entryColumn((entry) => entry.lead)},
      p_extra => ${entryColumn((entry) => entry.extra)},
      p_raw => ${entryColumn((entry) => entry.raw)},
      p_cost_cents => ${entryColumn((entry) => entry.costCents)},
      p_form_id => ${submissionColumn(({ formId }) => formId)},
      p_verdict => ${submissionColumn(({ verdict }) => verdict)},
      p_score => ${submissionColumn(({ score }) => score)},
      p_reasons => ${submissionColumn(({ reasons }) => reasons.join(","))},
      p_phone => ${submissionColumn(({ contact }) => contact.phone)},
      p_email => ${submissionColumn(({ contact }) => contact.email)},
      p_name => ${submissionColumn(({ contact }) => `${contact.lastName ?? ""}\t${contact.fullName ?? ""}`)},
      p_window_hours => ${limits.contentWindowHours},
      p_form_window_minutes => ${limits.formContentWindowMinutes},
      p_node => ${node},
      p_age_ms => ${column(watched.agesMs)},
      p_contacts => ${column(watched.contacts)})`;
}

function column(values: readonly (string | number | null)[]): string {
  return values.every((value) => value === null)
    ? ""
    : values.map((value) => value ?? nullValue).join(separator);
}
