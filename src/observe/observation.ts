/** The service's observations, which the log and the metrics record. */

import type { DeliveryObservation } from "../delivery/loop.ts";
import type { HttpObservation } from "../http/options.ts";
import type { PlansObservation } from "../plans/reply.ts";
import type { StoreObservation } from "../store/observation.ts";

/** An observation by any part of the service. */
export type Observation =
  | HttpObservation
  | StoreObservation
  | DeliveryObservation
  | PlansObservation
  | ServiceObservation;

/** Observations of the service as a whole. */
export type ServiceObservation =
  /** A surface accepts connections at this URL. */
  | { readonly kind: "listening"; readonly surface: string; readonly url: string }
  /** A job failed; `event` is the name of its log event. */
  | { readonly kind: "job_failed"; readonly event: string; readonly error: unknown }
  /** A run of a job succeeded. */
  | { readonly kind: "job_succeeded"; readonly job: string };

/** Receives an observation; must neither wait nor throw. */
export type Observe = (observation: Observation) => void;
