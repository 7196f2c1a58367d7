/** The types of a normalized lead and of a validation result. This module is browser compatible. */

import type { FieldName, Flag, Reason } from "../contract/fields.ts";
import type { BodyFault } from "./body_fault.ts";

/** A normalized lead: absent fields are left out, `country` is always set, members are in envelope order. */
export type Lead =
  & { readonly [name in "first_name" | "last_name" | "phone" | "country"]: string }
  & { readonly [name in FieldName]?: string }
  & { readonly cost_cents?: number };

/** The result of {@linkcode validate}. */
export type Validation =
  | {
    readonly kind: "valid";
    readonly lead: Lead;
    /** JSON text of the members outside the envelope, lossless; `null` for none. */
    readonly extra: string | null;
    readonly flags: readonly Flag[];
  }
  | { readonly kind: "invalid_json" } & BodyFault
  // Suggests the fields that the caller probably meant.
  | Partial<BodyFault> & {
    readonly kind: "validation_failed";
    /** Every failing field and its reason. */
    readonly fields: Readonly<Record<string, Reason>>;
    /** The body is `{}`: the key check. */
    readonly empty: boolean;
  };

/** Accepted terms of `project_area` by their folded spelling (`foldArea`). */
export type Areas = ReadonlyMap<string, string>;
