/**
 * A request to the actions process, over mutual TLS as deliveries go.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { Refused, type Surroundings } from "./command.ts";

const settings = [
  "ACTIONS_URL",
  "ACTIONS_CA_FILE",
  "ACTIONS_CLIENT_CERT_FILE",
  "ACTIONS_CLIENT_KEY_FILE",
] as const;

/** The settings by which the service reaches the actions process. */
type Access = Readonly<Record<typeof settings[number], string>>;

/**
 * How it is reached: by the environment's settings, or else as the `npm start` that runs here does.
 *
 * @throws {Refused} with what to do, when there is neither
 */
export function findActions({ environment, developmentSettings }: Surroundings): Access {
  for (const from of [environment, developmentSettings()]) {
    if (!from?.ACTIONS_URL?.trim()) continue;
    return Object.fromEntries(settings.map((name) => [name, from[name]?.trim() ?? ""])) as Access;
  }
  throw new Refused(
    "ACTIONS_URL is not set, and no npm start with an actions process is running here. Set it, ACTIONS_CA_FILE, " +
      "ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE as the service has them",
  );
}

/**
 * Posts JSON to the actions process and returns what it answers.
 *
 * @throws {Refused} when there is no answer, or none of its own
 */
export async function postToActions(
  access: Access,
  { path, body, timeoutMs }: { readonly path: string; readonly body: unknown; readonly timeoutMs: number },
  // deno-lint-ignore no-explicit-any
): Promise<{ readonly status: number; readonly json: any }> {
  const { ACTIONS_URL: given } = access;
  if (!URL.canParse(given)) throw new Refused("ACTIONS_URL is no address such as https://127.0.0.1:9443");
  const url = new URL(`${given.replace(/\/$/, "")}${path}`);
  const text = JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const send = url.protocol === "http:" ? httpRequest : httpsRequest;
  try {
    send(url, {
      ...(url.protocol === "http:" ? {} : filesOf(access)),
      method: "POST",
      headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
    }, (response) => {
      let heard = "";
      response.setEncoding("utf8").on("data", (chunk: string) => heard += chunk);
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text: heard }));
    }).on("error", reject).end(text);
    const answer = await promise;
    return { status: answer.status, json: JSON.parse(answer.text) };
  } catch (error) {
    if (error instanceof Refused) throw error;
    const { code, message } = error as { code?: string; message: string };
    throw new Refused(
      `The actions process at ${url.origin} does not answer (${code ?? message}); ctl doctor says why`,
      { cause: error },
    );
  }
}

function filesOf(access: Access): { readonly ca: string; readonly cert: string; readonly key: string } {
  const read = (name: Exclude<keyof Access, "ACTIONS_URL">) => {
    try {
      return readFileSync(access[name], "utf8");
    } catch (error) {
      throw new Refused(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  };
  return {
    ca: read("ACTIONS_CA_FILE"),
    cert: read("ACTIONS_CLIENT_CERT_FILE"),
    key: read("ACTIONS_CLIENT_KEY_FILE"),
  };
}
