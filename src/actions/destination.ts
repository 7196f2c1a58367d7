/**
 * What a destination is: a kind of place where events go.
 *
 * @module
 */

import type { Route } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";
import type { Outcome } from "./outcome.ts";

/** A kind of place. Beside its file stand a line in `destinations.ts` and an option of `ctl tenant route`. */
export interface Destination {
  /** Its name in the routes, in answers and in the log: lower-case letters, 20 at most. */
  readonly kind: string;
  /**
   * Sends the event there, within the bound of an effect; never throws. The same event is recognizable at every
   * attempt where the other side can tell. `nowMs` is the wall clock's time.
   */
  send(event: DeliveredEvent, route: Route, nowMs: number): Promise<Outcome>;
}
