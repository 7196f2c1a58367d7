/** The interface of destinations. */

import type { Route, TenantNames } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** A kind of destination. It also needs an entry in `destinations.ts` and an option of `ctl tenant route`. */
export interface Destination {
  /** Its name in routes, responses and the log: up to 20 lower-case letters. */
  readonly kind: string;
  /**
   * Sends the event within the effect's time limit; never throws. Receivers can recognize repeats where the protocol allows.
   */
  send(sending: Sending): Promise<Outcome>;
}

/** An event for one destination. */
export interface Sending {
  readonly event: DeliveredEvent;
  readonly route: Route;
  /** The readers. */
  readonly tenant: TenantNames;
  /** Wall-clock time, for signatures and dates. */
  readonly nowMs: number;
  /** How often an operator has sent it again. */
  readonly repeat: number;
  /** A route test: the event is invented and marked as such. */
  readonly isTest: boolean;
}
