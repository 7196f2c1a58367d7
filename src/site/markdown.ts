/** What a database holds, as Markdown that stands for itself. */

import type { Plan } from "../store/serving/plans.ts";

/**
 * Text that stands for itself in Markdown. What a database holds goes through here or {@linkcode codeSpan}: a plan may
 * be called `[Gold](javascript:…)`. Fit for the inside of a line and for a cell of a table.
 */
export function literal(text: string): string {
  return line(text).replace(/[\\`*{}[\]<>#|~&!]|(?<=\])\(|(?<![a-z0-9])_|_(?![a-z0-9])/gi, "\\$&").replace(
    /^(\d*)([-+=.)])/,
    "$1\\$2",
  );
}

/** Text as code within a line; it may have backticks. With a bar in it, it is no code. */
export function codeSpan(text: string): string {
  const shown = line(text);
  // In a cell nothing stands for a bar in code after a backslash; elsewhere the two look alike.
  if (shown.includes("|")) return literal(text);
  const longest = Math.max(0, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 || /^ .* $/.test(shown) ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** A block of code. */
export function codeBlock(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.trimEnd()}\n${fence}`;
}

/** A table; the cells are Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

/** A cell of Markdown of our own that may have bars in it. */
export function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** One line, without the control characters that would end it or hide in it. */
function line(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

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
    const rows = plan.items.map(({ title, detail }) => [literal(title), literal(detail)]);
    const sum = `**${price(plan.amountCents)}** a ${literal(plan.interval)}, by ${
      literal(plan.customerName)
    }.`;
    const details = rows.length === 0 ? "" : `\n\n${table(["It includes", "In detail"], rows)}`;
    const buy = shop === null
      ? ""
      : `\n\n[Buy ${literal(plan.name)}](${shop}/buy/${encodeURIComponent(plan.slug)})`;
    return `## ${literal(plan.name)}\n\n${sum}${details}${buy}`;
  }).join("\n\n");
}
