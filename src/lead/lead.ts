/** The types of a normalized lead and of a validation result. This module is browser compatible. */

import type { FieldName, Flag, Reason } from "../contract/fields.ts";
import type { BodyFault } from "./body_fault.ts";

/** A normalized lead, with its members in the envelope's order. Absent fields are omitted; `country` is always set. */
export type Lead =
  & { readonly [name in "first_name" | "last_name" | "phone" | "country"]: string }
  & { readonly [name in FieldName]?: string }
  & { readonly cost_cents?: number };

/** The result of {@linkcode validate}. */
export type Validation =
  | {
    readonly kind: "valid";
    readonly lead: Lead;
    /** The JSON text of the members outside the envelope, as sent; `null` if there are none. */
    readonly extra: string | null;
    readonly flags: readonly Flag[];
  }
  | { readonly kind: "invalid_json" } & BodyFault
  // `detail` explains the faults, and suggests the fields that the caller probably meant.
  | Partial<BodyFault> & {
    readonly kind: "validation_failed";
    /** The reason for each failing field. */
    readonly fields: Readonly<Record<string, Reason>>;
    /** Whether the body is `{}`: a key check. */
    readonly empty: boolean;
  };

/** The accepted `project_area` terms, by their folded form (`foldArea`). */
export type Areas = ReadonlyMap<string, string>;
