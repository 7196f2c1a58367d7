/**
 * The error body of the key-gated surfaces, from each one's table of codes.
 *
 * @module
 */

import type { Reply } from "../http/exchange.ts";
import { json } from "../http/reply.ts";

/** What an error body holds besides its code. */
export interface Refusal {
  /** `null` for the answers that are made before the handler: 413 and the per-IP 429. */
  readonly requestId: string | null;
  /** Failing fields with their reasons. */
  readonly fields?: Readonly<Record<string, string>>;
  /** What is wrong, in English and without any value: with 400 and 422 only. */
  readonly detail?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes an error reply with the status of its code. */
export type Refuse<Code extends string> = (code: Code, refusal: Refusal) => Reply;

/** The error replies of a table of codes. Source: SPEC, Error body; `detail` from DECISIONS, Decided since. */
export function refuseBy<Code extends string>(
  errors: Readonly<Record<Code, { readonly status: number }>>,
): Refuse<Code> {
  return (code, refusal) =>
    json(errors[code].status, {
      error: code,
      ...(refusal.requestId === null ? {} : { request_id: refusal.requestId }),
      ...(refusal.fields === undefined ? {} : { fields: refusal.fields }),
      ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
    }, refusal.headers);
}
