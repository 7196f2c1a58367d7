/**
 * What the operators of an installation teach the spam score: the words and pairs of words of the submissions that they release,
 * dismiss, or report as spam. This module is browser compatible.
 *
 * @module
 */

import { readFeatures } from "./features.ts";
import { commonPlaces, foldedCodes, type Lessons, textsOf } from "./model.ts";
import { readSubmission, type Submission } from "./reading.ts";

/** A submission that an operator has judged. */
export interface Judged {
  readonly submission: Submission;
  readonly isSpam: boolean;
  /** Submissions of one sender with the same verdict count once. */
  readonly sender: string;
}

/** In how many judged submissions a word or pair occurs, by its place in the table of weights. */
export interface Lesson {
  readonly place: number;
  readonly ham: number;
  readonly spam: number;
}

/** Chosen: 3 senders, so that a single click moves nothing, and what is kept cannot be traced to anybody. */
const sendersMin = 3;
/** A weight moves half of the way after this many submissions. */
const half = 8;
const weightMax = 4;
/** Of a longer text the beginning teaches. */
const taughtTextMax = 4_000;

/** Counts judged submissions by the places of their words. */
export class LessonCounts {
  readonly #senders = new Set<string>();
  readonly #counts = new Map<number, { ham: number; spam: number }>();

  add({ submission, isSpam, sender }: Judged): void {
    const once = `${isSpam} ${sender}`;
    if (this.#senders.has(once)) return;
    this.#senders.add(once);
    for (const place of placesOf(submission)) {
      const count = this.#counts.get(place) ?? { ham: 0, spam: 0 };
      this.#counts.set(place, count);
      if (isSpam) count.spam++;
      else count.ham++;
    }
  }

  /** What enough senders have used. */
  get lessons(): Lesson[] {
    return [...this.#counts].map(([place, count]) => ({ place, ...count }))
      .filter(({ ham, spam }) => ham + spam >= sendersMin);
  }
}

function placesOf(submission: Submission): ReadonlySet<number> {
  const places = new Set<number>();
  const { messages, answers } = textsOf(readSubmission(submission));
  for (const text of [...messages, ...answers]) {
    const folded = foldedCodes(text.slice(0, taughtTextMax));
    readFeatures(folded, folded.length, {
      feature(place, family) {
        if (family === 0 && !commonPlaces.has(place)) places.add(place);
      },
      word() {},
    });
  }
  return places;
}

/** The weights of lessons, in log-odds: under 0 for the words of what was released. */
export function weighLessons(lessons: readonly Lesson[]): Lessons {
  return new Map(
    lessons.map(({ place, ham, spam }) => [place, weightMax * (spam - ham) / (ham + spam + half)]),
  );
}
