/**
 * What page and relay say to one another. This module is browser compatible.
 *
 * @module
 */

/** What a page is told: what became of the lead, and so what to show. */
export type PageAnswer =
  /** The lead is on disk; `duplicate` when it was before. */
  | { readonly status: "accepted" | "duplicate" }
  /** Each failing field and its reason, such as `required` or `too_long`; correct them and send again. */
  | { readonly status: "invalid"; readonly fields: Readonly<Record<string, string>> }
  /** It could not be posted now; sending it again doubles nothing. */
  | { readonly status: "try_later" }
  /** It will not be accepted as it is, whoever's fault it is: show the visitor another way. */
  | { readonly status: "refused" };

/** The idempotency key of a page: the relay puts its namespace before it. */
export const pageKey = { shape: /^[0-9A-Za-z_-]{16,64}$/, lengthMax: 64 } as const;

/** A page's answer as it was read; `null` when it is not a relay's. */
export function readPageAnswer(value: unknown): PageAnswer | null {
  if (typeof value !== "object" || value === null) return null;
  const { status, fields } = value as { status?: unknown; fields?: unknown };
  switch (status) {
    case "accepted":
    case "duplicate":
    case "try_later":
    case "refused":
      return { status };
    case "invalid": {
      if (typeof fields !== "object" || fields === null) return null;
      if (!Object.values(fields).every((reason) => typeof reason === "string")) return null;
      return { status, fields: fields as Record<string, string> };
    }
    default:
      return null;
  }
}
