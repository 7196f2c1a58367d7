/** Composes the output of `npm start` once everything is running: addresses, keys and commands to paste. */

import { randomUUID } from "node:crypto";
import { dirname, relative } from "node:path";
import type { RunningStart } from "./running.ts";
import type { DisabledTenant, SeededKeys, SeedOutcome } from "./seed.ts";

/** The development tenant, whose emails and webhooks are caught on this machine. */
export interface Development {
  /** The catcher's page. */
  readonly url: string;
  readonly seeded: SeedOutcome;
}

export interface StartSummary {
  /** The URLs by surface. */
  readonly addresses: ReadonlyMap<string, string>;
  /** The embedded PostgreSQL's folder, if any. */
  readonly dataFolder: string | undefined;
  /** The log file; `undefined` if the log is printed. */
  readonly logFile: string | undefined;
  /** The sandbox's keys; `undefined` if the user's own database already has tenants. */
  readonly seeded: SeedOutcome | undefined;
  /** The development tenant; `undefined` without a catcher. */
  readonly development: Development | undefined;
  /** Where leads are delivered, or the reason why they are not. */
  readonly delivery:
    | { readonly kind: "own" }
    | { readonly kind: "given"; readonly url: string }
    | { readonly kind: "none"; readonly reason: string };
}

type Row = readonly [name: string, value: string];

function formatTable(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join("\n");
}

/** Returns the names and URLs of the pages to open in a browser. */
function browserPages(addresses: ReadonlyMap<string, string>): Row[] {
  const page = (name: string, surface: string, path: string): Row[] => {
    const url = addresses.get(surface);
    return url === undefined ? [] : [[name, `${url}${path}`]];
  };
  return [
    ...page("the playground", "intake", "/api"),
    ...page("the forms playground", "forms", "/forms"),
    ...page("the integration brief", "intake", "/api/integration"),
    ...page("the operator's console", "ops", "/"),
    ...page("emails and webhooks", "mail catcher", "/"),
  ];
}

/** Returns the output of a second `npm start`. */
export function alreadyRunningText({ pid, addresses }: RunningStart): string {
  const addressMap = new Map(addresses);
  if (addressMap.size === 0) {
    return `npm start is already starting here (process ${pid}); it prints its addresses when it is ready.`;
  }
  return `npm start is already running here (process ${pid}):

${formatTable([...addressMap])}

In a browser:

${formatTable(browserPages(addressMap))}

Its keys are in .data/keys. To stop it, press Ctrl-C there or run: kill ${pid}
`;
}

/** Returns the output after Ctrl-C. `dataFolder` is the embedded PostgreSQL's data folder. */
export function stoppedText(dataFolder: string | undefined): string {
  return `Stopped.${dataFolder === undefined ? "" : ` Your data is in ${shortPath(dirname(dataFolder))}`}`;
}

/** Returns a path relative to the current folder if the path is inside it. */
function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith("..") ? path : below;
}

export function welcome(
  { addresses, dataFolder, logFile, seeded: found, development, delivery }: StartSummary,
): string {
  const seeded = found !== undefined && "key" in found ? found : undefined;
  const rows: Row[] = [
    ...addresses,
    ...(development === undefined ? [] : [["mail catcher", development.url] as const]),
  ];
  if (dataFolder !== undefined) rows.push(["database", shortPath(dataFolder)]);
  if (seeded !== undefined) rows.push(["sandbox key", seeded.key], ["forms key", seeded.formsKey]);
  const missing = found !== undefined && "disabledSlug" in found
    ? disabledText(found)
    : `This database already has tenants, so none was added. To get a key for one of them:
  npm run -s ctl -- tenant list
  npm run -s ctl -- key issue TENANT --label LABEL

`;
  const pages = browserPages(new Map([...addresses, ["mail catcher", development?.url ?? ""]]))
    .filter(([, url]) => /^https?:/.test(url));
  return `
The Lead Intake Service is running.

${formatTable(rows)}

In a browser:

${formatTable(pages)}

${seeded === undefined ? missing : ""}Post a lead:

${leadCommand(addresses.get("intake") ?? "", seeded?.key ?? "<API_KEY>")}
${
    seeded === undefined
      ? ""
      : `\nOr submit a website's form:\n\n${formCommand(addresses.get("forms") ?? "", seeded)}\n`
  }
${deliveryText(delivery)}
${developmentText(addresses, development)}
${
    logFile === undefined
      ? ""
      : `The log is in ${shortPath(logFile)}; LOG=json prints it here instead.\n`
  }Press Ctrl-C to stop everything.
`;
}

function developmentText(
  addresses: ReadonlyMap<string, string>,
  development: Development | undefined,
): string {
  if (development === undefined) return "";
  const { url, seeded } = development;
  if ("disabledSlug" in seeded) return `\n${disabledText(seeded)}`;
  return `
To see the email and the webhook that a customer gets, post the lead with the key of the tenant "development". They are
caught on this machine: ${url}/

${formatTable([["development key", seeded.key], ["its forms key", seeded.formsKey]])}

${leadCommand(addresses.get("intake") ?? "", seeded.key)}
`;
}

function disabledText({ disabledSlug }: DisabledTenant): string {
  return `The tenant ${disabledSlug} is disabled, so it has no new key. To get one at the next start, run
  npm run -s ctl -- tenant enable ${disabledSlug}

`;
}

function deliveryText(delivery: StartSummary["delivery"]): string {
  if (delivery.kind === "none") {
    return `The lead is accepted but not delivered: ${delivery.reason}.`;
  }
  const where = delivery.kind === "own"
    ? "The lead is delivered a moment later; a sandbox's leads do not leave this machine."
    : `The lead is delivered to ${delivery.url} a moment later.`;
  return `${where}
To see it, use the event_id or submission_id of the response:

npm run -s ctl -- lead show EVENT_ID`;
}

function leadCommand(url: string, key: string): string {
  const lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567", project_area: "roof" };
  return curlCommand(`${url}/v1/intake`, key, lead);
}

function formCommand(url: string, { formsKey, formPath }: SeededKeys): string {
  return curlCommand(`${url}${formPath}`, formsKey, {
    name: "Grace Hopper",
    email: "grace@example.com",
    message: "Could you look at our roof next week?",
    page_url: "https://www.example.com/roofs?utm_source=newsletter",
  });
}

/** Returns a command to paste. Each start has a new Idempotency-Key, so that the first response is a 202. */
function curlCommand(url: string, key: string, body: object): string {
  // curl does not trust the development certificate.
  const insecure = url.startsWith("https:") ? " -k" : "";
  const headers = [
    `X-API-Key: ${key}`,
    "Content-Type: application/json",
    `Idempotency-Key: npm-start-${randomUUID()}`,
  ];
  return `curl -i${insecure} ${headers.map((header) => `-H '${header}'`).join(" ")} ` +
    `-d '${JSON.stringify(body)}' ${url}`;
}
