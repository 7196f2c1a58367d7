/**
 * The vocabulary, live: what the validator looks terms up in, the suggestions of the form, and the list at the
 * bottom of the page.
 */

/// <reference lib="dom" />

import { limits } from "../contract/limits.ts";
import type { Areas } from "../lead/lead.ts";
import { foldArea } from "../lead/place.ts";
import { byId, fill, make } from "./dom.ts";

/** A term as it is published. */
interface Term {
  readonly area: string;
  readonly status: string;
}

/** For the validator: folded spelling to the vocabulary's own. */
export function areasOf(terms: readonly string[]): Areas {
  return new Map(terms.map((term) => [foldArea(term), term]));
}

/** The terms in use; rejects when they cannot be had. */
async function read(): Promise<Term[]> {
  const answer = await fetch("/v1/vocabulary", { credentials: "omit" });
  if (!answer.ok) throw new Error(String(answer.status));
  return (await answer.json()).project_area;
}

/** Reads the vocabulary now, and again when the page is looked at after a while. */
export function follow(changed: (areas: Areas | null) => void): void {
  let readAtMs = -Infinity;
  const refresh = async () => {
    if (performance.now() - readAtMs < limits.vocabularyMaxAgeSeconds * 1000) return;
    readAtMs = performance.now();
    try {
      const terms = await read();
      list(terms);
      changed(areasOf(terms.map(({ area }) => area)));
    } catch {
      // The next look at the page tries again.
      readAtMs = -Infinity;
      changed(null);
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void refresh();
  });
  void refresh();
}

function list(terms: readonly Term[]): void {
  fill(byId("area-terms", HTMLElement), ...terms.map(({ area }) => make("option", { value: area })));
  fill(
    byId("areas", HTMLElement),
    ...terms.map(({ area, status }) =>
      make(
        "span",
        { class: `term ${status}` },
        area,
        status === "confirmed" ? null : make("small", {}, ` ${status}`),
      )
    ),
  );
}
