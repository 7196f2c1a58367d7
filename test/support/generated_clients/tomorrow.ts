/** The service as it may be tomorrow: in front of the running one, and its answers have grown. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { send } from "../client.ts";

/** A flag that no client of today knows. */
export const newFlag = "flag_of_tomorrow";

/** How answers have grown. */
export interface Growth {
  /** Whether objects have a further member; a further flag they have anyway. */
  readonly members: boolean;
}

/** An address that stands for all surfaces. */
export interface Tomorrow {
  readonly url: string;
  close(): void;
}

/** Starts it; `urls` are the surfaces of today, and `ca` is whom they are known by. */
export async function startTomorrow(
  { urls, ca }: { readonly urls: Readonly<Record<string, string>>; readonly ca: string },
  growth: Growth,
): Promise<Tomorrow> {
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
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
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
