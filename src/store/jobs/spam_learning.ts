/**
 * Learns corrections of the spam score from operators' labels. When labels change, the corrections are learned again
 * from the latest labeled submissions that are still stored, so that nothing remains of erased content.
 */

import { setImmediate } from "node:timers/promises";
import type { Pool } from "../pool.ts";
import { query, queryOne } from "../query.ts";

export interface Labelled {
  readonly lead: string;
  readonly isSpam: boolean;
  /** The email address; without one, the phone number; without either, the submission's id. */
  readonly sender: string;
}

/** The spam score's errors on the labeled submissions that contain one word, whose hash is `hash`. */
export interface Lesson {
  readonly hash: number;
  readonly ham: number;
  readonly spam: number;
}

/** Learns from labeled submissions. Implemented in `src/forms/learning.ts`. */
export interface Learner<Lessons> {
  count(): { add(one: Labelled): void; readonly lessons: readonly Lesson[] };
  toWeights(lessons: readonly Lesson[]): Lessons;
}

// Chosen: 1,000, because that covers months of labels and takes a few hundred milliseconds to learn.
const labelledMax = 1_000;
// The number of submissions learned between yields to the event loop, which takes about 5 ms.
const batchSize = 50;
const intervalMs = 5_000;

/** Keeps the corrections current. All processes use the same ones, from the database. */
export class SpamLearning<Lessons> {
  readonly #pool: Pool;
  readonly #learner: Learner<Lessons>;
  #learnedFrom = "";
  current: Lessons;

  constructor(pool: Pool, learner: Learner<Lessons>) {
    this.#pool = pool;
    this.#learner = learner;
    this.current = learner.toWeights([]);
  }

  pauseMs(): number {
    return intervalMs;
  }

  /** Relearns if the labels have changed. */
  async runOnce(): Promise<void> {
    const { wanted, learnedFrom } = await this.#digests();
    if (wanted !== learnedFrom) await this.#learn(wanted);
    if (wanted !== this.#learnedFrom) {
      this.current = this.#learner.toWeights(await readLessons(this.#pool));
      this.#learnedFrom = wanted;
    }
  }

  async #digests(): Promise<{ readonly wanted: string; readonly learnedFrom: string }> {
    const row = await queryOne(this.#pool, (sql) =>
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
    const rows = await query(this.#pool, (sql) =>
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
    await query(this.#pool, (sql) =>
      sql`select learn_spam(
        ${wanted}, ${lessons.map(({ hash }) => hash)}::int[], ${lessons.map(({ ham }) => ham)}::int[],
        ${lessons.map(({ spam }) => spam)}::int[])`);
  }
}

export async function readLessons(pool: Pool): Promise<Lesson[]> {
  return await query(pool, (sql) =>
    sql<Lesson[]>`
      select l.hash, l.ham, l.spam
      from spam_lessons as s, unnest(s.hashes, s.ham, s.spam) as l (hash, ham, spam)`);
}
