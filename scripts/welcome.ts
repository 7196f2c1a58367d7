/** What `npm start` prints once everything runs: addresses, keys and commands to paste. */

import { randomUUID } from "node:crypto";
import { dirname, relative } from "node:path";
import type { RunningStart } from "./running.ts";
import type { Disabled, Seeded, SeedOutcome } from "./seed.ts";

/** The tenant whose mails and webhooks are caught. */
export interface Development {
  /** The catcher's page. */
  readonly url: string;
  readonly seeded: SeedOutcome;
}

/** What is running. */
export interface Started {
  /** URLs by surface. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Of the embedded PostgreSQL. */
  readonly dataFolder: string | undefined;
  /** `undefined` if the log is printed. */
  readonly logFile: string | undefined;
  /** `undefined` if the user's own database has tenants already. */
  readonly seeded: SeedOutcome | undefined;
  /** `undefined` without a catcher. */
  readonly development: Development | undefined;
  /** Where leads go, or why they wait. */
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

/** The pages to open in a browser. */
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

/** What a second `npm start` prints. */
export function alreadyRunning({ pid, addresses }: RunningStart): string {
  const where = new Map(addresses);
  if (where.size === 0) {
    return `npm start is already starting here (process ${pid}); it prints its addresses when it is ready.`;
  }
  return `npm start is already running here (process ${pid}):

${tableOf([...where])}

In a browser:

${tableOf(pagesOf(where))}

Its keys are in .data/keys. To stop it, press Ctrl-C there or run: kill ${pid}
`;
}

/** What is printed after Ctrl-C. `dataFolder` is the embedded PostgreSQL's. */
export function stopped(dataFolder: string | undefined): string {
  return `Stopped.${dataFolder === undefined ? "" : ` Your data is in ${shortPath(dirname(dataFolder))}`}`;
}

/** A path relative to the current folder if it is below it. */
function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith("..") ? path : below;
}

/** The whole text for the terminal. */
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
    : `This database already has tenants, so none was added. To get a key for one of them:
  npm run -s ctl -- tenant list
  npm run -s ctl -- key issue TENANT --label LABEL

`;
  const pages = pagesOf(new Map([...addresses, ["caught", development?.url ?? ""]]))
    .filter(([, url]) => /^https?:/.test(url));
  return `
The Lead Intake Service is running.

${tableOf(rows)}

In a browser:

${tableOf(pages)}

${seeded === undefined ? missing : ""}Post a lead:

${leadLine(addresses.get("intake") ?? "", seeded?.key ?? "<API_KEY>")}
${
    seeded === undefined
      ? ""
      : `\nOr submit a website's form:\n\n${formLine(addresses.get("forms") ?? "", seeded)}\n`
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
  if ("disabled" in seeded) return `\n${disabledText(seeded)}`;
  return `
To see the mail and the webhook that a customer gets, post the lead for the tenant "development" instead. They are caught
on this machine: ${url}/

${tableOf([["development key", seeded.key], ["its forms key", seeded.formsKey]])}

${leadLine(addresses.get("intake") ?? "", seeded.key)}
`;
}

function disabledText({ disabled }: Disabled): string {
  return `The tenant ${disabled} is disabled, so it has no new key. To get one at the next start, run
  npm run -s ctl -- tenant enable ${disabled}

`;
}

function deliveryText(delivery: Started["delivery"]): string {
  if (delivery.kind === "none") {
    return `It is accepted and waits, because nothing delivers it: ${delivery.reason}.`;
  }
  const where = delivery.kind === "own"
    ? "It is delivered a moment later; a sandbox's leads do not leave this machine."
    : `It is delivered to ${delivery.url} a moment later.`;
  return `${where}
To see it, use the event_id or submission_id of the response:

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

/** One line to paste. Each start has a new Idempotency-Key, so that the first response is a 202. */
function curlLine(url: string, key: string, body: object): string {
  // curl seldom trusts a local certificate.
  const insecure = url.startsWith("https:") ? " -k" : "";
  const headers = [
    `X-API-Key: ${key}`,
    "Content-Type: application/json",
    `Idempotency-Key: npm-start-${randomUUID()}`,
  ];
  return `curl -i${insecure} ${headers.map((header) => `-H '${header}'`).join(" ")} ` +
    `-d '${JSON.stringify(body)}' ${url}`;
}
