/** Escapes database content and renders it as Markdown. */

import { table } from "../documents/markdown.ts";
import type { Plan } from "../store/serving/plans.ts";

/**
 * Escapes text for use within a line or a table cell. Pass database content through this function or
 * {@linkcode codeSpan}, because a plan could be named `[Gold](javascript:…)`.
 */
export function escapeMarkdown(text: string): string {
  return singleLine(text).replace(/[\\`*{}[\]<>#|~&!]|(?<=\])\(|(?<![a-z0-9])_|_(?![a-z0-9])/gi, "\\$&")
    .replace(
      /^(\d*)([-+=.)])/,
      "$1\\$2",
    );
}

/** Formats text as inline code, even if it contains backticks. Text with a vertical bar is escaped instead. */
export function codeSpan(text: string): string {
  const code = singleLine(text);
  // In inline code, the backslash of an escaped bar is removed only within a table cell.
  if (code.includes("|")) return escapeMarkdown(text);
  const longest = Math.max(0, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = longest > 0 || /^ .* $/.test(code) ? " " : "";
  return `${fence}${pad}${code}${pad}${fence}`;
}

/** Joins the text into one line, without control characters. */
function singleLine(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
}

const specifiedMembers = new Set(["slug", "name", "customer", "amount_cents", "interval", "items"]);

/** Formats integer cents as `$1,234.50`. */
function formatPrice(cents: number): string {
  const [whole = "", part = ""] = (Math.abs(cents) / 100).toFixed(2).split(".");
  return `${cents < 0 ? "−" : ""}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${part}`;
}

// TypeScript's types lack these features, which preserve the digits of a number as written.
const digitPreservingJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

/** Returns a plan's members that the specification does not name, in order, with their values as text. */
export function extraMembers(plan: Plan): (readonly [name: string, value: string])[] {
  const members = digitPreservingJson.parse(
    plan.json,
    (_, value, { source = "" }) => typeof value === "number" ? digitPreservingJson.rawJSON(source) : value,
  );
  return Object.entries(members as object).filter(([name]) => !specifiedMembers.has(name))
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)] as const);
}

/** Renders the plans, each with a heading and, if it has items, a table of them. `shop` is the base URL where they are sold; `null` if they are not sold. */
export function planBlocks(plans: readonly Plan[], shop: string | null): string {
  if (plans.length === 0) return "No plans are published at this time.";
  return plans.map((plan) => {
    const rows = plan.items.map(({ title, detail }) => [escapeMarkdown(title), escapeMarkdown(detail)]);
    const priceLine = `**${formatPrice(plan.amountCents)}** a ${escapeMarkdown(plan.interval)}, by ${
      escapeMarkdown(plan.customerName)
    }.`;
    const details = rows.length === 0 ? "" : `\n\n${table(["Includes", "Details"], rows)}`;
    const buyLink = shop === null
      ? ""
      : `\n\n[Buy ${escapeMarkdown(plan.name)}](${shop}/buy/${encodeURIComponent(plan.slug)})`;
    return `## ${escapeMarkdown(plan.name)}\n\n${priceLine}${details}${buyLink}`;
  }).join("\n\n");
}
