/**
 * The shape of a normalized lead and of what the validator finds. This module is browser compatible.
 *
 * @module
 */

import type { FieldName, Flag, Reason } from "../contract/fields.ts";
import type { BodyFault } from "./body_fault.ts";

/**
 * A lead after normalization: absent fields are left out, `cost` is integer cents, `country` is
 * always there. Members stand in envelope order.
 */
export type Lead =
  & { readonly [name in "first_name" | "last_name" | "phone" | "country"]: string }
  & { readonly [name in FieldName]?: string }
  & { readonly cost_cents?: number };

/** What {@linkcode validate} says of a body. */
export type Validation =
  | {
    readonly kind: "valid";
    readonly lead: Lead;
    /** The text of a JSON object with what lay outside the envelope, lossless; `null` when nothing did. */
    readonly extra: string | null;
    readonly flags: readonly Flag[];
  }
  | { readonly kind: "invalid_json" } & BodyFault
  // With what was sent in the stead of missing fields, when something comes near.
  | Partial<BodyFault> & {
    readonly kind: "validation_failed";
    /** Every failing field with its reason. */
    readonly fields: Readonly<Record<string, Reason>>;
    /** The body was `{}`: the key check. */
    readonly empty: boolean;
  };

/**
 * The terms of `project_area` that are accepted: from the folded spelling (see `foldArea` in
 * `place.ts`) to the vocabulary's own.
 */
export type Areas = ReadonlyMap<string, string>;
