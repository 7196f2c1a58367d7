/**
 * What a destination is told, and what it answers.
 *
 * @module
 */

import type { Route, TenantNames } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** A kind of place. Beside its file stand a line in `destinations.ts` and an option of `ctl tenant route`. */
export interface Destination {
  /** Its name in the routes, in answers and in the log: lower-case letters, 20 at most. */
  readonly kind: string;
  /**
   * Sends the event there, within the bound of an effect; never throws. The same event is recognizable at every
   * attempt where the other side can tell.
   */
  send(sending: Sending): Promise<Outcome>;
}

/** An event on its way to one place. */
export interface Sending {
  readonly event: DeliveredEvent;
  readonly route: Route;
  /** Who will read it. */
  readonly tenant: TenantNames;
  /** The wall clock's time, for what is signed or dated. */
  readonly nowMs: number;
  /** How often an operator has had it sent again; 0 mostly. */
  readonly repeat: number;
  /** An operator tries the route: the event is invented, and what is sent says so. */
  readonly isTest: boolean;
}
