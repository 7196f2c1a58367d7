/**
 * What leads-node costs beside `node:http` and `node:https`.
 *
 * @module
 */

import * as http from "node:http";
import * as https from "node:https";
import { benchRounds, headersOf } from "../../js/conformance/rounds.ts";
import { LeadsClient } from "../src/index.ts";

await benchRounds(({ key, baseUrl }) => {
  const client = new LeadsClient({ key, baseUrl });
  const { Agent, request } = baseUrl.startsWith("https:") ? https : http;
  const agent = new Agent({ keepAlive: true });
  return {
    kit: async (lead, idempotencyKey) => (await client.postLead(lead, idempotencyKey)).status,
    bare: (lead, idempotencyKey) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify(lead);
        const headers = { ...headersOf(key, idempotencyKey), "content-length": Buffer.byteLength(body) };
        const post = request(`${baseUrl}/v1/intake`, { method: "POST", headers, agent }, (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk) => text += chunk);
          response.on("end", () => resolve(JSON.parse(text).status));
          response.on("error", reject);
        });
        post.on("error", reject);
        post.end(body);
      }),
  };
});
