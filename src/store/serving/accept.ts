/**
 * The commit of a batch of events: one call of the SQL function `accept`, which is one transaction.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type postgres from "postgres";
import { eventIdLength } from "../../contract/event_id.ts";
import { limits } from "../../contract/limits.ts";
import { contactsOf } from "../../lead/person.ts";
import { type Pool, Unavailable } from "../pool.ts";

/** What was found of a form submission. A verdict other than `clean` holds it: it is stored and not delivered. */
export interface SubmissionPart {
  readonly formId: number;
  readonly verdict: SubmissionVerdict;
  readonly score: number;
  /** Names only. */
  readonly reasons: readonly string[];
  /** For the operator's search; `null` where there is none. */
  readonly contact: {
    readonly phone: string | null;
    readonly email: string | null;
    readonly lastName: string | null;
  };
}

/** Why a submission is held, or `clean`. */
export type SubmissionVerdict = "clean" | "honeypot" | "spam";

/** One event to be committed. Digests are the first 128 bits of a SHA-256, as 32 hex digits. */
export interface Entry {
  readonly kind: "lead" | "form";
  readonly keyId: number;
  readonly tenantId: number;
  /**
   * What makes a later post a duplicate: `k` its Idempotency-Key, `c` its content. Each is a space of
   * its own, and so are the forms' `K` and `C`.
   */
  readonly space: "k" | "c" | "K" | "C";
  readonly digest: string;
  /** Of the normalized content, to tell a retry from another lead under the same Idempotency-Key. */
  readonly contentDigest: string;
  readonly idempotencyKey: string | null;
  readonly flags: readonly string[];
  /** JSON text. */
  readonly lead: string;
  /** JSON text of an object, lossless. */
  readonly extra: string | null;
  /** The body as posted. */
  readonly raw: string;
  readonly costCents: number | null;
  readonly unknownArea: string | null;
  /** When the request arrived, on the monotonic clock of the process. */
  readonly arrivedAtMs: number;
  /** `null` for a lead. */
  readonly submission: SubmissionPart | null;
}

/** What became of an {@linkcode Entry}. `receivedAt` is ISO 8601 in UTC with milliseconds. */
export type Outcome =
  | { readonly kind: "accepted"; readonly eventId: string; readonly receivedAt: string }
  | {
    readonly kind: "duplicate";
    readonly eventId: string;
    readonly receivedAt: string;
    readonly flags: readonly string[];
  }
  | { readonly kind: "revoked" };

/** The same, or `busy`: the entry's key is being revoked, nothing was decided, and it may be tried again. */
export type Decision = Outcome | { readonly kind: "busy" };

/** Whether an event has been handed over to the delivery with its commit. */
export function isQueued({ submission }: Entry): boolean {
  return submission === null || submission.verdict === "clean";
}

/**
 * A row of the SQL function's result. `event_id` is null when nothing was decided of the entry: a rival let go of the
 * digest meanwhile, the key of another entry is being revoked, or somebody is being erased (`watched`).
 */
interface AcceptRow {
  readonly ord: number;
  readonly outcome: "accepted" | "duplicate" | "revoked" | "busy" | "undecided" | "watched";
  readonly event_id: string | null;
  readonly received_at: string;
  readonly flags: string | null;
}

// Serialization failures: the transaction was rolled back whole and may simply be run again.
const rolledBackStates = new Set(["40001", "40P01"]);
const attemptsMax = 5;

/** Commits batches over one connection: two or three were no faster than one (measured). */
export class AcceptStore {
  readonly #pool: Pool;
  readonly #node: string;
  readonly #nowMs: () => number;

  /** `node` names this process in the notifications of its commits, `nowMs` is the clock of {@linkcode Entry}. */
  constructor(pool: Pool, options: { node: string; nowMs: () => number }) {
    this.#pool = pool;
    this.#node = options.node;
    this.#nowMs = options.nowMs;
  }

  /**
   * Commits a batch, all or nothing, and returns the outcomes in its order.
   *
   * @throws {Unavailable} when it is unknown whether the batch was committed: no answer in time, the
   * connection lost, or a warning with the commit (a cancelled wait for a synchronous standby)
   * @throws {postgres.PostgresError} when the server refused the batch: nothing was committed
   */
  async accept(entries: readonly Entry[], deadlineMs: number): Promise<Decision[]> {
    const outcomes = await this.#acceptAgain(entries, deadlineMs);
    // A rival let go of a digest (its content window has passed, or it was erased) between the insert that lost
    // against it and the look at what won, or another entry's key was busy: nothing was decided of these entries, and
    // they are committed by themselves.
    for (let round = 1;; round += 1) {
      const open = outcomes.flatMap((outcome, index) => outcome === null ? [index] : []);
      if (open.length === 0) return outcomes as Decision[];
      if (round === attemptsMax) throw new Unavailable("nothing was decided, again and again");
      const again = await this.#acceptAgain(open.map((index) => entries[index] as Entry), deadlineMs)
        // The rest of the batch is committed, so it was not refused whole.
        .catch((cause) => {
          throw cause instanceof Unavailable ? cause : new Unavailable("the rest was refused", { cause });
        });
      again.forEach((outcome, nth) => outcomes[open[nth] as number] = outcome);
    }
  }

  // `null`: nothing was decided.
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

/** What accept is told of the entries while somebody is being erased. */
interface Watched {
  /** How long ago each arrived. */
  readonly agesMs: readonly number[];
  /** What each has that may be a person's, one a line. */
  readonly contacts: readonly string[];
}

const noWatch: Watched = { agesMs: [], contacts: [] };

function contactLines({ lead, extra, raw, submission }: Entry): string {
  const contact = submission === null ? null : JSON.stringify(submission.contact);
  return [...contactsOf({ lead, extra, raw, contact, idempotencyKey: null })].join("\n");
}

/** Between the values of a column. Nobody outside can know it, so that no value has it; read backwards it is another one. */
const separator = randomBytes(6).toString("base64url") + "\x1f";
const nullValue = [...separator].reverse().join("");

/**
 * The columns of a batch by the names of the parameters, so that two of them cannot change places. A column that is
 * null for every entry, such as those of submissions where all are leads, is sent empty.
 *
 * Rejected: arrays, as which postgres.js escapes and PostgreSQL reads each value character by character.
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
