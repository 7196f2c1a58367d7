/**
 * What a page says after an action: fixed sentences with a number, never a caller's text.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { queryOf } from "./query.ts";
import { counted } from "./text.ts";
import type { Tokens } from "./token.ts";

interface Note {
  readonly tone: "good" | "warn";
  readonly text: (count: number) => string;
}

const notes = {
  replayed: {
    tone: "good",
    text: (n) => `${counted(n, "dead letter")} put back to pending; delivery tries at once.`,
  },
  replayed_part: {
    tone: "warn",
    text: (n) => `${counted(n, "dead letter")} put back to pending. There are more: press the button again.`,
  },
  none_dead: { tone: "warn", text: () => "Nothing was changed: none of them is dead any more." },
  none_chosen: { tone: "warn", text: () => "Nothing was changed: none was chosen." },
  released: { tone: "good", text: (n) => `${counted(n, "submission")} released; delivery tries at once.` },
  dismissed: {
    tone: "good",
    text: (n) => `${counted(n, "submission")} dismissed: held as before, and not on this list any more.`,
  },
  sent_again: { tone: "good", text: () => "It is sent once more, at once. What was not chosen stays done." },
  again_waiting: {
    tone: "warn",
    text: () => "Nothing was changed: it is on its way already, or was not delivered yet.",
  },
  again_already: {
    tone: "warn",
    text: () =>
      "Nothing was changed: it has been sent again since that page was made. This page has what came of it.",
  },
  again_dead: { tone: "warn", text: () => "Nothing was changed: it is a dead letter. Replay it instead." },
  again_held: { tone: "warn", text: () => "Nothing was changed: it is held. Release it instead." },
  again_erased: { tone: "warn", text: () => "Nothing was changed: its content is gone." },
  again_sandbox: { tone: "warn", text: () => "Nothing was changed: a sandbox's lead reaches nobody." },
  again_no_route: {
    tone: "warn",
    text: () => "Nothing was changed: no route of the tenant's takes it there any more.",
  },
  collision_accepted: {
    tone: "good",
    text: () => "Accepted as a lead of its own; delivery tries at once.",
  },
  collision_dismissed: {
    tone: "good",
    text: () => "Dismissed: it was not delivered, and wants nobody any more.",
  },
  collision_settled: {
    tone: "warn",
    text: () => "Nothing was changed: it is settled already, as this page says.",
  },
  collision_busy: {
    tone: "warn",
    text: () =>
      "Nothing was changed: somebody is being erased at this moment, who may be this one, or the key is being revoked. Try again in a minute.",
  },
  none_held: { tone: "warn", text: () => "Nothing was changed: none of them is held any more." },
  confirmed: { tone: "good", text: () => "The term is confirmed. Running servers know it within seconds." },
  proposed: { tone: "good", text: () => "The term is proposed. Running servers know it within seconds." },
  area_unchanged: { tone: "warn", text: () => "Nothing was changed: the vocabulary has the term already." },
  area_changed_meanwhile: {
    tone: "warn",
    text: () => "Nothing was changed: somebody else has changed the term meanwhile. Look at it again.",
  },
  area_not_found: { tone: "warn", text: () => "Nothing was changed: nobody has sent that term." },
} as const satisfies Readonly<Record<string, Note>>;

/** What can be said. */
export type NoteCode = keyof typeof notes;

/** The address of a page, with the note of what was done to so many. */
export function withNote(
  path: string,
  { tokens, code, count = 1, query = {} }: {
    readonly tokens: Tokens;
    readonly code: NoteCode;
    readonly count?: number;
    readonly query?: Readonly<Record<string, string | null>>;
  },
): string {
  return `${path}${queryOf({ ...query, done: tokens.note(code, count) })}`;
}

/** The sentence of a note. */
export function noteText({ code, count }: { readonly code: string; readonly count: number }): Markup | null {
  const note: Note | undefined = (notes as Readonly<Record<string, Note>>)[code];
  if (note === undefined) return null;
  return markup`<p class="${note.tone} message" role="status">${note.text(count)}</p>`;
}
