/** Defines the `ctl plan` and `ctl subscription` commands. */

import { readFileSync } from "node:fs";
import { limits } from "#src/contract/limits.ts";
import { intervals } from "#src/contract/plans.ts";
import { type Command, Refused } from "./command.ts";
import { dollars, JsonText, safe, shortTime } from "./terminal.ts";
import { isSlug, parseSlug } from "./values.ts";
import {
  arrayElements,
  decodeString,
  isObject,
  members,
  minifyJson,
  parseObject,
  replaceLoneSurrogates,
} from "#src/lead/json.ts";
import {
  listSubscriptions,
  type PlanChange,
  type PlanEntry,
  putPlans,
  removePlan,
} from "#src/store/operator/plans.ts";
import { readPlans } from "#src/store/serving/plans.ts";
import { listCommand } from "./list.ts";

// Limits one file, because every response of the plan feed contains all plans.
const plansMax = 1_000;
const bytesMax = 1024 * 1024;
// The payment provider's maximum, eight digits. Source: Stripe, Currencies (minimum and maximum charge amounts).
const amountCentsMax = 99_999_999;

/** A check that returns a fault, as the rest of a sentence that starts with the path, or `null`. */
type Rule = (text: string) => string | null;

/** Checks the JSON text of a string. */
const string = (rule: Rule): Rule => (valueText) =>
  valueText.startsWith('"') ? rule(decodeString(valueText)) : "is not a string";

const atMost = (lengthMax: number): Rule => (text) =>
  [...text].length > lengthMax ? `is longer than ${lengthMax} characters` : null;

/** Checks one line of text that visitors see. */
const line: Rule = (text) =>
  text.trim() === ""
    ? "is blank"
    : /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
    ? "contains control characters"
    : atMost(200)(text);

/** The rules for the JSON texts of members. */
const planRules: Readonly<Record<string, Rule>> = {
  slug: string((text) =>
    isSlug(text) ? null : "is not 1 to 64 characters (a-z, 0-9 or hyphen), or starts or ends with a hyphen"
  ),
  name: string(line),
  customer: string(line),
  interval: string((text) =>
    (intervals as readonly string[]).includes(text) ? null : `is not one of ${intervals.join(", ")}`
  ),
  amount_cents: (valueText) =>
    /^\d{1,8}$/.test(valueText) ? null : `is not a whole number of cents from 0 to ${amountCentsMax}`,
  items: (valueText) => valueText.startsWith("[") ? null : "is not an array",
};
const itemRules: Readonly<Record<string, Rule>> = { title: string(line), detail: string(atMost(2_000)) };

/** Parses a file of plans and collects its faults, one sentence each. */
class PlanReader {
  readonly faults: string[] = [];
  /** The path of each slug in the file. */
  readonly #slugs = new Map<string, string>();

  /**
   * Parses the plans; the result is invalid if there are `faults`.
   *
   * Chosen: a duplicate member of a plan or an item is a fault, because one of two prices must be a mistake. Unknown
   * members are stored verbatim.
   */
  readFile(bytes: Uint8Array): PlanEntry[] {
    let text: string;
    let value: unknown;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      value = JSON.parse(text);
    } catch (error) {
      const { name, message } = error as Error;
      this.faults.push(name === "SyntaxError" ? `The file is not JSON: ${message}` : "The file is not UTF-8");
      return [];
    }
    const isList = Array.isArray(value);
    const texts = isList ? arrayElements(text) : [text];
    if (bytes.byteLength > bytesMax || texts.length > plansMax) {
      this.faults.push(`The file has more than ${bytesMax} bytes or ${plansMax} plans`);
      return [];
    }
    return texts.map((plan, index) => this.#readPlan(plan, isList ? `[${index}]` : ""));
  }

  #readPlan(text: string, path: string): PlanEntry {
    const pathOf = (member: string) => path === "" ? member : `${path}.${member}`;
    const values = this.#readObject(text, planRules, { path: path || "The file", pathOf });
    if (replaceLoneSurrogates(text) !== text) {
      this.faults.push(
        `${path || "The plan"} contains half of a surrogate pair, which strict parsers refuse`,
      );
    }
    const { slug, name, customer, amount_cents: amountCents, interval } = JSON.parse(text) ?? {};
    const other = this.#slugs.get(slug);
    if (other !== undefined) this.faults.push(`${pathOf("slug")} is the same as ${other}`);
    if (typeof slug === "string" && slug !== "") this.#slugs.set(slug, pathOf("slug"));
    const items = values.get("items") ?? "";
    for (const [index, item] of (items.startsWith("[") ? arrayElements(items) : []).entries()) {
      const itemPath = `${pathOf("items")}[${index}]`;
      this.#readObject(item, itemRules, { path: itemPath, pathOf: (member) => `${itemPath}.${member}` });
    }
    return { slug, name, customer, amountCents, interval, json: minifyJson(text) };
  }

  /** Checks an object and the members that `rules` names; returns the members' JSON texts by name. */
  #readObject(
    text: string,
    rules: Readonly<Record<string, Rule>>,
    { path, pathOf }: { readonly path: string; readonly pathOf: (member: string) => string },
  ): ReadonlyMap<string, string> {
    const values = new Map<string, string>();
    if (parseObject(text, limits.jsonDepthMax) === null) {
      this.faults.push(
        isObject(JSON.parse(text))
          ? `${path} is nested deeper than ${limits.jsonDepthMax} levels`
          : `${path} is not an object`,
      );
      return values;
    }
    for (const { name, valueText } of members(text)) {
      if (values.has(name)) this.faults.push(`${path} has ${JSON.stringify(name)} twice`);
      values.set(name, valueText);
    }
    for (const [name, rule] of Object.entries(rules)) {
      const valueText = values.get(name);
      const fault = valueText === undefined ? "is missing" : rule(valueText);
      if (fault !== null) this.faults.push(`${pathOf(name)} ${fault}`);
    }
    return values;
  }
}

const stdin = 0;

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(file === "-" ? stdin : file);
  } catch (error) {
    throw new Refused(`${file} cannot be read (${(error as { code?: string }).code ?? "unknown cause"})`);
  }
}

const put: Command = {
  words: "plan put",
  positionals: ["FILE.json"],
  summary: "Add plans, or replace the plans with the same slugs",
  notes:
    "FILE.json contains one plan or an array of plans; - is standard input. A plan has slug, name, customer,\n" +
    "amount_cents (whole US cents, 0 for free), interval (day, week, month or year) and items, each with title and\n" +
    "detail. Any other members are stored and served as written. Either all plans in a file are stored, or none.\n" +
    "Running servers serve them within seconds; existing subscriptions keep their price.",
  prepare(input) {
    const bytes = readBytes(input.first);
    const reader = new PlanReader();
    const plans = reader.readFile(bytes);
    if (reader.faults.length > 0) {
      throw new Refused(`${input.first} is not valid; no plan was changed:`, { details: reader.faults });
    }
    return async (pool) => {
      const changes = await putPlans(pool, plans);
      const done = plans.map(({ slug }, index) => ({ slug, change: changes[index] as PlanChange }));
      const lines = done.map(({ slug, change }) =>
        `Plan ${slug} ${change === "unchanged" ? "did not change" : change}.`
      );
      return { json: done, text: lines.join("\n") || "The file contains no plans." };
    };
  },
};

const list = listCommand({
  words: "plan list",
  summary: "List the plans in the order of the feed",
  prepare: () => (pool) => readPlans(pool),
  empty: "No plans; ctl plan put FILE.json adds them.",
  columns: {
    "CUSTOMER": (plan) => plan.customer,
    "SLUG": (plan) => plan.slug,
    "NAME": (plan) => plan.name,
    ">PRICE": (plan) => dollars(plan.amountCents),
    "INTERVAL": (plan) => plan.interval,
  },
  json: ({ json }) => new JsonText(json),
});

const remove: Command = {
  words: "plan remove",
  positionals: ["SLUG"],
  summary: "Remove a plan from the feed and the checkout; existing subscriptions continue",
  prepare(input) {
    const slug = parseSlug(input.first);
    return async (pool) => {
      if (!await removePlan(pool, slug)) {
        throw new Refused(`There is no plan ${slug}; see ctl plan list`);
      }
      return { json: { slug, change: "removed" }, text: `Removed plan ${safe(slug)}.` };
    };
  },
};

const subscriptions = listCommand({
  words: "subscription list",
  limit: 100,
  summary: "List checkouts and their state, newest first",
  notes: "Prices are as of the checkout. To find the buyer, look up the ids at the payment provider.",
  prepare: () => listSubscriptions,
  empty: "No checkouts.",
  columns: {
    "CREATED (UTC)": (subscription) => shortTime(subscription.createdAt),
    "PLAN": (subscription) => subscription.plan,
    ">PRICE": (subscription) => dollars(subscription.amountCents),
    "INTERVAL": (subscription) => subscription.interval,
    "STATE": (subscription) => subscription.state,
    "SUBSCRIPTION": (subscription) => subscription.subscriptionId ?? "-",
    "CHECKOUT": (subscription) => subscription.checkout,
  },
});

export const planCommands: readonly Command[] = [put, list, remove, subscriptions];
