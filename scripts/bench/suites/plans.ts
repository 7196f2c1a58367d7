/**
 * Requests a second of the plan feed beside a bare node:http server with the same body.
 *
 * @module
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openAdminPool } from "../../../src/store/operator/admin_pool.ts";
import { putPlans } from "../../../src/store/operator/plan_changes.ts";
import { readPlanFile } from "../../../src/ctl/plan_file.ts";
import { getting } from "../load/getting.ts";
import { buildFolder } from "../programs.ts";
import { startPeer, startService } from "../service.ts";
import type { Open, Suite } from "../suite.ts";

/** Six plans of about 400 bytes each. */
function makePlans(): string {
  const items = Array.from({ length: 4 }, (_, index) => ({
    title: `Feature ${index + 1}`,
    detail: "What it does for the customer, in a sentence",
  }));
  return JSON.stringify(Array.from({ length: 6 }, (_, index) => ({
    slug: `plan-${index + 1}`,
    name: `Plan ${index + 1}`,
    customer: "acme",
    amount_cents: 2900 * (index + 1),
    interval: "month",
    items,
  })));
}

const path = "/api/plans";
const body = makePlans();

const ours: Open = async (bench) => {
  const database = await bench.stage.createDatabase(bench.tree);
  const pool = openAdminPool(database.url);
  await putPlans(pool, readPlanFile(new TextEncoder().encode(body)));
  await pool.close();
  const service = await startService(bench, { databaseUrl: database.url });
  return await getting(bench, service, { url: service.urls.subscription + path, expected: body });
};

const peer = (env: Readonly<Record<string, string>>): Open => async (bench) => {
  const bodyFile = join(buildFolder, "plans_body.json");
  writeFileSync(bodyFile, body);
  const server = await startPeer("plans", { BODY_FILE: bodyFile, ...env });
  return await getting(bench, server, { url: server.urls.intake + path, expected: body });
};

const common = { of: "answers/s", ours: "ours", target: { atLeast: 0.7 } };

/** `npm run bench -- plans`. */
export const plans: Suite = {
  about: "the plan feed against a bare server",
  needs: { wrk: "wrk" },
  conditions: [
    "loopback; wrk with one thread and 64 connections, no Accept-Encoding; all servers run, one is loaded at a time",
    "ours: the one file of a release with everything on: Host check, request id, all headers, time bounds, an access line a request into a file; the plans are read from PostgreSQL again every second meanwhile",
    "bare: node:http, Content-Type and Content-Length only, no request id, no bounds, no access line",
    "alike: the same with ours' headers, a random request id and an access line a request into a file",
  ],
  groups: () => [{
    rows: {
      bare: { ...common, name: "plan feed, requests/s against bare node:http", peer: "bare" },
      alike: { ...common, name: "the same against node:http that sends and logs alike", peer: "alike" },
    },
    ours: { ours },
    peers: { bare: peer({}), alike: peer({ ALIKE: "1" }) },
  }],
};
