/**
 * How the actions tier stands, in words: for the tile of the overview and its problem.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { span } from "./text.ts";

/** The actions tier as this process sees it; the times are milliseconds ago. */
export interface SeenTier {
  readonly state: "closed" | "open" | "half_open";
  /** Its last answer; `null`: none since the start. */
  readonly answeredAgoMs: number | null;
  /** Its last answer, or the last connection to it; `null`: none since the start. */
  readonly reachedAgoMs: number | null;
  readonly failure: { readonly cause: string; readonly code: string; readonly agoMs: number } | null;
  /** Since it is away; `null` while it is not. */
  readonly awayMs: number | null;
}

/** `"elsewhere"` when delivery is the task of other processes, `null` without an actions tier. */
export type ShownTier = SeenTier | "elsewhere" | null;

/** What the tile says. */
export interface TierTile {
  readonly name: string;
  readonly tone: "bad" | "warn" | null;
  readonly small: Markup;
}

// By the causes of src/delivery/tier_failure.ts.
const causes: Readonly<Record<string, string>> = {
  name: "its name in ACTIONS_URL is not resolved",
  refused: "nothing listens at ACTIONS_URL",
  connect: "no connection to ACTIONS_URL could be made",
  handshake: "no agreement on TLS, see its certificate and ACTIONS_CA_FILE",
  not_let_in: "it does not let this service in, see ACTIONS_CLIENT_CERT_FILE and the tier's log",
  timeout: "it did not answer in time",
  cut: "it cut the connection instead of answering",
  protocol: "what answers there is no actions tier",
  unavailable: "it says that it cannot work, see its log and its database",
};

// What a certificate is refused for says more than that it is.
const codes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is of another name than ACTIONS_URL has",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not of an authority in ACTIONS_CA_FILE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not of an authority in ACTIONS_CA_FILE",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not of an authority in ACTIONS_CA_FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not of an authority in ACTIONS_CA_FILE",
};

/** Why it does not answer, and the code with which the log has it. */
export function failureText({ cause, code }: { readonly cause: string; readonly code: string }): Markup {
  return markup`${codes[code] ?? causes[cause] ?? "it does not answer"} (<code>${code}</code>)`;
}

/** When it answered last, and when it could be reached since. */
export function answeredText({ answeredAgoMs, reachedAgoMs }: SeenTier): string {
  const answered = answeredAgoMs === null
    ? "no answer since this process began"
    : `last answer ${span(answeredAgoMs / 1_000)} ago`;
  return reachedAgoMs === null || reachedAgoMs === answeredAgoMs
    ? answered
    : `${answered}; reached ${span(reachedAgoMs / 1_000)} ago`;
}

/** The tile. */
export function tierTile(tier: ShownTier): TierTile {
  if (tier === null) {
    return { name: "none", tone: "warn", small: markup`<code>ACTIONS_URL</code> is not set` };
  }
  if (tier === "elsewhere") {
    return { name: "elsewhere", tone: null, small: markup`other processes deliver; see the plot below` };
  }
  const { failure, awayMs } = tier;
  if (awayMs !== null) {
    return {
      name: "does not answer",
      tone: "bad",
      small: markup`for ${span(awayMs / 1_000)}: ${failure !== null && failureText(failure)}; ${
        answeredText(tier)
      }`,
    };
  }
  return {
    name: tier.reachedAgoMs === null
      ? "not tried yet"
      : tier.reachedAgoMs === tier.answeredAgoMs
      ? "answers"
      : "can be reached",
    tone: null,
    small: markup`${answeredText(tier)}${
      failure !== null && markup`; last failure ${span(failure.agoMs / 1_000)} ago: ${failureText(failure)}`
    }`,
  };
}
