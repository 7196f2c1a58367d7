/**
 * What `npm start` says when everything runs: where it listens, and lines to paste.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import { relative } from "node:path";
import type { Seeded } from "./seed.ts";

/** What runs. */
export interface Started {
  /** The listeners by surface. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Of the embedded PostgreSQL. */
  readonly dataFolder: string | undefined;
  /** `undefined` when the database was somebody's. */
  readonly seeded: Seeded | undefined;
  /** Where the leads go, or why they wait. */
  readonly delivery:
    | { readonly kind: "own" }
    | { readonly kind: "given"; readonly url: string }
    | { readonly kind: "none"; readonly reason: string };
}

/** The whole text. */
export function welcome({ addresses, dataFolder, seeded, delivery }: Started): string {
  const rows = [...addresses];
  if (dataFolder !== undefined) {
    const below = relative(process.cwd(), dataFolder);
    rows.push(["database", below.startsWith("..") ? dataFolder : below]);
  }
  if (seeded !== undefined) rows.push(["sandbox key", seeded.key], ["forms key", seeded.formsKey]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
  const missing = `This database has tenants already, so none was added. A key of one of them:
  npm run --silent ctl -- tenant list
  npm run --silent ctl -- key issue TENANT --label LABEL

`;
  return `
The Lead Intake Service runs.

${table}

${seeded === undefined ? missing : ""}Post a lead:

${leadLine(addresses.get("intake") ?? "", seeded?.key ?? "<API_KEY>")}
${seeded === undefined ? "" : `\nOr a website's form:\n\n${formLine(addresses.get("forms") ?? "", seeded)}\n`}
${deliveryText(delivery)}
${consoleText(addresses.get("ops"))}
Ctrl-C ends it all.
`;
}

function deliveryText(delivery: Started["delivery"]): string {
  if (delivery.kind === "none") return `It is accepted and waits, without delivery: ${delivery.reason}.`;
  const where = delivery.kind === "own"
    ? "A moment later it is delivered; the lead of a sandbox goes no further than this machine."
    : `A moment later it is delivered to ${delivery.url}.`;
  return `${where}
See it, with the event_id or submission_id of the answer:

npm run --silent ctl -- lead show EVENT_ID`;
}

function consoleText(url: string | undefined): string {
  return url === undefined ? "" : `\nOr in a browser, on the operator's console: ${url}/\n`;
}

function leadLine(url: string, key: string): string {
  const lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "roof" };
  return curlLine(`${url}/v1/intake`, key, lead);
}

function formLine(url: string, { formsKey, formPath }: Seeded): string {
  return curlLine(`${url}${formPath}`, formsKey, {
    name: "Grace Hopper",
    email: "grace@example.com",
    message: "Could you look at our roof next week?",
    page_url: "https://www.example.com/roofs?utm_source=newsletter",
  });
}

/** One line to paste. The idempotency key is another one at each start, so that the first answer is a 202. */
function curlLine(url: string, key: string, body: object): string {
  // A certificate on this machine is seldom one that curl trusts.
  const insecure = url.startsWith("https:") ? " -k" : "";
  const headers = [
    `X-API-Key: ${key}`,
    "Content-Type: application/json",
    `Idempotency-Key: npm-start-${randomUUID()}`,
  ];
  return `curl -i${insecure} ${headers.map((header) => `-H '${header}'`).join(" ")} ` +
    `-d '${JSON.stringify(body)}' ${url}`;
}
