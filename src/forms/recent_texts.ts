/** Remembers which texts forms were sent lately, and by how many senders: programs post one text under many names. */

import { digest128 } from "../gate/post.ts";

/** Chosen: many people have a shorter question in common. */
const comparedLengthMin = 60;
/** Chosen: about a megabyte, and the posts of a minute at a form's full rate. */
const textsMax = 5_000;
const sendersMax = 8;
const forgottenAfterMs = 24 * 60 * 60 * 1_000;

/** Texts of a process, by digests alone. */
export class RecentTexts {
  readonly #sendersByText = new Map<string, { readonly senders: Set<string>; readonly sinceMs: number }>();

  /** Notes a text and its sender, and returns how many others have sent it within a day, at most seven. */
  countOthers(text: string, sender: string, nowMs: number): number {
    if (text.length < comparedLengthMin) return 0;
    const key = digest128(text);
    const known = this.#sendersByText.get(key);
    const entry = known !== undefined && nowMs - known.sinceMs < forgottenAfterMs
      ? known
      : { senders: new Set<string>(), sinceMs: nowMs };
    if (entry.senders.size < sendersMax) entry.senders.add(digest128(sender));
    // The latest last, so that the first is the one to forget.
    this.#sendersByText.delete(key);
    this.#sendersByText.set(key, entry);
    if (this.#sendersByText.size > textsMax) {
      this.#sendersByText.delete(this.#sendersByText.keys().next().value as string);
    }
    return entry.senders.size - 1;
  }
}
