/** Counts the senders of recent texts, because spam programs post the same text under many names. */

import { digest128 } from "../gate/idempotency_key.ts";

/** The minimum length of a counted text. Chosen: 60, because many people send the same short texts. */
const comparedLengthMin = 60;
/** The maximum number of texts. Chosen: 5,000, which use about a megabyte and cover a minute at the maximum rate. */
const textsMax = 5_000;
const sendersMax = 8;
const retentionMs = 24 * 60 * 60 * 1_000;

/** Stores digests of the texts that this process received recently, and of their senders. */
export class RecentTexts {
  readonly #sendersByText = new Map<string, { readonly senders: Set<string>; readonly sinceMs: number }>();

  /** Adds a text; returns how many others posted it in the day since its first post, at most 7; 0 if it is short. */
  countOthers(text: string, sender: string, nowMs: number): number {
    if (text.length < comparedLengthMin) return 0;
    const key = digest128(text);
    const known = this.#sendersByText.get(key);
    const entry = known !== undefined && nowMs - known.sinceMs < retentionMs
      ? known
      : { senders: new Set<string>(), sinceMs: nowMs };
    if (entry.senders.size < sendersMax) entry.senders.add(digest128(sender));
    // Moves the text to the end, so that the least recently posted text is first.
    this.#sendersByText.delete(key);
    this.#sendersByText.set(key, entry);
    if (this.#sendersByText.size > textsMax) {
      this.#sendersByText.delete(this.#sendersByText.keys().next().value as string);
    }
    return entry.senders.size - 1;
  }
}
