/**
 * The plans on the site: as the feed has them, members that nobody foresaw included.
 *
 * @module
 */

import type { Plan } from "../store/serving/plans.ts";
import { literal, table } from "./markdown.ts";

const known = new Set(["slug", "name", "customer", "amount_cents", "interval", "items"]);

/** `$1,234.50`, from integer cents. */
function price(cents: number): string {
  const [whole = "", part = ""] = (Math.abs(cents) / 100).toFixed(2).split(".");
  return `${cents < 0 ? "−" : ""}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${part}`;
}

// Newer than TypeScript's own description of it: a number keeps the digits that it was written with.
const exact = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

/** The members of a plan that the specification does not name, in their order; values as text. */
export function extraMembers(plan: Plan): (readonly [name: string, value: string])[] {
  const members = exact.parse(
    plan.json,
    (_, value, { source = "" }) => typeof value === "number" ? exact.rawJSON(source) : value,
  );
  return Object.entries(members as object).filter(([name]) => !known.has(name))
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)] as const);
}

/**
 * The plans as Markdown: a heading and a table each, or a sentence that says that there is none. `shop` is the address
 * under which each can be bought, `null` where none can.
 */
export function planBlocks(plans: readonly Plan[], shop: string | null): string {
  if (plans.length === 0) return "No plan is published at the time of this build.";
  return plans.map((plan) => {
    const rows = [
      ...plan.items.map(({ title, detail }) => [literal(title), literal(detail)]),
      ...extraMembers(plan).map(([name, value]) => [literal(name), literal(value)]),
    ];
    const sum = `**${price(plan.amountCents)}** a ${literal(plan.interval)}, by ${literal(plan.customer)}.`;
    const details = rows.length === 0 ? "" : `\n\n${table(["What", "In detail"], rows)}`;
    const buy = shop === null
      ? ""
      : `\n\n[Buy ${literal(plan.name)}](${shop}/buy/${encodeURIComponent(plan.slug)})`;
    return `### ${literal(plan.name)}\n\n${sum}${details}${buy}`;
  }).join("\n\n");
}
