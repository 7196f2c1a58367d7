/**
 * The words that the intake knows, and how long they may be kept. This module is browser compatible.
 *
 * @module
 */

import { isStrings, type JsonObject, judgeStatus, readObject, type Verdict } from "./judge.ts";
import type { Answer } from "./transport.ts";

/** A part of the home. */
export interface Area {
  /** The word to send as `project_area`. */
  readonly area: string;
  /** `confirmed` or `proposed`: both are accepted alike. */
  readonly status: string;
}

/** The words that the intake knows. An area that is not among them is no fault: send your own word. */
export interface Vocabulary {
  /** For `project_area`. */
  readonly areas: readonly Area[];
  /** For `project_service`. */
  readonly services: readonly string[];
  /** Names of the fields that a lead must have. */
  readonly required: readonly string[];
}

/** A vocabulary as it was last read. */
export interface KeptVocabulary {
  readonly vocabulary: Vocabulary;
  readonly etag: string | null;
  /** By the kit's clock. */
  readonly freshUntilMs: number;
  /** Of the last answer that named one. */
  readonly maxAgeMs: number;
}

/**
 * Judges the answer to a reading of the vocabulary. `kept` is what was asked for again with its ETag; a 304 without
 * one is an answer like any other.
 */
export function judgeVocabulary(
  answer: Answer,
  kept: KeptVocabulary | null,
  nowMs: number,
): Verdict<KeptVocabulary> {
  const namedMs = readMaxAge(answer.header("cache-control"));
  const etag = answer.header("etag");
  if (answer.status === 304 && kept !== null && kept.etag !== null) {
    const maxAgeMs = namedMs ?? kept.maxAgeMs;
    const value = { ...kept, etag: etag ?? kept.etag, freshUntilMs: nowMs + maxAgeMs, maxAgeMs };
    return { kind: "done", value };
  }
  if (answer.status !== 200) return judgeStatus(answer.status);
  const vocabulary = readVocabulary(readObject(answer.body));
  if (vocabulary === null) return { kind: "foreign" };
  const maxAgeMs = namedMs ?? 0;
  return { kind: "done", value: { vocabulary, etag, freshUntilMs: nowMs + maxAgeMs, maxAgeMs } };
}

function readVocabulary(object: JsonObject | null): Vocabulary | null {
  if (object === null) return null;
  const { project_area: areas, project_service: services, required } = object;
  if (!isAreas(areas) || !isStrings(services) || !isStrings(required)) return null;
  // All callers get the same object: none may change it under the others.
  return Object.freeze({
    areas: Object.freeze(areas.map(({ area, status }) => Object.freeze({ area, status }))),
    services: Object.freeze(services),
    required: Object.freeze(required),
  });
}

function isAreas(value: unknown): value is Area[] {
  return Array.isArray(value) &&
    value.every((item) => typeof item?.area === "string" && typeof item.status === "string");
}

/** `max-age` in milliseconds; 0 where nothing may be kept, `null` where nothing is said. */
function readMaxAge(cacheControl: string | null): number | null {
  const directives = (cacheControl ?? "").toLowerCase().split(",").map((directive) => directive.trim());
  if (directives.some((directive) => /^no-(store|cache)\b/.test(directive))) return 0;
  const text = directives.map((directive) => /^max-age="?([0-9]+)"?$/.exec(directive)?.[1]).find(Boolean);
  return text === undefined ? null : Number(text) * 1_000;
}
