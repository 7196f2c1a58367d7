/** The interface that each kind of destination implements. */

import type { Route, TenantNames } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** A kind of destination. It also needs an entry in `destinations.ts` and an option of `ctl tenant route`. */
export interface Destination {
  /** The name in routes, responses and the log: up to 20 lower-case letters. */
  readonly kind: string;
  /** Sends the event within the effect's time limit; never rejects. */
  send(sending: SendRequest): Promise<Outcome>;
}

/** An event for one destination. */
export interface SendRequest {
  readonly event: DeliveredEvent;
  readonly route: Route;
  readonly tenant: TenantNames;
  /** The wall-clock time, for signatures and dates. */
  readonly nowMs: number;
  /** The number of times an operator has sent the event again. */
  readonly repeat: number;
  /** Whether the event is from a route test. */
  readonly isTest: boolean;
}
