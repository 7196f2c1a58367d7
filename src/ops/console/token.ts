/**
 * Tokens by which the console knows its own forms, and the notes by which a page says what an action has done.
 *
 * Both are signed with a secret that the process makes at its start and keeps for itself. So a form is good at the
 * process that made it, until that ends: behind one name for several nodes, or after a restart, the answer is a page
 * that asks to open the form again. Chosen over a secret in the database, because the ops listener is each node's own
 * and private, and nothing has to be kept or rotated.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";

/** What becomes of a token that is shown. */
type TokenState = "good" | "expired" | "wrong";

// A shift: a page that was open all night may still act, one from last week may not.
const tokenMs = 8 * 3_600_000;
// A reload later than this does not say again what was done.
const noteMs = 60_000;

/** Makes and checks both. Time and secret are passed in. */
export class Tokens {
  readonly #secret: Uint8Array;
  readonly #nowMs: () => number;

  /** `secret` has at least 32 random bytes, `nowMs` is a wall clock. */
  constructor(secret: Uint8Array, nowMs: () => number) {
    if (secret.byteLength < 32) throw new RangeError("The secret is too short");
    this.#secret = secret;
    this.#nowMs = nowMs;
  }

  /** A token for forms that post to a path. */
  issue(path: string): string {
    return this.#sealed(`token ${path}`, this.#nowMs() + tokenMs);
  }

  /** Checks a token that came with a post to a path. */
  check(path: string, token: string): TokenState {
    return this.#stateOf(`token ${path}`, token);
  }

  /** The note that something was done to so many. */
  note(code: string, count: number): string {
    const text = `${code}.${count}`;
    return `${text}.${this.#sealed(`note ${text}`, this.#nowMs() + noteMs)}`;
  }

  /** Reads a note; `null` when it is not ours or is old. */
  readNote(note: string): { readonly code: string; readonly count: number } | null {
    const [code = "", number = "", ...seal] = note.split(".");
    if (this.#stateOf(`note ${code}.${number}`, seal.join(".")) !== "good") return null;
    return { code, count: Number(number) };
  }

  #sealed(text: string, untilMs: number): string {
    const until = Math.ceil(untilMs).toString(36);
    return `${until}.${this.#seal(text, until)}`;
  }

  #stateOf(text: string, sealed: string): TokenState {
    const [until = "", seal = ""] = sealed.split(".");
    const expected = Buffer.from(this.#seal(text, until));
    const given = Buffer.from(seal);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return "wrong";
    return Number.parseInt(until, 36) < this.#nowMs() ? "expired" : "good";
  }

  #seal(text: string, until: string): string {
    return createHmac("sha256", this.#secret).update(`${text}\n${until}`).digest("base64url");
  }
}
