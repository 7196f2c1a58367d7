/**
 * What holds for every request of a kit, whatever the case is about.
 *
 * @module
 */

import { sameJson } from "./json_digits.ts";
import { header, type Seen } from "./request_text.ts";

/** The headers that a request may have; proxies, platforms and compression add these. */
const permitted = new Set([
  "host",
  "x-api-key",
  "content-type",
  "content-length",
  "idempotency-key",
  "x-request-id",
  "user-agent",
  "accept",
  "accept-encoding",
  "accept-language",
  "connection",
  "if-none-match",
  "cache-control",
  "pragma",
  // A browser's kind of fetch says these by itself.
  "sec-fetch-mode",
  "sec-fetch-site",
  "sec-fetch-dest",
]);

/** The call that requests were made for. */
export interface Made {
  readonly call: string;
  readonly key: string;
  readonly lead: string;
  readonly idempotencyKey: string;
  /** `null`: the kit makes one. */
  readonly requestId: string | null;
  /** What stands before `/v1/…` in the target. */
  readonly path: string;
}

/** Who makes them. */
export interface Kit {
  readonly name: string;
  readonly version: string;
  /** Whether leads are sent as the text that they were given as. */
  readonly sendsText: boolean;
}

/** What is wrong with the requests of one call, a sentence each. */
export function wireFaults(requests: readonly Seen[], made: Made, kit: Kit): string[] {
  const first = requests[0];
  if (first === undefined) return [];
  return [
    ...requests.flatMap((request) => requestFaults(request, made, kit)),
    ...["x-request-id", "idempotency-key", "x-api-key"].flatMap((name) =>
      requests.some((request) => header(request, name) !== header(first, name))
        ? [`${name} is not the same on every try`]
        : []
    ),
    ...(requests.some(({ body }) => !body.equals(first.body))
      ? ["the body is not the same, byte by byte, on every try"]
      : []),
  ];
}

function requestFaults(request: Seen, made: Made, kit: Kit): string[] {
  const reads = made.call === "vocabulary";
  const method = reads ? "GET" : "POST";
  const target = `${made.path}/v1/${reads ? "vocabulary" : "intake"}`;
  const must: Record<string, string | null> = {
    "user-agent": `${kit.name}/${kit.version}`,
    "x-api-key": reads ? null : made.key,
    "content-type": reads ? null : "application/json",
    "content-length": reads ? header(request, "content-length") : String(request.body.length),
    "idempotency-key": made.call === "post_lead" ? made.idempotencyKey : null,
  };
  const id = header(request, "x-request-id") ?? "";
  const idFits = made.requestId === null
    ? new RegExp(`^${kit.name}-[0-9A-Za-z]{16}$`).test(id)
    : id === made.requestId;
  return [
    ...(request.method === method ? [] : [`the method is ${request.method}`]),
    ...(request.target === target ? [] : [`the target is ${request.target} and not ${target}`]),
    ...Object.entries(must).filter(([name, value]) => header(request, name) !== value)
      .map(([name, value]) =>
        `${name} is ${header(request, name) ?? "missing"} and not ${value ?? "left out"}`
      ),
    ...(idFits ? [] : [`x-request-id is ${id}`]),
    ...request.headers.filter(([name]) => !permitted.has(name)).map(([name]) => `there is a header ${name}`),
    ...bodyFaults(request.body, made, kit),
  ];
}

function bodyFaults(body: Buffer, made: Made, kit: Kit): string[] {
  if (made.call === "vocabulary") return body.length === 0 ? [] : ["the vocabulary is asked for with a body"];
  const text = body.toString();
  if (!Buffer.from(text).equals(body)) return ["the body is no UTF-8"];
  if (made.call === "check_key") return text === "{}" ? [] : [`the body of the key check is ${text}`];
  if (kit.sendsText) return text === made.lead ? [] : ["the lead's text is not sent as it is"];
  try {
    return sameJson(text, made.lead) ? [] : [`the body is not the lead: ${text.slice(0, 300)}`];
  } catch {
    return ["the body is no JSON"];
  }
}
