/**
 * Generates the parts between `<!-- generated: NAME -->` and `<!-- end -->` in `README.md` and `docs/`. With
 * `--check`, it only compares them, and exits with status 1 if a page is outdated.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { actionsVariables } from "../src/settings/actions_variables.ts";
import { type ErrorRule, errors, formErrors } from "../src/contract/errors.ts";
import { formLimitRows, type LimitRow } from "../src/documents/guidance.ts";
import { type Cells, code, table } from "../src/documents/markdown.ts";
import { connectionsMax, pools } from "../src/service/pools.ts";
import { secretNames } from "../src/settings/secret_files.ts";
import { variables } from "../src/settings/variables.ts";
import { actionsDenoFlags, denoFlags } from "./deno_flags.ts";
import { webhookParts } from "./webhook_page.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

type Variables = Readonly<Record<string, { readonly default: string; readonly meaning: string }>>;

/** The headings for the service's settings; a setting belongs to the first heading whose pattern matches its name. */
const groups: readonly (readonly [heading: string, names: RegExp])[] = [
  ["Checkout", /^(CHECKOUT|STRIPE)_/],
  ["Delivery", /^(ACTIONS|DELIVERY)_/],
  ["Rate limits", /_(PER_MINUTE|BURST)$/],
  ["Connections", /^(TLS|TRUSTED|CONNECTIONS)_/],
  ["Addresses", /_(LISTEN|URL|DIR)$/],
];

function variableTable(rows: Variables): string {
  const name = (text: string) => `\`${text}\``;
  return table(
    ["Variable", "Default", "Meaning"],
    Object.entries(rows).map(([variable, rule]) => [
      name(variable),
      rule.default,
      secretNames.some((one) => one === variable)
        ? `${rule.meaning}; or its file, ${name(`${variable}_FILE`)}`
        : rule.meaning,
    ]),
  );
}

function serviceVariables(): string {
  const { DATABASE_URL, DATABASE_LISTEN_URL, SURFACES, ...rest } = variables;
  const grouped = Object.groupBy(
    Object.entries(rest),
    ([name]) => groups.find(([, names]) => names.test(name))?.[0] ?? "Other settings",
  );
  const headings = [...groups.map(([heading]) => heading).reverse(), "Other settings"];
  return [
    variableTable({ DATABASE_URL, DATABASE_LISTEN_URL, SURFACES }),
    ...headings.filter((heading) => grouped[heading] !== undefined).map((heading) =>
      `### ${heading}\n\n${variableTable(Object.fromEntries(grouped[heading] ?? []))}`
    ),
  ].join("\n\n");
}

function responseTable(accepted: readonly Cells[], rules: Readonly<Record<string, ErrorRule>>): string {
  const refused = Object.entries(rules).map(([name, { status, callerAction, retry }]) => [
    `${status} \`${name}\``,
    callerAction,
    retry,
  ]);
  return table(["Response", "What to do", "Retry"], [...accepted, ...refused]);
}

function denoCommand(flags: readonly string[], main: string): string {
  // The last flag lists the settings. It is as long as the other flags together, so it is on a line of its own.
  const [settings = "", ...others] = flags.toReversed();
  const first = `deno run ${others.toReversed().join(" ")}`;
  return code("sh", [first, settings.replace("=", "='") + "'", main].join(" \\\n  "));
}

const limitTable = (rows: readonly LimitRow[]) =>
  table(["Limit", "Value", "Notes"], rows.map((row) => [row.limit, row.value, row.notes]));

const parts: Readonly<Record<string, () => string>> = {
  ...webhookParts,
  "intake responses": () =>
    responseTable([
      ["202 `accepted`", "nothing; keep the `event_id`", "never"],
      [
        "200 `duplicate`",
        "as for 202: this lead was accepted before, and no second lead was created",
        "never",
      ],
    ], errors),
  "form responses": () =>
    responseTable([
      ["202 `accepted`", "thank the visitor; keep the `submission_id`", "never"],
      [
        "200 `duplicate`",
        "as for 202: this submission was accepted before; the response has its original ID and time",
        "never",
      ],
    ], formErrors),
  "form limits": () => limitTable(formLimitRows),
  "service variables": serviceVariables,
  "actions variables": () => variableTable(actionsVariables),
  "pools": () => {
    const rows = Object.entries(pools).map((
      [name, { connectionsMax, statementTimeoutMs, purpose }],
    ) => [`\`lead-intake ${name}\``, String(connectionsMax), `${statementTimeoutMs / 1_000} s`, purpose]);
    const listen = ["`lead-intake listen`", "1", "–", "receives notifications of other processes' commits"];
    const header = ["`application_name`", "At most", "Statement limit", "Purpose"];
    return `A service process opens up to ${connectionsMax} connections as it needs them. Just after an outage, up to ${connectionsMax} old connections may also still be open.\n\n` +
      table(header, [...rows, listen]);
  },
  "deno command": () => denoCommand(denoFlags(), "src/main.ts"),
  "deno command of the actions process": () => {
    const folder = { ACTIONS_SERVER_CERT_FILE: "/etc/lead-intake" };
    return denoCommand(actionsDenoFlags(folder), "src/actions/main.ts");
  },
  "deno unit": () => {
    const folders = {
      TLS_CERT_FILE: "/etc/lead-intake/tls",
      ACTIONS_CA_FILE: "/etc/lead-intake/actions-tls",
      SITE_DIR: "/var/lib/lead-intake/site",
      OPS_BACKUP_MARKS_DIR: "/var/lib/lead-backup",
    };
    return denoUnit(denoFlags({ ...underSystemd, ...folders }), "src/main.ts");
  },
  "deno unit of the actions process": () => {
    const flags = actionsDenoFlags({
      ...underSystemd,
      ACTIONS_SERVER_CERT_FILE: "/etc/lead-intake/actions-tls",
    });
    return denoUnit(flags, "src/actions/main.ts");
  },
};

/** The variables that systemd sets, with their values as specifiers for a unit file. */
const underSystemd = {
  NOTIFY_SOCKET: "%t/systemd/notify",
  CREDENTIALS_DIRECTORY: "%d",
  RUNTIME_DIRECTORY: "%t/%N",
};

/** Returns a systemd drop-in that runs a unit on Deno, as a Markdown code block. */
function denoUnit(flags: readonly string[], main: string): string {
  const command = ["ExecStart=/usr/local/bin/deno run", ...flags, main].join(" \\\n  ");
  return `\`\`\`ini\n[Service]\nEnvironment=DENO_DIR=%t/%N/deno\nExecStart=\n${command}\n\`\`\``;
}

/** Returns the page with its generated parts replaced, formatted by `deno fmt`. */
function generatedPage(path: string): string {
  const text = readFileSync(root + path, "utf8").replaceAll(
    /^(<!-- generated: (.+) -->\n)[^]*?(^<!-- end -->$)/gm,
    (_, start: string, name: string, end: string) => {
      const part = parts[name];
      if (part === undefined) throw new Error(`${path}: there is no generated part ${name}`);
      return `${start}\n${part()}\n\n${end}`;
    },
  );
  return execFileSync(`${root}node_modules/.bin/deno`, ["fmt", "--ext=md", "-"], {
    cwd: root,
    input: text,
    encoding: "utf8",
  });
}

const pages = [
  "README.md",
  ...readdirSync(`${root}docs`).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
];
const outdated = pages.filter((path) => generatedPage(path) !== readFileSync(root + path, "utf8"));
if (!process.argv.includes("--check")) {
  for (const path of outdated) writeFileSync(root + path, generatedPage(path));
} else if (outdated.length > 0) {
  console.error(`${outdated.join(", ")}: outdated; run: npx node scripts/build_docs.ts`);
  process.exitCode = 1;
}
