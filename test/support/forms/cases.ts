/** The labelled submissions of `test/vectors/forms/`. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FormValue } from "../../../src/forms/spam/score.ts";

/** One labelled submission; `test/vectors/forms/README.md` describes the files. */
export interface FormCase {
  readonly id: string;
  /** Who wrote it. */
  readonly author: string;
  readonly label: "ham" | "spam";
  /** ISO 639-1, or `xx` for text of no language. */
  readonly language: string;
  readonly kind: string;
  readonly fields: Readonly<Record<string, FormValue>>;
  readonly blocked: readonly string[];
  readonly receivedAtMs: number;
}

/** Reads a file of cases; what a case leaves out is an empty list, and a time that no case's fields are near. */
export function readCases(file: string): readonly FormCase[] {
  const path = fileURLToPath(new URL(`../../vectors/forms/${file}`, import.meta.url));
  return readFileSync(path, "utf8").trimEnd().split("\n")
    .map((line) => ({ blocked: [], receivedAtMs: 0, ...JSON.parse(line) as Partial<FormCase> } as FormCase));
}
