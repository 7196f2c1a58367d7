/**
 * Checks responses against the OpenAPI document: an undocumented status, header or member fails, and so does an
 * error that its surface's table of codes does not contain.
 */

import assert from "node:assert/strict";
import { unreadErrors } from "../../../src/contract/errors.ts";
import { type BaseUrls, openapi } from "../../../src/documents/openapi.ts";
import { preRoutingNames } from "../../../src/documents/openapi/parts.ts";
import { errorFindings } from "./error.ts";
import { findings, resolve, type Schema } from "./schema.ts";

/** A response and its request. */
export interface Exchanged {
  /** Default: the intake. */
  readonly surface?: keyof BaseUrls;
  readonly method: string;
  /** With or without a query; `null` when the request could not be parsed. */
  readonly path: string | null;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

/** A documented response. */
interface Documented {
  readonly headers: Readonly<Record<string, Schema>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;
}

type Operation = { readonly responses: Readonly<Record<string, Schema>> };
type Servers = readonly { readonly url: string }[];
type PathItem = { readonly servers?: Servers } & Readonly<Record<string, Operation>>;
type Document = { readonly servers: Servers; readonly paths: Readonly<Record<string, PathItem>> };

// No check uses the addresses, but they distinguish the surfaces.
const urls: BaseUrls = {
  intake: "https://intake.example",
  forms: "https://forms.example",
  subscription: "https://plans.example",
};
const published = openapi(urls);

/** The headers that HTTP and HTTPS themselves add, on either runtime. */
const framing = [
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
  "strict-transport-security",
];

/** Fails unless the document contains this response to this request. */
export function assertDocumented(exchanged: Exchanged, document: object = published): void {
  const { method, path, status } = exchanged;
  const what = `${method} ${path ?? "(unread)"} answers ${status}`;
  const documented = documentedAnswer(document as Document, exchanged);
  assert.ok(documented, `${what}, which is not documented`);
  const found = [
    ...headerFindings(document, documented, exchanged),
    ...bodyFindings(document, documented, exchanged),
  ];
  assert.deepEqual(found, [], `${what}: ${found.join("; ")}`);
}

function documentedAnswer(document: Document, exchanged: Exchanged): Documented | null {
  const { method, path, status } = exchanged;
  const item = path === null ? null : pathItem(document, { ...exchanged, path });
  if (item === null) {
    const ofAnyPath: Readonly<Record<number, string>> = path === null
      ? preRoutingNames
      : { ...preRoutingNames, 404: "NotFound", 429: "TooManyReads" };
    const name = ofAnyPath[status];
    return name === undefined
      ? null
      : resolve<Documented>(document, { $ref: `#/components/responses/${name}` });
  }
  const { servers: _, ...operations } = item;
  const own = operations[method.toLowerCase()] ?? (method === "HEAD" ? operations.get : undefined);
  // An unsupported method gets the common refusals of the path's operations.
  const isRefusal = status === 405 || status === 429 || status in unreadErrors;
  const operation = own ?? (isRefusal ? Object.values(operations)[0] : undefined);
  const response = operation?.responses[status];
  return response === undefined ? null : resolve<Documented>(document, response);
}

function pathItem(
  { paths, servers }: Document,
  { path, surface = "intake" }: { readonly path: string; readonly surface?: keyof BaseUrls },
): PathItem | null {
  const asked = path.replace(/\?.*/s, "");
  const matches = (pattern: string) => {
    const names = pattern.split("/");
    const parts = asked.split("/");
    return names.length === parts.length &&
      names.every((name, index) => /^\{.*\}$/.test(name) ? parts[index] !== "" : name === parts[index]);
  };
  const name = asked in paths ? asked : Object.keys(paths).find(matches);
  const item = name === undefined ? undefined : paths[name];
  const isHere = (item?.servers ?? servers).some(({ url }) => url === urls[surface]);
  return item !== undefined && isHere ? item : null;
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
  if (mediaType !== "application/json") {
    // A plain text is compared with its example; documents are compared with their source elsewhere.
    const { example = text } = media;
    return text === "" || text !== example ? [`${status} has the body ${JSON.stringify(text)}`] : [];
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [`the body is not JSON: ${text.slice(0, 100)}`];
  }
  const isError = media.schema.$ref === "#/components/schemas/ErrorBody";
  return [
    ...findings(document, media.schema, value),
    ...(isError ? errorFindings(value as Readonly<Record<string, unknown>>, exchanged) : []),
  ];
}
