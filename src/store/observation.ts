/**
 * What the store tells of its work.
 *
 * @module
 */

import type { Decision, Entry } from "./serving/accept.ts";

/** One thing that has happened. `error` is told by its code alone: its message may quote a lead. */
export type StoreObservation =
  /** A batch whose outcome is known, entry by entry. */
  | {
    readonly kind: "batch_committed";
    readonly entries: readonly Entry[];
    readonly decisions: readonly Decision[];
    readonly durationMs: number;
  }
  /** A batch that was refused, or whose outcome is unknown. */
  | { readonly kind: "batch_failed"; readonly error: unknown }
  /** One entry that the store refuses by itself; its post is answered 503. */
  | { readonly kind: "entry_refused"; readonly error: unknown }
  /** A WARNING of the server's with a statement, such as a wait for a standby that was given up. */
  | { readonly kind: "commit_warning"; readonly text: string }
  /** A key holder's post was refused for this reason, from our own list. */
  | { readonly kind: "post_refused"; readonly reason: string }
  /** An active key came in a URL. */
  | { readonly kind: "key_exposed"; readonly keyId: number; readonly requestId: string }
  /** The process runs as this role, which owns the tables: no right keeps it from anything. */
  | { readonly kind: "runs_as_owner"; readonly role: string }
  /** So many connections to the database this process opens at most. */
  | { readonly kind: "connections"; readonly max: number }
  | { readonly kind: "store_writable" }
  | { readonly kind: "store_not_writable"; readonly error: unknown }
  /** Told once until they can be read again. */
  | { readonly kind: "plans_unreadable"; readonly error: unknown }
  /** Content of so many events has reached its end; told when there is no more to do for now. */
  | { readonly kind: "retention"; readonly events: number };
