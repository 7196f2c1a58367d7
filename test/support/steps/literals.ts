/**
 * The regular expressions that the source has as literals.
 *
 * @module
 */

import { readSources } from "../source.ts";

/** A regular expression and where it stands. */
export interface Literal {
  readonly path: string;
  readonly pattern: RegExp;
}

// Behind what an expression can follow; a character class may have a slash in it.
const literal =
  /(?<=[=(,:!&|?[{;]\s*|^\s*)\/((?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([a-z]*)(?![\w/])/gm;

/** Those of `src/`, each with the first file that has it. */
export function regexpLiterals(): readonly Literal[] {
  const found = new Map<string, Literal>();
  for (const { path, text } of readSources()) {
    if (!/^src\/.*\.ts$/.test(path)) continue;
    for (const [whole, source = "", flags] of text.matchAll(literal)) {
      if (found.has(whole)) continue;
      try {
        found.set(whole, { path, pattern: new RegExp(source, flags) });
      } catch {
        // Two divisions in one line.
      }
    }
  }
  return [...found.values()];
}

/** Words that come nearer to a match of a pattern than others: its own, and one of each kind of character. */
export function wordsOf({ source }: RegExp): readonly string[] {
  const own = [...source.matchAll(/[a-z0-9]+|[^\w\\]/gi)].map(([word]) => word);
  return [...new Set([...own, " ", "\t", "\n", "a", "A", "1", ".", ",", "_", "é", "\u0301", "😀"])];
}
