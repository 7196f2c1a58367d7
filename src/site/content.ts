/**
 * What a site is made from.
 *
 * @module
 */

import type { Plan } from "../store/serving/plans.ts";
import type { PageSource } from "./source.ts";

/** A term of `project_area` that is in force. */
interface SiteArea {
  readonly area: string;
  readonly status: "confirmed" | "proposed";
}

/** The public base addresses, without a slash at the end. */
export interface SiteUrls {
  readonly site: string;
  readonly intake: string;
  readonly forms: string;
  readonly subscription: string;
}

/** Everything that a build depends on. Equal content makes equal bytes. */
export interface SiteContent {
  readonly sources: readonly PageSource[];
  readonly areas: readonly SiteArea[];
  readonly plans: readonly Plan[];
  readonly urls: SiteUrls;
  /** Whom partners write to about a key; left out: nobody is named. */
  readonly contact?: string | null;
  /** Plans can be bought at the subscription's address. */
  readonly isSold?: boolean;
}

/** An area with the page that explains it. */
export interface AreaPage extends SiteArea {
  readonly path: string;
  readonly synonyms: readonly string[];
  readonly category: string;
}
