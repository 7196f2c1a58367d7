/**
 * What the spam score learns from the operators' judgements: learned anew from the labelled submissions that are still
 * stored, whenever they change, so that what is erased is also forgotten.
 *
 * @module
 */

import { setImmediate } from "node:timers/promises";
import type { Pool } from "../pool.ts";

/** A labelled submission. */
export interface Labelled {
  /** The text of the JSON object that was posted. */
  readonly lead: string;
  readonly isSpam: boolean;
  /** Their mail address, number or, without either, the submission's id. */
  readonly sender: string;
}

/** How wrong the score was about submissions with each label in which a word occurs, by its hash. */
export interface Lesson {
  readonly hash: number;
  readonly ham: number;
  readonly spam: number;
}

/** Counts features; `src/forms/spam/lessons.ts` has the rules. */
export interface Learner<Lessons> {
  /** Begins a count. */
  count(): { add(one: Labelled): void; readonly lessons: readonly Lesson[] };
  weigh(lessons: readonly Lesson[]): Lessons;
}

// Chosen: some hundred milliseconds of processor time when a label changes, and more than an operator judges in months.
const labelledMax = 1_000;
// The event loop is free after so many, which take about 5 ms.
const batchSize = 50;
// The default of a refresh of forms.
const intervalMs = 5_000;
const deadlineMs = 30_000;

/** Every process learns the same; `current` is what this one knows. */
export class SpamLearning<Lessons> {
  readonly #pool: Pool;
  readonly #learner: Learner<Lessons>;
  #learnedFrom = "";
  current: Lessons;

  constructor(pool: Pool, learner: Learner<Lessons>) {
    this.#pool = pool;
    this.#learner = learner;
    this.current = learner.weigh([]);
  }

  /** Until the next run. */
  pauseMs(): number {
    return intervalMs;
  }

  /** Learns from the labels, if they have changed. Throws what {@linkcode Pool.run} throws. */
  async runOnce(): Promise<void> {
    const { wanted, learnedFrom } = await this.#digests();
    if (wanted !== learnedFrom) await this.#learn(wanted);
    if (wanted !== this.#learnedFrom) {
      this.current = this.#learner.weigh(await readLessons(this.#pool));
      this.#learnedFrom = wanted;
    }
  }

  async #digests(): Promise<{ readonly wanted: string; readonly learnedFrom: string }> {
    const [row] = await this.#pool.run(deadlineMs, (sql) =>
      sql<{ wanted: string; learnedFrom: string }[]>`
        select l.learned_from as "learnedFrom", coalesce((
          select encode(sha256(string_agg(s.event_id || s.label, ' ' order by s.event_id)::bytea), 'hex')
          from (
            select s.event_id, s.label from submission as s where s.label is not null
            order by s.labelled_at desc, s.event_id limit ${labelledMax}
          ) as s
        ), '') as wanted
        from spam_lessons as l`);
    return row as { wanted: string; learnedFrom: string };
  }

  async #learn(wanted: string): Promise<void> {
    const rows = await this.#pool.run(deadlineMs, (sql) =>
      sql<Labelled[]>`
        select e.lead::text as lead, s.label = 'spam' as "isSpam", coalesce(s.email, s.phone, s.event_id) as sender
        from submission as s join event as e on e.event_id = s.event_id
        where s.label is not null and e.lead is not null
        order by s.labelled_at desc, s.event_id limit ${labelledMax}`);
    const count = this.#learner.count();
    for (const [index, row] of rows.entries()) {
      if (index % batchSize === batchSize - 1) await setImmediate();
      count.add(row);
    }
    const { lessons } = count;
    await this.#pool.run(deadlineMs, (sql) =>
      sql`select learn_spam(
        ${wanted}, ${lessons.map(({ hash }) => hash)}::int[], ${lessons.map(({ ham }) => ham)}::int[],
        ${lessons.map(({ spam }) => spam)}::int[])`);
  }
}

/** What has been learned. Throws what {@linkcode Pool.run} throws. */
export async function readLessons(pool: Pool): Promise<Lesson[]> {
  return await pool.run(deadlineMs, (sql) =>
    sql<Lesson[]>`
      select l.hash, l.ham, l.spam
      from spam_lessons as s, unnest(s.hashes, s.ham, s.spam) as l (hash, ham, spam)`);
}
