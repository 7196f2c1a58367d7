/**
 * What leads-js costs beside `fetch`.
 *
 * @module
 */

import { LeadsClient } from "../src/index.ts";
import { benchRounds, headersOf } from "./rounds.ts";

await benchRounds(({ key, baseUrl }) => {
  const client = new LeadsClient({ key, baseUrl });
  return {
    kit: async (lead, idempotencyKey) => (await client.postLead(lead, idempotencyKey)).status,
    bare: async (lead, idempotencyKey) => {
      const response = await fetch(`${baseUrl}/v1/intake`, {
        method: "POST",
        headers: headersOf(key, idempotencyKey),
        body: JSON.stringify(lead),
      });
      return (await response.json()).status;
    },
  };
});
