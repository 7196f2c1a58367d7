import assert from "node:assert/strict";
import example from "./relay.mjs";

const headers = {
  "origin": "https://www.example.com",
  "content-type": "application/json",
  "idempotency-key": crypto.randomUUID(),
};
const body = JSON.stringify({ first_name: "Ada", last_name: "King", phone: "555-0100" });
const request = new Request("https://edge.example.com/lead", { method: "POST", headers, body });
const response = await example.fetch(request, process.env, {});
assert.deepEqual([response.status, await response.json()], [202, { status: "accepted" }]);
