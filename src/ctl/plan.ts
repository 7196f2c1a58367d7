/**
 * `ctl plan …`
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { limits } from "#src/contract/limits.ts";
import { type Interval, intervals } from "#src/contract/plans.ts";
import { type Command, Refused, WrongUsage } from "./command.ts";
import { dollars, JsonText, safe, shortTime } from "./terminal.ts";
import { parseSlug } from "./values.ts";
import { decode, isObject, type Member, members, mendEscapes, parseObject } from "#src/lead/json.ts";
import { elements, withoutSpace } from "#src/lead/json.ts";
import { type PlanChange, type PlanEntry, putPlans, removePlan } from "#src/store/operator/plan_changes.ts";
import { listSubscriptions } from "#src/store/operator/subscriptions.ts";
import { subscriptionStates } from "#src/store/serving/checkout.ts";
import { readPlans } from "#src/store/serving/plans.ts";
import { listCommand } from "./list.ts";

/** What is wrong with a file, one sentence each. */
class PlanFaults extends Error {
  override readonly name = "PlanFaults";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.faults = faults;
  }
}

// A list that a visitor chooses from, and that goes out whole with every request.
const plansMax = 1_000;
const bytesMax = 1024 * 1024;
// What the payment provider takes: eight digits. Source: Stripe, Currencies (minimum and maximum charge amounts).
const amountCentsMax = 99_999_999;
const lineLengthMax = 200;
const detailLengthMax = 2_000;

const slugShape = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The plans of a file.
 *
 * Chosen: a member of a plan or of an item that stands there twice is a fault, because of two prices one is a mistake;
 * deeper down, in what the service does not know, everything stays as it is.
 *
 * @throws {PlanFaults}
 */
function readPlanFile(bytes: Uint8Array): PlanEntry[] {
  if (bytes.byteLength > bytesMax) throw new PlanFaults([`The file is larger than ${bytesMax} bytes`]);
  const text = decodeText(bytes);
  const value = parse(text);
  const isList = Array.isArray(value);
  const texts = isList ? elements(text) : [text];
  if (texts.length > plansMax) throw new PlanFaults([`The file has more than ${plansMax} plans`]);
  const reader = new PlanReader();
  const plans = texts.map((plan, index) => reader.read(plan, isList ? `[${index}]` : ""));
  if (reader.faults.length > 0) throw new PlanFaults(reader.faults);
  return plans;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new PlanFaults(["The file is not UTF-8"]);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PlanFaults([`The file is not JSON: ${(error as Error).message}`]);
  }
}

/** Reads plan after plan and keeps what is wrong with them. */
class PlanReader {
  readonly faults: string[] = [];
  /** The path of each slug. */
  readonly #slugs = new Map<string, string>();

  read(text: string, path: string): PlanEntry {
    const plan = this.#object(text, path || "The file");
    const name = (member: string) => path === "" ? member : `${path}.${member}`;
    if (mendEscapes(text) !== text) {
      this.faults.push(`${path || "The plan"} has half of a surrogate pair, which strict parsers refuse`);
    }
    const entry = {
      slug: this.#slug(plan, name("slug")),
      name: this.#line(plan.get("name"), name("name")),
      customer: this.#line(plan.get("customer"), name("customer")),
      amountCents: this.#amount(plan.get("amount_cents"), name("amount_cents")),
      interval: this.#interval(plan.get("interval"), name("interval")),
      json: withoutSpace(text),
    };
    this.#items(plan.get("items"), name("items"));
    return entry;
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

  #slug(plan: ReadonlyMap<string, Member>, path: string): string {
    const slug = this.#string(plan.get("slug"), path);
    if (slug === null) return "";
    if (!slugShape.test(slug)) {
      this.faults.push(`${path} is not 1 to 64 of a-z, 0-9 and -, with no - at either end`);
    }
    const other = this.#slugs.get(slug);
    if (other !== undefined) this.faults.push(`${path} is the same as ${other}`);
    this.#slugs.set(slug, path);
    return slug;
  }

  #string(member: Member | undefined, path: string): string | null {
    if (member === undefined) {
      this.faults.push(`${path} is missing`);
    } else if (!member.valueText.startsWith('"')) {
      this.faults.push(`${path} is not a string`);
    } else {
      return decode(member.valueText);
    }
    return null;
  }

  /** Text of one line that visitors read. */
  #line(member: Member | undefined, path: string): string {
    const line = this.#string(member, path);
    if (line === null) return "";
    if (line.trim() === "") this.faults.push(`${path} is blank`);
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)) this.faults.push(`${path} has control characters`);
    this.#checkLength(line, path, lineLengthMax);
    return line;
  }

  #checkLength(text: string, path: string, lengthMax: number): void {
    if ([...text].length > lengthMax) this.faults.push(`${path} is longer than ${lengthMax} characters`);
  }

  #amount(member: Member | undefined, path: string): number {
    const text = member?.valueText ?? "";
    if (member === undefined) this.faults.push(`${path} is missing`);
    else if (!/^\d{1,8}$/.test(text)) {
      this.faults.push(`${path} is not a whole number of cents from 0 to ${amountCentsMax}`);
    }
    return Number(text);
  }

  #interval(member: Member | undefined, path: string): Interval {
    const interval = this.#string(member, path);
    if (interval !== null && !(intervals as readonly string[]).includes(interval)) {
      this.faults.push(`${path} is not one of ${intervals.join(", ")}`);
    }
    return interval as Interval;
  }

  #items(member: Member | undefined, path: string): void {
    if (member === undefined) {
      this.faults.push(`${path} is missing`);
    } else if (!member.valueText.startsWith("[")) {
      this.faults.push(`${path} is not an array`);
    } else {
      for (const [index, text] of elements(member.valueText).entries()) {
        const item = this.#object(text, `${path}[${index}]`);
        if (!text.startsWith("{")) continue;
        this.#line(item.get("title"), `${path}[${index}].title`);
        const detail = this.#string(item.get("detail"), `${path}[${index}].detail`);
        if (detail !== null) this.#checkLength(detail, `${path}[${index}].detail`, detailLengthMax);
      }
    }
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
