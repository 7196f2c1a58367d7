/** Sends due daily digests, one at a time. */

import { randomUUID } from "node:crypto";
import type { ActionsObservation } from "../observe/actions_meters.ts";
import type { Log } from "../observe/log.ts";
import type { Job } from "../service/repeat.ts";
import type { DigestStore } from "../store/delivery/digests.ts";
import { addressDigest, heldLinkPath, heldLinkToken } from "../store/serving/held_links.ts";
import { digestNotification } from "./digest_notification.ts";
import { renderMail } from "../notification/mail.ts";
import type { SendMail } from "./smtp.ts";

export interface DigestJobOptions {
  readonly store: Pick<DigestStore, "begin" | "settle">;
  readonly sendMail: SendMail;
  /** The settings for links that release held submissions; `null` for no links. */
  readonly heldLinks: { readonly formsUrl: string; readonly secret: string } | null;
  /** The time limit for each email. */
  readonly timeoutMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly observe: (observation: ActionsObservation) => void;
}

// The part of the lease reserved for the claim and the settlement.
const leaseMarginMs = 10_000;
const pauseMs = 60_000;
/** The pause before the first run and after a failed one. */
const retryPauseMs = 5_000;

/** Source: DECISIONS, Decided since (Digest actions). */
const linkLifetimeSeconds = 7 * 24 * 60 * 60;

/** Creates the job. A run claims and sends one digest, and resolves with whether a digest was due. */
export function digestJob(options: DigestJobOptions): Job<boolean> {
  const { store, sendMail, heldLinks, timeoutMs, log, nowMs, observe } = options;
  return {
    async runOnce() {
      const lease = randomUUID();
      const digest = await store.begin({ id: lease, ms: timeoutMs + leaseMarginMs });
      if (digest === null) return false;
      const { tenant, routeId, address, until } = digest;
      if (digest.figures.to_review !== null && heldLinks === null) {
        log.error("digest_links_unset", { tenant });
      }
      const expiresAtSeconds = Math.floor(nowMs() / 1000) + linkLifetimeSeconds;
      const releaseLink = heldLinks && ((submissionId: string) =>
        heldLinks.formsUrl + heldLinkPath +
        heldLinkToken(
          { submissionId, addressDigest: addressDigest(address), expiresAtSeconds },
          heldLinks.secret,
        ));
      const outcome = await sendMail({
        tenant,
        address,
        mail: () => renderMail(digestNotification(digest, releaseLink)),
        id: `digest.${tenant}.${routeId}.${Date.parse(until)}`,
        nowMs: nowMs(),
      });
      const reason = outcome.kind === "done" ? null : outcome.reason;
      observe({ kind: "digest", reason });
      const fields = { tenant, route: routeId, until };
      if (reason === null) log.info("digest", fields);
      else log.error("digest_failed", { ...fields, reason });
      await store.settle(digest, lease, reason);
      return true;
    },
    pauseMs: (wasDue) => wasDue === null ? retryPauseMs : wasDue ? 0 : pauseMs,
  };
}
