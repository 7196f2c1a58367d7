/** A proxy that extends the service's responses as a future version might. */

import { createServer } from "node:http";
import { send } from "../client.ts";
import { listen } from "../listen.ts";

/** A flag that today's clients do not know. */
export const newFlag = "flag_of_tomorrow";

/** How responses are extended. */
export interface Growth {
  /** Adds a member to each object; a flag is always added. */
  readonly members: boolean;
}

/** Starts the proxy in front of the surfaces at `urls`, whose certificate `ca` has signed, and returns its address. */
export async function startTomorrow(
  { urls, ca }: { readonly urls: Readonly<Record<string, string>>; readonly ca: string },
  growth: Growth,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const surface = path.startsWith("/v1/forms/")
      ? "forms"
      : path.startsWith("/api/plans")
      ? "subscription"
      : "intake";
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host: _, "accept-encoding": __, connection: ___, "transfer-encoding": ____, ...headers } =
      request.headers;
    const answer = await send(`${urls[surface]}${path}`, {
      method: request.method ?? "GET",
      headers,
      ca,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const text = answer.json === undefined ? answer.text : JSON.stringify(grown(answer.json, growth));
    const { "content-length": _____, connection: ______, ...kept } = answer.headers;
    response.writeHead(answer.status, kept).end(text);
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

function grown(value: unknown, growth: Growth): unknown {
  if (Array.isArray(value)) return value.map((item) => grown(item, growth));
  if (typeof value !== "object" || value === null) return value;
  const { flags, ...rest } = value as { readonly flags?: unknown };
  return {
    ...rest,
    ...(Array.isArray(flags) ? { flags: [...flags, newFlag] } : {}),
    ...(growth.members ? { member_of_tomorrow: { any: [1] } } : {}),
  };
}
