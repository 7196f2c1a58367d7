/** Counts the senders of recent texts: spam programs post one text under many names. */

import { digest128 } from "../gate/post.ts";

/** Chosen: many people send the same shorter text. */
const comparedLengthMin = 60;
/** Chosen: about a megabyte; a minute of posts at the full rate. */
const textsMax = 5_000;
const sendersMax = 8;
const forgottenAfterMs = 24 * 60 * 60 * 1_000;

/** The texts that this process has seen, as digests. */
export class RecentTexts {
  readonly #sendersByText = new Map<string, { readonly senders: Set<string>; readonly sinceMs: number }>();

  /** Adds a text and its sender; returns how many others sent it within a day, at most seven. */
  countOthers(text: string, sender: string, nowMs: number): number {
    if (text.length < comparedLengthMin) return 0;
    const key = digest128(text);
    const known = this.#sendersByText.get(key);
    const entry = known !== undefined && nowMs - known.sinceMs < forgottenAfterMs
      ? known
      : { senders: new Set<string>(), sinceMs: nowMs };
    if (entry.senders.size < sendersMax) entry.senders.add(digest128(sender));
    // Moves it to the end, so that the first is the oldest.
    this.#sendersByText.delete(key);
    this.#sendersByText.set(key, entry);
    if (this.#sendersByText.size > textsMax) {
      this.#sendersByText.delete(this.#sendersByText.keys().next().value as string);
    }
    return entry.senders.size - 1;
  }
}
