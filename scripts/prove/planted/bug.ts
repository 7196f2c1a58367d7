/**
 * What a planted bug is: a small patch to the tree that is proved, and the schedule that has to show it.
 *
 * @module
 */

import type { Kind } from "../plan.ts";

/** A piece of a file's text in place of another, which stands in it exactly once. */
export interface Edit {
  readonly file: string;
  readonly old: string;
  readonly by: string;
}

/** A bug. */
export interface Bug {
  readonly name: string;
  /** What goes wrong, in a sentence. */
  readonly what: string;
  readonly edits: readonly Edit[];
  /** The steps that show it; none: it shows without any. */
  readonly steps: readonly Kind[];
  /** With the actions process and CRMs. */
  readonly hasActions?: boolean;
}

/** An edit in a line. */
export function edit(file: string, old: string, by: string): Edit {
  return { file, old, by };
}

/** The text with the edits; throws where one does not fit. */
export function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { file, old, by }) => {
    const pieces = before.split(old);
    if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${old}`);
    return pieces.join(by);
  }, text);
}
