/** A service with its actions process and every kind of destination, and visits to every surface for operators. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pagePatterns } from "../../src/ops/console/router.ts";
import type { Fixture } from "./actions/fixture.ts";
import { ConsoleStage } from "./console/stage.ts";
import { setRecipe } from "./crm/recipe_route.ts";
import { temporaryFolder } from "./folder.ts";
import { ctl, runCtl } from "./server.ts";
import type { IssuedKey, TestForm } from "./test_env.ts";

/** A tenant with a key for leads and a form with its key. */
export interface Target {
  readonly leads: IssuedKey;
  readonly forms: IssuedKey;
  readonly form: TestForm;
}

/** A recipe that sends all that it knows. */
const recipe = {
  title: "Everything",
  settings: { token: { secret: true, about: "the token" }, base_url: { about: "the address" } },
  auth: { kind: "bearer", token: "token" },
  steps: [{
    name: "post",
    method: "POST",
    url: "settings.base_url & '/recipe'",
    json: "{ 'id': event_id, 'lead': lead, 'submission': submission, 'extra': extra, 'person': person," +
      " 'attribution': attribution, 'summary': summary, 'text': $string(extra) }",
  }],
};

/** The stage, and its two tenants: the first has a webhook, email and Slack, the second a CRM recipe. */
export interface HostileStage {
  readonly stage: ConsoleStage;
  readonly fixture: Fixture;
  readonly targets: readonly Target[];
  readonly on: { readonly databaseUrl: string };
}

/** Starts the service and its actions process, as {@linkcode ConsoleStage.openWithActions}. */
export async function openHostileStage(
  ...options: Parameters<typeof ConsoleStage.openWithActions>
): Promise<HostileStage> {
  const { stage, fixture } = await ConsoleStage.openWithActions(...options);
  const { testEnv } = stage;
  const on = { databaseUrl: testEnv.database.url };
  const targets: Target[] = [];
  for (const threshold of [1_000, 1]) {
    const { form, key: forms } = await testEnv.formWithKey({ threshold });
    const campaignId = await testEnv.campaign(form.tenant);
    targets.push({ form, forms, leads: await testEnv.issue({ tenant: form.tenant, campaignId }) });
  }
  const [first, second] = targets.map(({ form }) => form.tenant.slug) as [string, string];
  await ctl([
    "tenant",
    "route",
    first,
    "--crm-url",
    fixture.crmUrl("/webhook"),
    "--email",
    "sales@acme.example",
    "--slack-url",
    fixture.crmUrl("/slack"),
  ], on);
  const file = join(temporaryFolder("recipe"), "everything.json");
  writeFileSync(file, JSON.stringify(recipe));
  await setRecipe(on.databaseUrl, second, {
    crm: file,
    set: { base_url: fixture.crmUrl("") },
    secrets: { token: "a-secret-token-0123456789" },
  });
  return { stage, fixture, targets, on };
}

/** What a page links to, on the same listener. */
function links(page: string): string[] {
  return [...page.matchAll(/ href="(\/[^"#]*)/g)].map(([, href = ""]) => href.replaceAll("&amp;", "&"));
}

/** How many queries of a page are opened; its links to sort and filter would otherwise multiply. */
const queriesMax = 12;

/**
 * Follows every link from the console's overview and the paths in `from`, at most `perPage` different paths of each page;
 * fails unless every page answers 200. Returns the pages that no link reached.
 */
export async function visitConsole(
  stage: ConsoleStage,
  { perPage, from = [] }: { readonly perPage: number; readonly from?: readonly string[] },
): Promise<string[]> {
  const opened = new Map<string, number>();
  const count = (name: string) => {
    const next = (opened.get(name) ?? 0) + 1;
    opened.set(name, next);
    return next;
  };
  const seen = new Set<string>();
  const queue = ["/", ...from];
  const faults: string[] = [];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const [pathname = ""] = path.split("?");
    const pattern = pagePatterns.find((one) =>
      new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname)
    );
    const isNew = !seen.has(path);
    seen.add(path);
    if (!isNew || (pattern === undefined && !pathname.startsWith("/v1/"))) continue;
    if (count(`${pathname} with any query`) > queriesMax) continue;
    if (pattern !== undefined && pattern !== pathname && count(`${pattern} of any id`) > perPage) continue;
    const { status, text, headers } = await stage.get(path);
    if (status !== 200) faults.push(`${path} answers ${status}`);
    if (pattern !== undefined) count(pattern);
    if (headers["content-type"]?.startsWith("text/html")) queue.push(...links(text));
  }
  assert.deepEqual(faults, []);
  return pagePatterns.filter((pattern) => !opened.has(pattern));
}

/** Returns the command line of every command that lists rows, from the program's help. */
export async function listCommands(on: HostileStage["on"]): Promise<string[][]> {
  const { stdout } = await runCtl(["--help"], on);
  const all = [...stdout.matchAll(/^ {2}ctl ([a-z -]+?) {2}/gm)].map(([, words = ""]) => words.split(" "));
  const lists = all.filter((words) => /^(list|held|unknown|verify)$/.test(words.at(-1) ?? ""));
  return await Promise.all(lists.map(async (words) => {
    const help = await runCtl([...words, "--help"], on);
    return help.stdout.includes("[--limit N]") ? [...words, "--limit", "1000"] : words;
  }));
}
