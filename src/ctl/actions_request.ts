/** Sends requests to the actions process, over mutual TLS as the service does. */

import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Environment } from "#src/settings/reader.ts";

export interface ActionsResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends a request to `settings.ACTIONS_URL` with the client certificate that `settings` names: a POST with `body` as
 * JSON, or a GET if there is no `body`.
 *
 * @throws {Error} if the request fails; the error has a `code`, or its message names the invalid setting
 */
export async function requestActions(
  settings: Environment,
  { path, body, timeoutMs }: { readonly path: string; readonly body?: unknown; readonly timeoutMs: number },
): Promise<ActionsResponse> {
  const base = settings.ACTIONS_URL?.trim() ?? "";
  if (!URL.canParse(base)) throw new Error("ACTIONS_URL must be a URL such as https://127.0.0.1:9443");
  const url = new URL(`${base.replace(/\/$/, "")}${path}`);
  const isPlain = url.protocol === "http:";
  const text = body === undefined ? "" : JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<ActionsResponse>();
  (isPlain ? httpRequest : httpsRequest)(url, {
    ...(isPlain ? {} : {
      ca: read(settings, "ACTIONS_CA_FILE"),
      cert: read(settings, "ACTIONS_CLIENT_CERT_FILE"),
      key: read(settings, "ACTIONS_CLIENT_KEY_FILE"),
    }),
    ...(body === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
    }),
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
  }, (response) => {
    let received = "";
    response.setEncoding("utf8").on("data", (chunk: string) => received += chunk).on("error", reject);
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text: received }));
  }).on("error", reject).end(text);
  return await promise;
}

function read(settings: Environment, name: string): string {
  try {
    return readFileSync(settings[name]?.trim() ?? "", "utf8");
  } catch (error) {
    throw new Error(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
