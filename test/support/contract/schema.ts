/**
 * Checks a JSON value against a schema of the OpenAPI document. It is stricter than JSON Schema: unlisted members
 * fail unless the schema sets `additionalProperties`, values outside an extensible list fail, and so do keywords
 * that this module does not check.
 */

/** A schema, or any other part of the document. */
export type Schema = { readonly [keyword: string]: unknown };

const silent = ["description", "example", "title"];
const known = [
  "$ref",
  "type",
  "nullable",
  "enum",
  "x-extensible-enum",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
  "items",
  "properties",
  "required",
  "additionalProperties",
];

/** Resolves a `$ref` within the document. */
export function resolve<T extends object = Schema>(document: object, part: Schema): T {
  const { $ref } = part;
  if (typeof $ref !== "string") return part as T;
  let target: unknown = document;
  for (const name of $ref.replace("#/", "").split("/")) target = (target as Schema)[name];
  if (target === undefined) throw new Error(`${$ref} is not in the document`);
  return resolve<T>(document, target as Schema);
}

/** Returns the faults of a value, one line each. */
export function findings(document: object, schema: Schema, value: unknown, at = "the body"): string[] {
  const rule: Schema = resolve(document, schema);
  const strange = Object.keys(rule).filter((keyword) =>
    !known.includes(keyword) && !silent.includes(keyword)
  );
  if (strange.length > 0) throw new Error(`${at}: the schema has ${strange}, which is not checked here`);
  if (rule.nullable === true && value === null) return [];
  const listed = (rule.enum ?? rule["x-extensible-enum"]) as readonly unknown[] | undefined;
  return [
    ...typeOf(rule, value, at),
    ...(listed !== undefined && !listed.includes(value)
      ? [`${at} is ${JSON.stringify(value)}, not one of ${JSON.stringify(listed)}`]
      : []),
    ...(typeof value === "string" ? text(rule, value, at) : []),
    ...(typeof value === "number" ? number(rule, value, at) : []),
    ...(Array.isArray(value) ? array(document, rule, value, at) : []),
    ...(isObject(value) && rule.type === "object" ? object(document, rule, value, at) : []),
  ];
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function typeOf(rule: Schema, value: unknown, at: string): string[] {
  const is: Readonly<Record<string, boolean>> = {
    string: typeof value === "string",
    number: typeof value === "number",
    integer: Number.isInteger(value),
    boolean: typeof value === "boolean",
    array: Array.isArray(value),
    object: isObject(value),
  };
  if (rule.type === undefined || is[String(rule.type)]) return [];
  return [`${at} is ${JSON.stringify(value)}, not of type ${rule.type}`];
}

function text(rule: Schema, value: string, at: string): string[] {
  const { minLength = 0, maxLength = Infinity, pattern, format } = rule;
  const length = [...value].length;
  const found = [];
  if (length < Number(minLength)) found.push(`${at} is shorter than ${minLength}`);
  if (length > Number(maxLength)) found.push(`${at} is longer than ${maxLength}`);
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value)) {
    found.push(`${at} is ${JSON.stringify(value)}, not like ${pattern}`);
  }
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) && !Number.isNaN(Date.parse(value));
  if (format === "date-time" && !isTime) found.push(`${at} is ${JSON.stringify(value)}, not a UTC time`);
  return found;
}

function number(rule: Schema, value: number, at: string): string[] {
  const { minimum = -Infinity, maximum = Infinity } = rule;
  const fits = value >= Number(minimum) && value <= Number(maximum);
  return fits ? [] : [`${at} is ${value}, not within ${minimum} and ${maximum}`];
}

function array(document: object, { items }: Schema, value: readonly unknown[], at: string): string[] {
  const found = value.flatMap((item, index) => findings(document, items as Schema, item, `${at}[${index}]`));
  const texts = value.map((item) => JSON.stringify(item));
  // The document uses no sets, which some clients cannot read, but no list contains an item twice.
  if (new Set(texts).size < texts.length) found.push(`${at} has an item twice`);
  return found;
}

function object(document: object, rule: Schema, value: Schema, at: string): string[] {
  const { properties = {}, required = [], additionalProperties } = rule;
  const members = properties as Readonly<Record<string, Schema>>;
  const found = (required as string[]).filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${at} has no ${name}`);
  for (const [name, member] of Object.entries(value)) {
    const further = typeof additionalProperties === "object" ? additionalProperties as Schema : undefined;
    const schema = Object.hasOwn(members, name) ? members[name] : further;
    if (schema !== undefined) found.push(...findings(document, schema, member, `${at}.${name}`));
    else if (additionalProperties !== true) found.push(`${at} has an undocumented member ${name}`);
  }
  return found;
}
