/**
 * Generates the parts between `<!-- generated: NAME -->` and `<!-- end -->` in `README.md` and `docs/`. `--check` only
 * compares: exit status 1 if a page is outdated.
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
import { actionsDenoFlags, denoFlags } from "../src/settings/deno_flags.ts";
import { webhookParts } from "./webhook_page.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

type Variables = Readonly<Record<string, { readonly default: string; readonly meaning: string }>>;

/** The headings of the service's settings; a setting belongs to the first one that its name matches. */
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
    ([name]) => groups.find(([, names]) => names.test(name))?.[0] ?? "Others",
  );
  const headings = [...groups.map(([heading]) => heading).reverse(), "Others"];
  return [
    variableTable({ DATABASE_URL, DATABASE_LISTEN_URL, SURFACES }),
    ...headings.filter((heading) => grouped[heading] !== undefined).map((heading) =>
      `### ${heading}\n\n${variableTable(Object.fromEntries(grouped[heading] ?? []))}`
    ),
  ].join("\n\n");
}

function answers(accepted: readonly Cells[], rules: Readonly<Record<string, ErrorRule>>): string {
  const refused = Object.entries(rules).map(([name, { status, callerAction, retry }]) => [
    `${status} \`${name}\``,
    callerAction,
    retry,
  ]);
  return table(["Answer", "Do", "Retry"], [...accepted, ...refused]);
}

function denoCommand(flags: readonly string[], main: string): string {
  // The last page lists the settings and is as long as the others together.
  const [settings = "", ...others] = flags.toReversed();
  const first = `deno run ${others.toReversed().join(" ")}`;
  return code("sh", [first, settings.replace("=", "='") + "'", main].join(" \\\n  "));
}

const limitTable = (rows: readonly LimitRow[]) =>
  table(["Limit", "Value", "About"], rows.map((row) => [row.limit, row.value, row.appliesTo]));

/** The generated parts by name. */
const parts: Readonly<Record<string, () => string>> = {
  ...webhookParts,
  "intake answers": () =>
    answers([
      ["202 `accepted`", "nothing; keep the `event_id`", "never"],
      ["200 `duplicate`", "as for 202: this lead was accepted before, and no second one was made", "never"],
    ], errors),
  "form answers": () =>
    answers([
      ["202 `accepted`", "thank the visitor; keep the `submission_id`", "never"],
      ["200 `duplicate`", "as for 202: the same submission again, with the first one's id and time", "never"],
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
    return `A service process opens at most ${connectionsMax} connections, as it needs them. Just after an outage, as many old ones may still be open.\n\n` +
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

/** A unit's settings, from its file. */
const underSystemd = {
  ...{ NOTIFY_SOCKET: "%t/systemd/notify", CREDENTIALS_DIRECTORY: "%d", RUNTIME_DIRECTORY: "%t/%N" },
};

/** A drop-in that runs a unit on Deno; long lines are continued with a backslash. */
function denoUnit(flags: readonly string[], main: string): string {
  const command = ["ExecStart=/usr/local/bin/deno run", ...flags, main].join(" \\\n  ");
  return `\`\`\`ini\n[Service]\nEnvironment=DENO_DIR=%t/%N/deno\nExecStart=\n${command}\n\`\`\``;
}

/** Regenerates a page's parts, formatted. */
function made(path: string): string {
  const text = readFileSync(root + path, "utf8").replaceAll(
    /^(<!-- generated: (.+) -->\n)[^]*?(^<!-- end -->$)/gm,
    (_, start: string, name: string, end: string) => {
      const part = parts[name];
      if (part === undefined) throw new Error(`${path}: nothing is called ${name}`);
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
const stale = pages.filter((path) => made(path) !== readFileSync(root + path, "utf8"));
if (!process.argv.includes("--check")) { for (const path of stale) writeFileSync(root + path, made(path)); }
else if (stale.length > 0) {
  console.error(`${stale.join(", ")}: not what the sources make; run: npx node scripts/build_docs.ts`);
  process.exitCode = 1;
}
