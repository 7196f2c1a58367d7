/** Commits a batch of events with one call of the SQL function `accept`, which is one transaction. */

import { randomBytes } from "node:crypto";
import type postgres from "postgres";
import { eventIdLength } from "../../contract/event_id.ts";
import { limits } from "../../contract/limits.ts";
import { contactsOf } from "../../lead/person.ts";
import { type Pool, Unavailable } from "../pool.ts";

/** The spam verdict on a form submission. Any verdict other than `clean` holds it: stored, not delivered. */
export interface SubmissionPart {
  readonly formId: number;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  readonly reasons: readonly string[];
  /** For the operator's search. */
  readonly contact: {
    readonly phone: string | null;
    readonly email: string | null;
    readonly lastName: string | null;
  };
}

export type SubmissionVerdict = "clean" | "honeypot" | "spam";

/** One event to commit. Digests are the first 128 bits of a SHA-256, as 32 hex digits. */
export interface Entry {
  readonly kind: "lead" | "form";
  readonly keyId: number;
  readonly tenantId: number;
  /** The namespace of the dedupe digest: `k` Idempotency-Key, `c` content; `K` and `C` for forms. */
  readonly space: "k" | "c" | "K" | "C";
  readonly digest: string;
  /** Of the normalized content: tells a retry from another lead under the same Idempotency-Key. */
  readonly contentDigest: string;
  readonly idempotencyKey: string | null;
  readonly flags: readonly string[];
  readonly lead: string;
  /** JSON text of an object, lossless. */
  readonly extra: string | null;
  /** The body as posted. */
  readonly raw: string;
  readonly costCents: number | null;
  readonly unknownArea: string | null;
  /** Arrival of the request on the process's monotonic clock. */
  readonly arrivedAtMs: number;
  readonly submission: SubmissionPart | null;
}

/** The outcome of an {@linkcode Entry}. `receivedAt` is ISO 8601 in UTC with milliseconds. */
export type Outcome =
  | { readonly kind: "accepted"; readonly eventId: string; readonly receivedAt: string }
  | {
    readonly kind: "duplicate";
    readonly eventId: string;
    readonly receivedAt: string;
    readonly flags: readonly string[];
  }
  | { readonly kind: "revoked" };

/** `busy`: the entry's key is being revoked; nothing was decided, and the entry may be retried. */
export type Decision = Outcome | { readonly kind: "busy" };

/** Whether committing the entry also queues it for delivery. */
export function isQueued({ submission }: Entry): boolean {
  return submission === null || submission.verdict === "clean";
}

/**
 * A row of `accept`. `event_id` is null when nothing was decided: a rival released the digest, another entry's key is
 * being revoked, or an erasure is under way (`watched`).
 */
interface AcceptRow {
  readonly ord: number;
  readonly outcome: "accepted" | "duplicate" | "revoked" | "busy" | "undecided" | "watched";
  readonly event_id: string | null;
  readonly received_at: string;
  readonly flags: string | null;
}

// Serialization failure and deadlock: the transaction was rolled back as a whole.
const rolledBackStates = new Set(["40001", "40P01"]);
const attemptsMax = 5;

/** Commits batches over one connection; two or three were no faster (measured). */
export class AcceptStore {
  readonly #pool: Pool;
  readonly #node: string;
  readonly #nowMs: () => number;

  /** `node` names this process in notifications; `nowMs` is the clock of {@linkcode Entry}. */
  constructor(pool: Pool, options: { node: string; nowMs: () => number }) {
    this.#pool = pool;
    this.#node = options.node;
    this.#nowMs = options.nowMs;
  }

  /**
   * Commits a batch, all or nothing, and returns the decisions in its order.
   *
   * @throws {Unavailable} when it is unknown whether the batch was committed
   * @throws {postgres.PostgresError} when the server refused the batch: nothing was committed
   */
  async accept(entries: readonly Entry[], deadlineMs: number): Promise<Decision[]> {
    const outcomes = await this.#acceptAgain(entries, deadlineMs);
    // Undecided entries are committed again by themselves: a rival released the digest between the losing insert and
    // the look at the winner, or another entry's key was busy.
    for (let round = 1;; round += 1) {
      const open = outcomes.flatMap((outcome, index) => outcome === null ? [index] : []);
      if (open.length === 0) return outcomes as Decision[];
      if (round === attemptsMax) throw new Unavailable("still undecided after several attempts");
      const again = await this.#acceptAgain(open.map((index) => entries[index] as Entry), deadlineMs)
        // The rest of the batch is committed, so it was not refused as a whole.
        .catch((cause) => {
          throw cause instanceof Unavailable ? cause : new Unavailable("the rest was refused", { cause });
        });
      again.forEach((outcome, nth) => outcomes[open[nth] as number] = outcome);
    }
  }

  // `null`: undecided.
  async #acceptAgain(entries: readonly Entry[], deadlineMs: number): Promise<(Decision | null)[]> {
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
    let rows = await this.#pool.run(deadlineMs, (sql) => call(sql, entries, { node, watched: noWatch }));
    if (rows[0]?.outcome === "watched") {
      const contacts = entries.map(contactLines);
      rows = await this.#pool.run(deadlineMs, (sql) => {
        const sentAtMs = this.#nowMs();
        const agesMs = entries.map(({ arrivedAtMs }) => Math.floor(sentAtMs - arrivedAtMs));
        return call(sql, entries, { node, watched: { agesMs, contacts } });
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
      outcomes[row.ord - 1] = row.outcome === "accepted"
        ? { kind: "accepted", eventId, receivedAt }
        : { kind: "duplicate", eventId, receivedAt, flags: row.flags ? row.flags.split(",") : [] };
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

/** What `accept` needs of the entries while someone is being erased. */
interface Watched {
  /** Time since each arrived. */
  readonly agesMs: readonly number[];
  /** Each entry's contacts, one per line. */
  readonly contacts: readonly string[];
}

const noWatch: Watched = { agesMs: [], contacts: [] };

function contactLines({ lead, extra, raw, submission }: Entry): string {
  const contact = submission === null ? null : JSON.stringify(submission.contact);
  return [...contactsOf({ lead, extra, raw, contact, idempotencyKey: null })].join("\n");
}

/** Separates the values of a column; random, so that no value contains it. Reversed, it stands for null. */
const separator = randomBytes(6).toString("base64url") + "\x1f";
const nullValue = [...separator].reverse().join("");

/**
 * Calls `accept` with one text per column; a column that is null throughout is sent empty.
 *
 * Rejected: arrays, which postgres.js escapes and PostgreSQL parses character by character.
 */
function call(
  sql: postgres.Sql,
  entries: readonly Entry[],
  { node, watched }: { readonly node: string; readonly watched: Watched },
): PromiseLike<AcceptRow[]> {
  const of = (pick: (entry: Entry) => string | number | null): string => column(entries.map(pick));
  const found = (pick: (submission: SubmissionPart) => string | number | null) =>
    of(({ submission }) => submission === null ? null : pick(submission));
  return sql<AcceptRow[]>`
    select * from accept(
      p_separator => ${separator},
      p_key_id => ${of((entry) => entry.keyId)},
      p_space => ${of((entry) => entry.space)},
      p_digest => ${of((entry) => entry.digest)},
      p_content => ${of((entry) => entry.contentDigest)},
      p_idempotency_key => ${of((entry) => entry.idempotencyKey)},
      p_flags => ${of((entry) => entry.flags.join(","))},
      p_lead => ${of((entry) => entry.lead)},
      p_extra => ${of((entry) => entry.extra)},
      p_raw => ${of((entry) => entry.raw)},
      p_cost_cents => ${of((entry) => entry.costCents)},
      p_unknown_area => ${of((entry) => entry.unknownArea)},
      p_form_id => ${found(({ formId }) => formId)},
      p_verdict => ${found(({ verdict }) => verdict)},
      p_score => ${found(({ score }) => score)},
      p_reasons => ${found(({ reasons }) => reasons.join(","))},
      p_phone => ${found(({ contact }) => contact.phone)},
      p_email => ${found(({ contact }) => contact.email)},
      p_last_name => ${found(({ contact }) => contact.lastName)},
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
