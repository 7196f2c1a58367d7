/** What the store reports for the log and the metrics. */

import type { Decision, Entry } from "./serving/accept.ts";

/** One thing that happened. Log only the code of `error`: its message may quote a lead. */
export type StoreObservation =
  /** A batch whose outcome is known. */
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
  /** The server sent a WARNING with a statement, such as a cancelled wait for a standby. */
  | { readonly kind: "commit_warning"; readonly text: string }
  /** A post with a valid key was refused for this reason. */
  | { readonly kind: "post_refused"; readonly reason: string }
  /** An active key came in a URL. */
  | { readonly kind: "key_exposed"; readonly keyId: number; readonly requestId: string }
  /** The process runs as the role that owns the tables, so no grant restricts it. */
  | { readonly kind: "runs_as_owner"; readonly role: string }
  /** How many connections this process opens at most. */
  | { readonly kind: "connections"; readonly max: number }
  | { readonly kind: "store_writable" }
  | { readonly kind: "store_not_writable"; readonly error: unknown }
  /** Reported once until they can be read again. */
  | { readonly kind: "plans_unreadable"; readonly error: unknown }
  /** Content of this many events expired. */
  | { readonly kind: "retention"; readonly events: number };
