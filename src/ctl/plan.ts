/** `ctl plan …` */

import { readFileSync } from "node:fs";
import { limits } from "#src/contract/limits.ts";
import { type Interval, intervals } from "#src/contract/plans.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { dollars, JsonText, safe, shortTime } from "./terminal.ts";
import { isSlug, parseSlug } from "./values.ts";
import {
  decode,
  elements,
  isObject,
  type Member,
  members,
  parseObject,
  replaceLoneSurrogates,
  withoutSpace,
} from "#src/lead/json.ts";
import {
  listSubscriptions,
  type PlanChange,
  type PlanEntry,
  putPlans,
  removePlan,
} from "#src/store/operator/plans.ts";
import { subscriptionStates } from "#src/store/serving/checkout.ts";
import { readPlans } from "#src/store/serving/plans.ts";
import { listCommand } from "./list.ts";

// A list that a visitor chooses from, and that goes out whole with every request.
const plansMax = 1_000;
const bytesMax = 1024 * 1024;
// What the payment provider takes: eight digits. Source: Stripe, Currencies (minimum and maximum charge amounts).
const amountCentsMax = 99_999_999;

/** What is wrong with a text, to be said behind its path; `null`: nothing. */
type Rule = (text: string) => string | null;

const atMost = (lengthMax: number): Rule => (text) =>
  [...text].length > lengthMax ? `is longer than ${lengthMax} characters` : null;

/** Text of one line that visitors read. */
const line: Rule = (text) =>
  text.trim() === ""
    ? "is blank"
    : /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
    ? "has control characters"
    : atMost(200)(text);

const planRules: Readonly<Record<string, Rule>> = {
  slug: (text) => isSlug(text) ? null : "is not 1 to 64 of a-z, 0-9 and -, with no - at either end",
  name: line,
  customer: line,
  interval: (text) =>
    (intervals as readonly string[]).includes(text) ? null : `is not one of ${intervals.join(", ")}`,
};
const itemRules: Readonly<Record<string, Rule>> = { title: line, detail: atMost(2_000) };

/** Reads the plans of a file, and keeps what is wrong with them, one sentence each. */
class PlanReader {
  readonly faults: string[] = [];
  /** The path of each slug. */
  readonly #slugs = new Map<string, string>();

  /**
   * The plans of a file; what is returned counts for nothing when there are faults.
   *
   * Chosen: a member of a plan or of an item that stands there twice is a fault, because of two prices one is a mistake;
   * deeper down, in what the service does not know, everything stays as it is.
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
    const texts = isList ? elements(text) : [text];
    if (bytes.byteLength > bytesMax || texts.length > plansMax) {
      this.faults.push(`The file has more than ${bytesMax} bytes or ${plansMax} plans`);
      return [];
    }
    return texts.map((plan, index) => this.#plan(plan, isList ? `[${index}]` : ""));
  }

  #plan(text: string, path: string): PlanEntry {
    const plan = this.#object(text, path || "The file");
    const at = (member: string) => path === "" ? member : `${path}.${member}`;
    if (replaceLoneSurrogates(text) !== text) {
      this.faults.push(`${path || "The plan"} has half of a surrogate pair, which strict parsers refuse`);
    }
    const { slug = "", name = "", customer = "", interval } = this.#texts(plan, planRules, at);
    const other = this.#slugs.get(slug);
    if (other !== undefined) this.faults.push(`${at("slug")} is the same as ${other}`);
    if (slug !== "") this.#slugs.set(slug, at("slug"));
    const amount = plan.get("amount_cents")?.valueText;
    if (amount === undefined) this.faults.push(`${at("amount_cents")} is missing`);
    else if (!/^\d{1,8}$/.test(amount)) {
      this.faults.push(`${at("amount_cents")} is not a whole number of cents from 0 to ${amountCentsMax}`);
    }
    const items = plan.get("items")?.valueText;
    if (items === undefined) this.faults.push(`${at("items")} is missing`);
    else if (!items.startsWith("[")) this.faults.push(`${at("items")} is not an array`);
    else {
      for (const [index, item] of elements(items).entries()) {
        const place = `${at("items")}[${index}]`;
        const members = this.#object(item, place);
        if (item.startsWith("{")) this.#texts(members, itemRules, (member) => `${place}.${member}`);
      }
    }
    return {
      ...{ slug, name, customer, amountCents: Number(amount), interval: interval as Interval },
      json: withoutSpace(text),
    };
  }

  /** The members by name; none when it is no object. */
  #object(text: string, path: string): ReadonlyMap<string, Member> {
    const found = new Map<string, Member>();
    if (parseObject(text, limits.jsonDepthMax) === null) {
      this.faults.push(
        isObject(JSON.parse(text))
          ? `${path} is nested deeper than ${limits.jsonDepthMax} levels`
          : `${path} is not an object`,
      );
      return found;
    }
    for (const member of members(text)) {
      if (found.has(member.name)) this.faults.push(`${path} has ${JSON.stringify(member.name)} twice`);
      found.set(member.name, member);
    }
    return found;
  }

  /** The strings of an object that rules name. */
  #texts(
    object: ReadonlyMap<string, Member>,
    rules: Readonly<Record<string, Rule>>,
    at: (member: string) => string,
  ): Record<string, string> {
    const texts: Record<string, string> = {};
    for (const [name, rule] of Object.entries(rules)) {
      const valueText = object.get(name)?.valueText;
      const isText = valueText?.startsWith('"') === true;
      if (isText) texts[name] = decode(valueText);
      const fault = valueText === undefined
        ? "is missing"
        : isText
        ? rule(texts[name] ?? "")
        : "is not a string";
      if (fault !== null) this.faults.push(`${at(name)} ${fault}`);
    }
    return texts;
  }
}

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
  summary: "Add plans, or put them in place of those of their slugs",
  notes:
    "FILE.json holds one plan or an array of them; - is standard input. A plan has slug, name, customer, amount_cents\n" +
    "(whole US cents, 0 for free), interval (day, week, month or year) and items, each with title and detail. Whatever\n" +
    "else it has is kept and served as it was written. All plans of a file are put, or none. Running servers serve\n" +
    "them within seconds; subscriptions that were sold keep their price.",
  prepare(input) {
    const bytes = readBytes(input.first);
    const reader = new PlanReader();
    const plans = reader.readFile(bytes);
    if (reader.faults.length > 0) {
      throw new WrongUsage(`${input.first}:`, reader.faults);
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

const subscriptions = listCommand({
  words: "subscription list",
  options: {
    state: { value: "STATE", description: `only those in this state: ${subscriptionStates.join(", ")}` },
    plan: { value: "SLUG", description: "only those of this plan" },
  },
  limit: 100,
  summary: "List checkouts and what has become of them, the newest first",
  notes:
    "Prices are those of the checkout. Who the buyer is, the payment provider knows: look for the ids there.",
  prepare(input) {
    const given = input.option("state");
    const state = subscriptionStates.find((known) => known === given) ?? null;
    if (given !== undefined && state === null) {
      throw new WrongUsage(`--state is none of ${subscriptionStates.join(", ")}: ${given}`);
    }
    return (pool, { limit }) => listSubscriptions(pool, { state, plan: input.option("plan") ?? null, limit });
  },
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

/** The commands of this noun. */
export const subscriptionCommands: readonly Command[] = [subscriptions];
