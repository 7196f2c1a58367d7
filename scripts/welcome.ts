/**
 * What `npm start` says when everything runs: where it listens, and lines to paste.
 *
 * @module
 */

import { randomUUID } from "node:crypto";
import { dirname, relative } from "node:path";
import type { RunningStart } from "./running.ts";
import type { Disabled, Seeded, SeedOutcome } from "./seed.ts";

/** The tenant whose leads are sent to what catches them. */
export interface Development {
  /** The page with what was caught. */
  readonly url: string;
  readonly seeded: SeedOutcome;
}

/** What runs. */
export interface Started {
  /** The listeners by surface. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Of the embedded PostgreSQL. */
  readonly dataFolder: string | undefined;
  /** `undefined` when the log is printed. */
  readonly logFile: string | undefined;
  /** `undefined` when the database was somebody's. */
  readonly seeded: SeedOutcome | undefined;
  /** `undefined` where nothing is caught. */
  readonly development: Development | undefined;
  /** Where the leads go, or why they wait. */
  readonly delivery:
    | { readonly kind: "own" }
    | { readonly kind: "given"; readonly url: string }
    | { readonly kind: "none"; readonly reason: string };
}

type Row = readonly [name: string, value: string];

function tableOf(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
}

/** What a person opens in a browser. */
function pagesOf(addresses: ReadonlyMap<string, string>): Row[] {
  const page = (name: string, surface: string, path: string): Row[] => {
    const url = addresses.get(surface);
    return url === undefined ? [] : [[name, `${url}${path}`]];
  };
  return [
    ...page("the playground", "intake", "/api"),
    ...page("the integration brief", "intake", "/api/integration"),
    ...page("the operator's console", "ops", "/"),
    ...page("mails and webhooks", "caught", "/"),
  ];
}

/** What a second `npm start` says. */
export function alreadyRunning({ pid, addresses }: RunningStart): string {
  const where = new Map(addresses);
  if (where.size === 0) {
    return `npm start has begun to run here already (process ${pid}); it says where when it is ready.`;
  }
  return `npm start is already running here (process ${pid}):

${tableOf([...where])}

In a browser:

${tableOf(pagesOf(where))}

Its keys are in .data/keys. To end it: Ctrl-C there, or kill ${pid}
`;
}

/** What Ctrl-C leaves. `dataFolder` is that of the embedded PostgreSQL. */
export function stopped(dataFolder: string | undefined): string {
  return `Stopped.${dataFolder === undefined ? "" : ` Your data is in ${shortPath(dirname(dataFolder))}`}`;
}

/** A path as somebody in this folder would type it. */
function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith("..") ? path : below;
}

/** The whole text. */
export function welcome(
  { addresses, dataFolder, logFile, seeded: found, development, delivery }: Started,
): string {
  const seeded = found !== undefined && "key" in found ? found : undefined;
  const rows: Row[] = [
    ...addresses,
    ...(development === undefined ? [] : [["caught", development.url] as const]),
  ];
  if (dataFolder !== undefined) rows.push(["database", shortPath(dataFolder)]);
  if (seeded !== undefined) rows.push(["sandbox key", seeded.key], ["forms key", seeded.formsKey]);
  const missing = found !== undefined && "disabled" in found
    ? disabledText(found)
    : `This database has tenants already, so none was added. A key of one of them:
  npm run -s ctl -- tenant list
  npm run -s ctl -- key issue TENANT --label LABEL

`;
  const pages = pagesOf(new Map([...addresses, ["caught", development?.url ?? ""]]))
    .filter(([, url]) => /^https?:/.test(url));
  return `
The Lead Intake Service runs.

${tableOf(rows)}

In a browser:

${tableOf(pages)}

${seeded === undefined ? missing : ""}Post a lead:

${leadLine(addresses.get("intake") ?? "", seeded?.key ?? "<API_KEY>")}
${seeded === undefined ? "" : `\nOr a website's form:\n\n${formLine(addresses.get("forms") ?? "", seeded)}\n`}
${deliveryText(delivery)}
${developmentText(addresses, development)}
${
    logFile === undefined
      ? ""
      : `The log is in ${shortPath(logFile)}; LOG=json prints it here instead.\n`
  }Ctrl-C ends it all.
`;
}

function developmentText(
  addresses: ReadonlyMap<string, string>,
  development: Development | undefined,
): string {
  if (development === undefined) return "";
  const { url, seeded } = development;
  if ("disabled" in seeded) return `\n${disabledText(seeded)}`;
  return `
To see the mail and the webhook that a customer gets, post it for the tenant "development" instead. Its leads are sent,
and caught on this machine: ${url}/

${tableOf([["development key", seeded.key], ["its forms key", seeded.formsKey]])}

${leadLine(addresses.get("intake") ?? "", seeded.key)}
`;
}

function disabledText({ disabled }: Disabled): string {
  return `The tenant ${disabled} is disabled, so there is no new key of it. The next start has one again after
  npm run -s ctl -- tenant enable ${disabled}

`;
}

function deliveryText(delivery: Started["delivery"]): string {
  if (delivery.kind === "none") return `It is accepted and waits, without delivery: ${delivery.reason}.`;
  const where = delivery.kind === "own"
    ? "A moment later it is delivered; the lead of a sandbox goes no further than this machine."
    : `A moment later it is delivered to ${delivery.url}.`;
  return `${where}
See it, with the event_id or submission_id of the answer:

npm run -s ctl -- lead show EVENT_ID`;
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
