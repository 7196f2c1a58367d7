/** Reads the labelled submissions of `test/vectors/forms/`. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FormValue } from "../../../src/forms/spam/score.ts";

/** One labelled submission; `test/vectors/forms/README.md` describes the files. */
export interface FormCase {
  readonly id: string;
  /** The author's name. */
  readonly author: string;
  readonly label: "ham" | "spam";
  /** ISO 639-1, or `xx` for text without a language. */
  readonly language: string;
  readonly kind: string;
  readonly fields: Readonly<Record<string, FormValue>>;
  readonly blocked: readonly string[];
  readonly receivedAtMs: number;
}

/** Reads a file of cases. By default `blocked` is empty and `receivedAtMs` far from any time in the fields. */
export function readCases(file: string): readonly FormCase[] {
  const path = fileURLToPath(new URL(`../../vectors/forms/${file}`, import.meta.url));
  return readFileSync(path, "utf8").trimEnd().split("\n")
    .map((line) => ({ blocked: [], receivedAtMs: 0, ...JSON.parse(line) as Partial<FormCase> } as FormCase));
}
