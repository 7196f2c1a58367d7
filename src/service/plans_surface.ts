/**
 * Puts the plan feed and the checkout together from the settings.
 *
 * @module
 */

import type { Config } from "../settings/config.ts";
import { limits } from "../contract/limits.ts";
import { IpBudget, type ReadBudget } from "../gate/rate.ts";
import type { Router } from "../http/router.ts";
import type { Log } from "../observe/log.ts";
import { nowMs, type Store } from "./store.ts";
import { plansRouter } from "../plans/router.ts";
import { StripeClient } from "../plans/stripe_client.ts";

/** The routes of the subscription surface. */
export function plansSurface(
  { checkout }: Config,
  { store, reads, log }: { store: Store; reads: ReadBudget; log: Log },
): Router {
  const provider = checkout?.provider ?? null;
  return plansRouter({
    plans: () => store.plans.current,
    reads,
    store: store.checkouts,
    origins: checkout?.origins ?? new Set(),
    provider: provider === null ? null : {
      client: new StripeClient({
        apiUrl: provider.apiUrl,
        secretKey: provider.secretKey,
        random: Math.random,
        nowMs,
      }),
      urls: provider,
    },
    secrets: provider?.webhookSecrets ?? [],
    ipBudget: new IpBudget(limits.checkoutIpRate),
    nowMs,
    clockMs: () => Date.now(),
    log,
  });
}
