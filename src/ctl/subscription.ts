/**
 * `ctl subscription …`
 *
 * @module
 */

import { listSubscriptions } from "#src/store/operator/subscriptions.ts";
import { subscriptionStates } from "#src/store/serving/checkout.ts";
import { type Command, WrongUsage } from "./command.ts";
import { dollars, shortTime, table } from "./terminal.ts";
import { limitOption, readLimit } from "./values.ts";

const listedByDefault = 100;

const list: Command = {
  words: "subscription list",
  positionals: [],
  options: {
    state: { value: "STATE", description: `only those in this state: ${subscriptionStates.join(", ")}` },
    plan: { value: "SLUG", description: "only those of this plan" },
    ...limitOption(listedByDefault),
  },
  summary: "List checkouts and what has become of them, the newest first",
  notes:
    "Prices are those of the checkout. Who the buyer is, the payment provider knows: look for the ids there.",
  prepare(input) {
    const given = input.option("state");
    const state = subscriptionStates.find((known) => known === given) ?? null;
    if (given !== undefined && state === null) {
      throw new WrongUsage(`--state is none of ${subscriptionStates.join(", ")}: ${given}`);
    }
    const limit = readLimit(input, listedByDefault);
    return async (pool) => {
      const found = await listSubscriptions(pool, { state, plan: input.option("plan") ?? null, limit });
      return {
        json: found.map((subscription) => ({
          checkout: subscription.id,
          plan: subscription.plan,
          customer: subscription.customer,
          amount_cents: subscription.amountCents,
          interval: subscription.interval,
          state: subscription.state,
          session_id: subscription.sessionId,
          subscription_id: subscription.subscriptionId,
          customer_id: subscription.customerId,
          created_at: subscription.createdAt,
          updated_at: subscription.updatedAt,
        })),
        text: table(found, "No checkouts.", {
          "CREATED (UTC)": (subscription) => shortTime(subscription.createdAt),
          "PLAN": (subscription) => subscription.plan,
          ">PRICE": (subscription) => dollars(subscription.amountCents),
          "INTERVAL": (subscription) => subscription.interval,
          "STATE": (subscription) => subscription.state,
          "SUBSCRIPTION": (subscription) => subscription.subscriptionId ?? "-",
          "CHECKOUT": (subscription) => subscription.id,
        }),
      };
    };
  },
};

/** The commands of this noun. */
export const subscriptionCommands: readonly Command[] = [list];
