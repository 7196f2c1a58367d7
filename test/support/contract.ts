/**
 * Holds what the intake answers to its OpenAPI document: an undocumented status, header or member fails.
 *
 * @module
 */

import assert from "node:assert/strict";
import { unreadErrors } from "../../src/contract/errors.ts";
import { openapi } from "../../src/contract/openapi.ts";
import { unreadNames } from "../../src/contract/openapi/responses.ts";
import { findings, resolve, type Schema } from "./contract_schema.ts";

/** An answer, and what was asked. */
export interface Exchanged {
  readonly method: string;
  /** With or without a query; `null` when the request could not be read as far. */
  readonly path: string | null;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** One documented answer. */
interface Documented {
  readonly headers: Readonly<Record<string, Schema>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

type Operation = { readonly responses: Readonly<Record<string, Schema>> };

// The address is in nothing that is checked here.
const published = openapi("https://intake.example");

/** What HTTP itself adds, on either runtime. */
const framing = ["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"];

/** Fails unless the document has this answer to this request. */
export function assertDocumented(exchanged: Exchanged, document: object = published): void {
  const { method, path, status } = exchanged;
  const what = `${method} ${path ?? "(unread)"} answers ${status}`;
  const documented = documentedAnswer(document, exchanged);
  assert.ok(documented, `${what}, which is not documented`);
  const found = [
    ...headerFindings(document, documented, exchanged),
    ...bodyFindings(document, documented, exchanged),
  ];
  assert.deepEqual(found, [], `${what}: ${found.join("; ")}`);
}

function documentedAnswer(document: object, { method, path, status }: Exchanged): Documented | null {
  const { paths } = document as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const item = path === null ? undefined : paths[path.replace(/\?.*/s, "")];
  if (item === undefined) {
    const name = status === 404 && path !== null
      ? "NotFound"
      : (unreadNames as Readonly<Record<number, string>>)[status];
    return name === undefined
      ? null
      : resolve<Documented>(document, { $ref: `#/components/responses/${name}` });
  }
  const operations = Object.values(item);
  const own = item[method.toLowerCase()] ?? (method === "HEAD" ? item.get : undefined);
  // A method that the path does not serve gets what any operation of it may answer to anything.
  const isRefusal = status === 405 || status === 429 || status in unreadErrors;
  const operation = own ?? (isRefusal ? operations[0] : undefined);
  const response = operation?.responses[status];
  return response === undefined ? null : resolve<Documented>(document, response);
}

function headerFindings(document: object, documented: Documented, { headers }: Exchanged): string[] {
  const rules = new Map(
    Object.entries(documented.headers).map((
      [name, rule],
    ) => [name.toLowerCase(), resolve<Schema>(document, rule)]),
  );
  const found: string[] = [];
  for (const [name, rule] of rules) {
    if (rule.required === true && headers[name] === undefined) found.push(`there is no header ${name}`);
  }
  for (const [name, sent] of Object.entries(headers)) {
    if (sent === undefined || name.startsWith(":") || framing.includes(name)) continue;
    const rule = rules.get(name);
    if (rule === undefined) found.push(`the header ${name} is not documented`);
    else {
      const schema = rule.schema as Schema;
      const value = schema.type === "integer" ? Number(sent) : String(sent);
      found.push(...findings(document, schema, value, `the header ${name}`));
    }
  }
  return found;
}

function bodyFindings(document: object, documented: Documented, exchanged: Exchanged): string[] {
  const { method, headers, text, status } = exchanged;
  const { content } = documented;
  const sent = headers["content-type"];
  if (content === undefined) {
    return [...(text === "" ? [] : ["there is a body"]), ...(sent === undefined ? [] : [`it is ${sent}`])];
  }
  const mediaType = String(sent).split(";")[0] as string;
  const media = content[mediaType];
  if (media === undefined) return [`the media type ${sent} is not documented`];
  if (method === "HEAD") return text === "" ? [] : ["HEAD got a body"];
  if (mediaType !== "application/json") return text === "" ? [`${status} has no body`] : [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [`the body is not JSON: ${text.slice(0, 100)}`];
  }
  return findings(document, media.schema, value);
}
