/** What the console's pages work with. */

import type { TimeZone } from "../../http/time_zone.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Pool } from "../../store/pool.ts";
import type { ConsolePage } from "./layout.ts";
import type { PageClock } from "./text.ts";
import type { Tokens } from "./request.ts";
import type { ShownTier } from "./problems.ts";

/** The dependencies of the console. */
export interface ConsoleParts {
  /** Connections of its own: a slow page must keep no post waiting. */
  readonly pool: Pool;
  /** Connections that plan as the search needs it (`searchSettings`). */
  readonly searchPool: Pool;
  /** A connection for the report, which may take seconds. */
  readonly reportPool: Pool;
  /** The wall clock. */
  readonly now: () => Date;
  /** At least 32 random bytes, made by this process for itself. */
  readonly secret: Uint8Array;
  /** What the heartbeat knows; it works while the store is away. */
  readonly health: () => { readonly writable: boolean; readonly pending: number; readonly dead: number };
  readonly tier: () => ShownTier;
  readonly isDraining: () => boolean;
  /** In which times are shown and read. */
  readonly zone: TimeZone;
  /** What the reasons of a spam verdict mean, by name. */
  readonly spamMeanings: Readonly<Record<string, string>>;
  /** What weighs most in the score of a stored submission, heaviest first, in percent. */
  readonly explainSpam: (
    stored: { readonly lead: string; readonly receivedAt: string },
  ) => readonly SpamShare[];
}

/** A reason by its name, or words of the text, with its share of all that speaks for spam. */
export type SpamShare =
  & { readonly percent: number }
  & ({ readonly reason: string } | { readonly words: string });

/** One request for a page. */
export interface Context {
  readonly parts: ConsoleParts;
  readonly tokens: Tokens;
  readonly exchange: Exchange;
  /** What follows the `?`, without the note of an action. */
  readonly query: string;
  readonly clock: PageClock;
}

/** Makes a page of a request; what it throws becomes a page too. */
export type PageHandler = (context: Context) => ConsolePage | Promise<ConsolePage>;

/** Does what a form asks for and returns the path and query of the page to show next. */
export type ActionHandler = (context: Context) => Promise<string>;
