/** Loads the vocabulary for the validator, the form's suggestions and the list of terms. */

/// <reference lib="dom" />

import { limits } from "../contract/limits.ts";
import type { Areas } from "../lead/lead.ts";
import { foldArea } from "../lead/place.ts";
import { byId, fill, make } from "./dom.ts";

interface Term {
  readonly area: string;
  readonly status: string;
}

/** Maps folded terms to the vocabulary's spelling, for the validator. */
export function toAreas(terms: readonly string[]): Areas {
  return new Map(terms.map((term) => [foldArea(term), term]));
}

async function fetchTerms(): Promise<Term[]> {
  const response = await fetch("/v1/vocabulary", { credentials: "omit" });
  if (!response.ok) throw new Error(String(response.status));
  return (await response.json()).project_area;
}

/** Loads the vocabulary, and reloads it when the page becomes visible after the cache time or a failure; passes `null` to `onChange` on failure. */
export function watchVocabulary(onChange: (areas: Areas | null) => void): void {
  let loadedAtMs = -Infinity;
  const refresh = async () => {
    if (performance.now() - loadedAtMs < limits.vocabularyMaxAgeSeconds * 1000) return;
    loadedAtMs = performance.now();
    try {
      const terms = await fetchTerms();
      showTerms(terms);
      onChange(toAreas(terms.map(({ area }) => area)));
    } catch {
      // Tries again when the page next becomes visible.
      loadedAtMs = -Infinity;
      onChange(null);
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void refresh();
  });
  void refresh();
}

function showTerms(terms: readonly Term[]): void {
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
