/**
 * `ctl plan …`
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { type PlanChange, putPlans, removePlan } from "#src/store/operator/plan_changes.ts";
import { readPlans } from "#src/store/serving/plans.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { PlanFaults, readPlanFile } from "./plan_file.ts";
import { dollars, JsonText, safe, table } from "./terminal.ts";
import { parseSlug } from "./values.ts";

const stdin = 0;

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? stdin : file);
  } catch (error) {
    throw new WrongUsage(`${file} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
  }
}

const words: Readonly<Record<PlanChange, string>> = {
  added: "added",
  changed: "changed",
  unchanged: "is as it was",
};

const put: Command = {
  words: "plan put",
  positionals: ["FILE.json"],
  options: {},
  summary: "Add plans, or put them in place of those of their slugs",
  notes:
    "FILE.json holds one plan or an array of them; - is standard input. A plan has slug, name, customer, amount_cents\n" +
    "(whole US cents, 0 for free), interval (day, week, month or year) and items, each with title and detail. Whatever\n" +
    "else it has is kept and served as it was written. All plans of a file are put, or none. Running servers serve\n" +
    "them within seconds; subscriptions that were sold keep their price.",
  prepare(input) {
    const bytes = readBytes(input.first);
    let plans: ReturnType<typeof readPlanFile>;
    try {
      plans = readPlanFile(bytes);
    } catch (error) {
      if (!(error instanceof PlanFaults)) throw error;
      throw new WrongUsage(`${input.first}:\n${error.faults.map((fault) => `  ${fault}`).join("\n")}`);
    }
    return async (pool) => {
      const changes = await putPlans(pool, plans);
      const done = plans.map(({ slug }, index) => ({ slug, change: changes[index] as PlanChange }));
      return {
        json: done,
        text: done.map(({ slug, change }) => `Plan ${slug} ${words[change]}.`).join("\n") ||
          "The file has no plan.",
      };
    };
  },
};

const list: Command = {
  words: "plan list",
  positionals: [],
  options: {},
  summary: "List the plans in the order of the feed",
  prepare: () => async (pool) => {
    const plans = await readPlans(pool);
    return {
      json: plans.map(({ json }) => new JsonText(json)),
      text: table(plans, "No plans; ctl plan put FILE.json adds them.", {
        "CUSTOMER": (plan) => plan.customer,
        "SLUG": (plan) => plan.slug,
        "NAME": (plan) => plan.name,
        ">PRICE": (plan) => dollars(plan.amountCents),
        "INTERVAL": (plan) => plan.interval,
      }),
    };
  },
};

const remove: Command = {
  words: "plan remove",
  positionals: ["SLUG"],
  options: {},
  summary: "Remove a plan from the feed and the checkout; what was sold of it stays sold",
  prepare(input) {
    const slug = parseSlug(input.first);
    return async (pool) => {
      if (!await removePlan(pool, slug)) {
        throw new Refused(`There is no plan ${slug}; ctl plan list shows them`);
      }
      return { json: { slug, change: "removed" }, text: `Removed plan ${safe(slug)}.` };
    };
  },
};

/** The commands of this noun. */
export const planCommands: readonly Command[] = [put, list, remove];
