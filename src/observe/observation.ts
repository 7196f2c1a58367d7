/**
 * All that the service tells of its work. The parts tell, and do not know who reads: the log, the metrics and the
 * minute samples are its readers.
 *
 * @module
 */

import type { DeliveryObservation } from "../delivery/loop.ts";
import type { HttpObservation } from "../http/options.ts";
import type { PlansObservation } from "../plans/reply.ts";
import type { StoreObservation } from "../store/observation.ts";

/** One thing that has happened. */
export type Observation =
  | HttpObservation
  | StoreObservation
  | DeliveryObservation
  | PlansObservation
  | ServiceObservation;

/** What the service tells as a whole. */
export type ServiceObservation =
  /** A surface accepts connections, at its own address. */
  | { readonly kind: "listening"; readonly surface: string; readonly url: string }
  /** A run of a job threw; `event` is what the log calls it. */
  | { readonly kind: "job_failed"; readonly event: string; readonly error: unknown };

/** Takes an observation; it never waits and never throws. */
export type Observe = (observation: Observation) => void;
