/** Requests of the operator's command to the actions process, over mutual TLS as deliveries go. */

import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Environment } from "#src/settings/reader.ts";

/** What it answered. */
export interface ActionsAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * Asks the process that `ACTIONS_URL` names, with the client certificate of the same settings; posts `body` as JSON, and
 * gets without one.
 *
 * @throws {Error} when there is no answer: with a `code`, or a message that says which setting is wrong
 */
export async function askActions(
  settings: Environment,
  { path, body, timeoutMs }: { readonly path: string; readonly body?: unknown; readonly timeoutMs: number },
): Promise<ActionsAnswer> {
  const base = settings.ACTIONS_URL?.trim() ?? "";
  if (!URL.canParse(base)) throw new Error("ACTIONS_URL is no address such as https://127.0.0.1:9443");
  const url = new URL(`${base.replace(/\/$/, "")}${path}`);
  const isPlain = url.protocol === "http:";
  const text = body === undefined ? "" : JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<ActionsAnswer>();
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
    let heard = "";
    response.setEncoding("utf8").on("data", (chunk: string) => heard += chunk).on("error", reject);
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text: heard }));
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
