/**
 * Reads a file of plans: one object, or an array of them. All its faults are told together, each with its path.
 *
 * @module
 */

import { limits } from "#src/contract/limits.ts";
import { type Interval, intervals } from "#src/contract/plans.ts";
import { decode, isObject, type Member, members, mendEscapes, parseObject } from "#src/lead/json.ts";
import { elements, withoutSpace } from "#src/lead/json_text.ts";
import type { PlanEntry } from "#src/store/operator/plan_changes.ts";

/** What is wrong with a file, one sentence each. */
export class PlanFaults extends Error {
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
export function readPlanFile(bytes: Uint8Array): PlanEntry[] {
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
