/** Declares what the store reports for the log and the metrics. */

import type { Decision, Entry } from "./serving/accept.ts";

/** An observation by the store. Log only the code of `error`, because its message may quote a lead. */
export type StoreObservation =
  /** A batch was decided, except for entries whose key was busy. */
  | {
    readonly kind: "batch_committed";
    readonly entries: readonly Entry[];
    readonly decisions: readonly Decision[];
    readonly durationMs: number;
  }
  /** A batch was refused, or its outcome is unknown. */
  | { readonly kind: "batch_failed"; readonly error: unknown }
  /** The store refused a batch of one entry, whose post gets 503. */
  | { readonly kind: "entry_refused"; readonly error: unknown }
  /** A statement caused a WARNING, for example because its wait for a synchronous standby was canceled. */
  | { readonly kind: "commit_warning"; readonly text: string }
  /** A post with a valid key was refused for this reason; one observation per invalid field. */
  | { readonly kind: "post_refused"; readonly reason: string }
  /** A post that made no event exceeded the bounds of the post log. */
  | { readonly kind: "post_not_logged" }
  /** A URL contained an active key. */
  | { readonly kind: "key_exposed"; readonly keyId: number; readonly requestId: string }
  /** The process runs as the role that owns the tables, so no grant restricts it. */
  | { readonly kind: "runs_as_owner"; readonly role: string }
  /** The maximum number of connections that this process opens. */
  | { readonly kind: "connections"; readonly max: number }
  | { readonly kind: "store_writable" }
  | { readonly kind: "store_not_writable"; readonly error: unknown }
  /** The plans cannot be read; reported once per outage. */
  | { readonly kind: "plans_unreadable"; readonly error: unknown }
  /** The content of `events` events expired and was removed. */
  | { readonly kind: "retention"; readonly events: number };
