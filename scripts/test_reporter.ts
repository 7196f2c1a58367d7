/**
 * A reporter for `node --test` that counts: how many tests each file ran, and the totals. `scripts/test.ts` reads it.
 *
 * @module
 */

/** What one run of `node --test` did. */
export interface TestCounts {
  /** Tests by absolute path of the file; a file that ran none is missing. */
  readonly files: Readonly<Record<string, number>>;
  readonly totals: Readonly<Record<string, number>>;
}

/** The one kind of event that is of interest here. */
interface TestEvent {
  readonly type: string;
  readonly data: { readonly file?: string; readonly counts?: Readonly<Record<string, number>> };
}

/** Yields one line: {@linkcode TestCounts} as JSON. */
export default async function* count(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: Record<string, number> = {};
  let totals: Readonly<Record<string, number>> = {};
  for await (const { type, data } of events) {
    if (type !== "test:summary" || data.counts === undefined) continue;
    // Each file's summary comes first, then that of the whole run, which names no file.
    if (data.file === undefined) totals = data.counts;
    else if ((data.counts.tests ?? 0) > 0) files[data.file] = data.counts.tests ?? 0;
  }
  yield `${JSON.stringify({ files, totals } satisfies TestCounts)}\n`;
}
