/**
 * The places of a commit at which a connection can be cut or halted: between and inside the messages of the extended
 * protocol that make the one call of `accept`.
 *
 * PostgreSQL runs the statement at Execute and commits at Sync; CommandComplete is the answer to the first,
 * ReadyForQuery to the second.
 *
 * @module
 */

/** Where in the call of `accept`. */
export type Place =
  /** Parse is not forwarded: the server has not seen the statement. It is sent once a connection. */
  | "before_parse"
  /** Bind is not forwarded. */
  | "before_bind"
  /** Bind was forwarded, Execute is not: nothing runs. */
  | "before_execute"
  /** Half of Execute's bytes were forwarded. */
  | "inside_execute"
  /** The statement has run, its locks are held, Sync is not forwarded: nothing is committed. */
  | "before_commit"
  /** Sync was forwarded this moment: it may be committed or not. */
  | "during_commit"
  /** It is committed, nothing of the answer is forwarded. */
  | "after_commit"
  /** It is committed, a half of the first message of the answer is forwarded. */
  | "inside_message"
  /** It is committed, the answer up to CommandComplete is forwarded, ReadyForQuery is not. */
  | "inside_answer";

/** Every {@linkcode Place}, and whether a batch that is cut there has been committed (`null`: either way). */
export const places: Readonly<Record<Place, boolean | null>> = {
  before_parse: false,
  before_bind: false,
  before_execute: false,
  inside_execute: false,
  before_commit: false,
  during_commit: null,
  after_commit: true,
  inside_message: true,
  inside_answer: true,
};

/** What happens to a connection there: an orderly end, a reset, or a halt until it is released. */
export type Fault = { readonly place: Place; readonly how: "close" | "reset" | "halt" };

/** A connection that stands still. */
export interface Halted {
  release(): void;
}

/** The message at which it is decided. */
export function messageOf(place: Place): "P" | "B" | "E" {
  return place === "before_parse" ? "P" : place === "before_bind" ? "B" : "E";
}

/** The statement that commits a batch. */
export const acceptCall = /\baccept\(/;
