/** Sends due daily digests, one at a time. */

import { randomUUID } from "node:crypto";
import type { ActionsObservation } from "../observe/actions_meters.ts";
import type { Log } from "../observe/log.ts";
import type { Job } from "../service/repeat.ts";
import type { DigestStore } from "../store/delivery/digests.ts";
import { heldLinkPath, heldLinkToken } from "../store/serving/held_links.ts";
import { digestNotification } from "./notification/digest.ts";
import { mailOf } from "./notification/mail.ts";
import type { SendMail } from "./smtp.ts";

/** The job's dependencies. */
export interface DigestsOptions {
  readonly store: Pick<DigestStore, "begin" | "settle">;
  readonly sendMail: SendMail;
  /** Creates links that release held submissions, or `null`. */
  readonly heldLinks: { readonly formsUrl: string; readonly secret: string } | null;
  /** A mail's time limit. */
  readonly timeoutMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly observe: (observation: ActionsObservation) => void;
}

// Time for the claim and the record besides the mail.
const leaseMarginMs = 10_000;
/** Interval of checks: a digest may be a minute late. */
const pauseMs = 60_000;
/** After the start, and while the database is unavailable. */
const soonMs = 5_000;

/** Source: DECISIONS, Decided since (Digest actions). */
const linkLifeS = 7 * 24 * 60 * 60;

/** The job: a run claims and sends one digest, and returns whether there was one. */
export function digests(options: DigestsOptions): Job<boolean> {
  const { store, sendMail, heldLinks, timeoutMs, log, nowMs, observe } = options;
  return {
    async runOnce() {
      const lease = randomUUID();
      const digest = await store.begin({ id: lease, ms: timeoutMs + leaseMarginMs });
      if (digest === null) return false;
      const { tenant, routeId, address, until } = digest;
      if (digest.figures.to_judge !== null && heldLinks === null) log.error("digest_links_unset", { tenant });
      const expiresS = Math.floor(nowMs() / 1000) + linkLifeS;
      const releaseLink = heldLinks && ((submissionId: string) =>
        heldLinks.formsUrl + heldLinkPath +
        heldLinkToken({ submissionId, routeId, expiresS }, heldLinks.secret));
      const outcome = await sendMail({
        ...{ tenant, address },
        mail: () => mailOf(digestNotification(digest, releaseLink)),
        // The same at every attempt.
        id: `digest.${tenant}.${routeId}.${Date.parse(until)}`,
        nowMs: nowMs(),
      });
      const reason = outcome.kind === "done" ? null : outcome.reason;
      observe({ kind: "digest", reason });
      const said = { tenant, route: routeId, until };
      if (reason === null) log.info("digest", said);
      else log.error("digest_failed", { ...said, reason });
      await store.settle(digest, lease, reason);
      return true;
    },
    pauseMs: (hadOne) => hadOne === null ? soonMs : hadOne ? 0 : pauseMs,
  };
}
