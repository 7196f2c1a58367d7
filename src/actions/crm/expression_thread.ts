/**
 * Evaluates a recipe's expressions in a worker thread, which `expressions.ts` ends when it takes too long. This module is the
 * thread's program.
 */

import jsonata from "jsonata";
import { parentPort } from "node:worker_threads";
import { escapeHtml } from "../../http/markup.ts";
import { toE164 } from "../../lead/phone.ts";
import { parseExactly, stringifyExactly, withoutMarks } from "../../lead/exact_numbers.ts";
import { type Expression, type ExpressionFault, type Job, type Value } from "./expressions.ts";
import { sampleEvent } from "../sample.ts";
import { ready } from "../../process/deadline_thread.ts";
import { noEarlierPosts } from "../../store/delivery/earlier_posts.ts";
import { expressionInput } from "./input.ts";

/** Chosen: what a request's body may have, and more elements than any lead. */
const bounds = { textLengthMax: 262_144, elementsMax: 10_000, depthMax: 500 } as const;
// More than the longest secret, which a message may quote: whoever shows it hides the secret first, and then cuts.
const messageLengthMax = 40_000;
// Chosen: what 100 tenants with recipes of their own have.
const compiledMax = 2_000;

const compiled = new Map<string, jsonata.Expression>();

function compile(text: string): jsonata.Expression {
  let expression = compiled.get(text);
  if (expression === undefined) {
    expression = jsonata(text, { stack: bounds.depthMax, sequence: bounds.elementsMax });
    expression.assign(Symbol.for("jsonata.__evaluate_exit") as unknown as string, checkSize);
    expression.registerFunction("number", toNumber, "<(nsb)-:n>");
    expression.registerFunction("join", joinTexts, "<a<s>s?:s>");
    Object.assign(expression.ast(), withoutParser(expression.ast()));
    compiled.set(text, expression);
    const [oldest = text] = compiled.keys();
    if (compiled.size > compiledMax) compiled.delete(oldest);
  }
  return expression;
}

/** Copies a syntax tree's nodes, because those of the parser inherit from its symbols and need ten times the memory. */
function withoutParser<Node>(node: Node): Node {
  if (typeof node !== "object" || node === null || node instanceof RegExp) return node;
  if (Array.isArray(node)) return node.map(withoutParser) as Node;
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, withoutParser(part)])) as Node;
}

/** Called by JSONata after each part of an expression. */
function checkSize(_expression: unknown, _input: unknown, _environment: unknown, result: unknown): void {
  if (typeof result === "string" && result.length > bounds.textLengthMax) {
    throw new RangeError(`A text has more than ${bounds.textLengthMax} characters`);
  }
}

const refused = (name: string) => () => {
  throw new RangeError(`$${name} is not available, because a retry must send what the first try sent`);
};

/** Returns a value's text as `$string` does, without marks; nothing for a missing value and `null`. */
function toText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return withoutMarks(typeof value === "object" ? JSON.stringify(value) : String(value));
}

function cutText(text: string | undefined, runes: unknown): string | undefined {
  if (!(Number(runes) >= 0)) throw new TypeError("$cut needs a number of characters");
  return text === undefined ? undefined : [...text].slice(0, Number(runes)).join("").trimEnd();
}

function formatCents(text = ""): string | undefined {
  const cents = text.trim() === "" ? NaN : Number(text);
  return Number.isNaN(cents) ? undefined : (cents / 100).toFixed(2);
}

/** The functions besides JSONata's own; each returns nothing for a missing argument. */
const functions = {
  digits: (text?: unknown) => toText(text)?.replace(/\D/g, ""),
  national: (phone?: unknown) => typeof phone === "string" ? toE164(phone, "US")?.slice(2) : undefined,
  cut: (text?: unknown, runes?: unknown) => cutText(toText(text), runes),
  html: (text?: unknown) => toHtml(toText(text)),
  date: (time?: unknown, picture?: unknown, zone: unknown = "UTC") =>
    typeof time !== "string" ? undefined : formatTime(Date.parse(time), picture, String(zone)),
  cents: (cents?: unknown) => formatCents(toText(cents)),
  ...Object.fromEntries(["now", "millis", "random", "shuffle", "eval"].map((name) => [name, refused(name)])),
  pad: (text?: unknown, width?: unknown, fill: unknown = " ") => padText(text, Number(width), String(fill)),
};

/** Converts as `$number` does, also a number that a double cannot hold. */
function toNumber(value?: unknown): number | undefined {
  if (value === undefined) return undefined;
  const number = typeof value === "string" ? Number(withoutMarks(value).trim() || NaN) : Number(value);
  if (!Number.isFinite(number)) throw new TypeError("$number needs a number");
  return number;
}

function joinTexts(texts?: readonly string[], separator = ""): string | undefined {
  if (texts === undefined) return undefined;
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0);
  if (length > bounds.textLengthMax + separator.length) {
    throw new RangeError("$join makes a text that is too long");
  }
  return texts.join(separator);
}

function padText(text: unknown, width: number, fill: string): string | undefined {
  if (typeof text !== "string") return undefined;
  if (Math.abs(width) > bounds.textLengthMax) throw new RangeError("$pad makes a text that is too long");
  return width < 0 ? text.padStart(-width, fill) : text.padEnd(width, fill);
}

const toHtml = (text: string | undefined) =>
  text === undefined ? undefined : escapeHtml(text).replace(/\r\n?|\n/g, "<br>");

const toBoolean = jsonata("$boolean($value)");
const formatMillis = jsonata("$fromMillis($time, $picture, $offset)");

/** Formats a time with JSONata's picture in an IANA time zone; JSONata knows offsets only. */
function formatTime(time: number, picture: unknown, timeZone: string): Promise<string> {
  if (typeof picture !== "string") throw new TypeError("$date needs a format");
  const zoned = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const parts = zoned.formatToParts(time);
  const offset = parts.find(({ type }) => type === "timeZoneName")?.value.replace(/^GMT|:/g, "") || "+0000";
  return formatMillis.evaluate(undefined, { time, picture, offset });
}

/** Evaluates the expressions in order; a false `when` skips them all. */
async function run({ event, scope, secrets, when, expressions }: Job): Promise<readonly Value[] | null> {
  const { token, response, ...others } = scope;
  // Assigned, because a copy would compute the summary.
  const input: Record<string, unknown> = Object.assign(
    expressionInput(event),
    others,
    { token: JSON.parse(token) },
    parseResponse(response),
  );
  if (when !== undefined) {
    try {
      const value = await compile(when).evaluate(input, functions);
      if (await toBoolean.evaluate(undefined, { value }) !== true) return null;
    } catch (error) {
      return [{ name: "when", fault: faultOf(error) }];
    }
  }
  const values: Value[] = [];
  for (const expression of expressions) {
    if (expression.seesSecrets) input.secrets = secrets;
    else delete input.secrets;
    values.push(await evaluate(expression, input));
  }
  return values;
}

function parseResponse(response: Job["scope"]["response"]): object {
  if (response === undefined) return {};
  const { text, ...rest } = response;
  try {
    return { ...rest, body: parseExactly(text, { onlyIntegers: true }) };
  } catch {
    return { ...rest, body: text };
  }
}

async function evaluate({ name, text, as }: Expression, input: object): Promise<Value> {
  try {
    const value = await compile(text).evaluate(input, functions);
    return { name, text: asText(value, as) };
  } catch (error) {
    return { name, fault: faultOf(error) };
  }
}

function asText(value: unknown, as: Expression["as"]): string | null {
  if (value === undefined || value === null) return null;
  if (as === "value" || as === "json") return stringifyExactly(value) ?? null;
  if (as === "text") {
    if (typeof value === "object") throw new TypeError("The value must be a text");
    return withoutMarks(String(value));
  }
  if (typeof value !== "object" || Array.isArray(value)) throw new TypeError("The value must be an object");
  const fields = Object.entries(value).map(([field, one]): [string, string] => {
    if (typeof one === "object" && one !== null) throw new TypeError(`The field ${field} must be a text`);
    return [field, withoutMarks(String(one ?? ""))];
  });
  return new URLSearchParams(fields).toString();
}

function faultOf(error: unknown): ExpressionFault {
  const { message = "", position = null } = error as { message?: string; position?: number };
  return {
    message: withoutMarks(String(message)).slice(0, messageLengthMax),
    position: typeof position === "number" ? position : null,
  };
}

parentPort?.on("message", async (job: Job) => {
  let values: readonly Value[] | null;
  try {
    values = await run(job);
  } catch (error) {
    values = [{ name: "input", fault: faultOf(error) }];
  }
  parentPort?.postMessage(values);
});
// Warms up the code, which the first lead would otherwise wait for.
await evaluate(
  { name: "warm-up", text: "{ 'a': $cut(summary, 9), 'b': $date(received_at, '[Y]') }", as: "json" },
  expressionInput({
    event: sampleEvent({ tenant: "sample", source: "sample", form: "" }, 0),
    tenant: { slug: "sample", name: "Sample", timeZone: "UTC" },
    isTest: true,
    earlier: noEarlierPosts,
  }),
);
parentPort?.postMessage(ready);
