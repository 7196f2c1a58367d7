/**
 * How an alert is rehearsed with real parts.
 *
 * @module
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlertName } from "../../../scripts/monitoring/alerts.ts";
import type { Prometheus } from "./prometheus.ts";

/**
 * Whether all alerts are rehearsed, which takes minutes: `REHEARSE=all npm test -- test/monitoring`. Without it those that
 * are quick are.
 */
export const isWhole = process.env.REHEARSE === "all";

/** What is done in a rehearsal. */
export interface Rehearsal {
  /** Brings the alert about; once. */
  readonly breakIt: () => unknown;
  /** Meanwhile, again and again: what keeps it so. */
  readonly meanwhile?: () => unknown;
  /** What the runbook says; once. */
  readonly mendIt: () => unknown;
  /** After that, again and again until it has ended. */
  readonly afterwards?: () => unknown;
  /** It takes seconds: it is rehearsed in every `npm test`. */
  readonly isQuick?: true;
}

/** Has each of these alerts come, with a text without holes and a link into the runbook, and go. */
export function rehearse(
  prometheus: () => Prometheus,
  alerts: readonly [AlertName, ...AlertName[]],
  { breakIt, meanwhile, mendIt, afterwards, isQuick }: Rehearsal,
): void {
  if (!isWhole && !isQuick) return;
  test(`${alerts.join(" and ")}: it comes, and what the runbook says ends it`, async () => {
    await breakIt();
    for (const alert of alerts) {
      const { annotations: { summary = "", description = "", runbook_url: link = "" } } = await prometheus()
        .fires(
          alert,
          meanwhile,
        );
      assert.doesNotMatch(summary + description, /<no value>|<error|%!|\{\{/, alert);
      assert.ok(link.endsWith(`/docs/runbook.md#${alert.toLowerCase()}`), link);
    }
    await mendIt();
    for (const alert of alerts) await prometheus().ends(alert, afterwards);
  });
}
