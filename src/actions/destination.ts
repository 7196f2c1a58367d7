/** The interface that each kind of destination implements. */

import type { EventToNotify } from "../notification/event.ts";
import type { Route, TenantNames } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** A kind of destination. It also needs an entry in `destinations.ts` and an option of `ctl tenant route`. */
export interface Destination {
  /** The name in routes, responses and the log: up to 20 lower-case letters. */
  readonly kind: string;
  /** Sends the event; rejects only if the database is unavailable. */
  send(sending: SendRequest): Promise<Outcome>;
  /** Returns the requests that `send` would make, without making any; an email counts as one. */
  preview(sending: SendRequest): Promise<Preview>;
}

/** Requests as they would be sent, with secrets masked. */
export interface Preview {
  readonly requests: readonly PreviewedRequest[];
  /** Why the list is incomplete; `null` if it is complete. */
  readonly fault: string | null;
}

export interface PreviewedRequest {
  readonly step: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The values that only the receiver's responses have, and that were made up. */
  readonly madeUp: readonly string[];
}

/** A request and its response, with secrets masked. */
export interface StepReport {
  readonly step: string;
  readonly method: string;
  readonly url: string;
  readonly status: number | null;
  readonly answer: string | null;
  readonly reason: string | null;
}

/** What a destination's texts and requests are rendered from; can be sent to a thread. */
export interface EventToRender extends EventToNotify {
  readonly event: DeliveredEvent;
  readonly tenant: TenantNames;
}

/** An event for one destination. */
export interface SendRequest extends EventToRender {
  readonly route: Route;
  /** The wall-clock time, for signatures and dates. */
  readonly nowMs: number;
  /** The number of times an operator has sent the event again. */
  readonly repeat: number;
  /** What an earlier attempt has finished, as given to `saveProgress`. */
  readonly progress: string | null;
  /** Stores what this attempt has finished; rejects if the database is unavailable. */
  readonly saveProgress: (progress: string) => Promise<void>;
  /** Receives each request of a recipe. */
  readonly onStep?: (step: StepReport) => void;
}
