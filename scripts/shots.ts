/**
 * `node scripts/shots.ts`: takes screenshots of an `npm start` with data, one per page, width and color scheme, and saves
 * them in `build/shots`. Words select pages by name; `--readme` writes the README's pictures to `docs/pictures`.
 */

import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import postgres from "postgres";
import { navigation } from "#src/ops/console/router.ts";
import { startBrowser } from "../test/support/browser/browser.ts";
import { type Crowd, crowd } from "../test/support/console/crowd.ts";
import { start, welcome } from "../test/support/scripts/npm_start.ts";
import { startPostgres } from "./embedded_postgres.ts";

interface Shot {
  readonly name: string;
  readonly url: string;
  /** The picture's height in pixels. Default: the height of the whole page. */
  readonly height?: number;
}

const widths = [390, 768, 1280];
const schemes = ["light", "dark"] as const;
const readmeShots = ["console"];
const readmeWidth = 1280;

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "build/shots");
const words = process.argv.slice(2).filter((argument) => argument !== "--readme");
const isForReadme = process.argv.includes("--readme");

function selectShots(
  { dead, held, delivered, collision, returned, suspended }: Crowd,
  urls: Record<"intake" | "site" | "ops", string>,
) {
  const paths = {
    ...Object.fromEntries(navigation.map(({ path, name }) => [name.toLowerCase(), path])),
    overview: "/",
    month: "/?range=30d",
    lead_dead: `/leads/${dead}`,
    lead_delivered: `/leads/${delivered}`,
    lead_returned: `/leads/${returned}`,
    lead_sent: `/leads/${delivered}/sent`,
    submission_sent: `/leads/${held}/sent`,
    submission: `/leads/${held}`,
    statement: `/statement?tenant=acme&month=${new Date().toISOString().slice(0, 7)}`,
    collision: `/collisions/${collision}`,
    replay_all: "/dead/replay-all",
    tenant: "/tenants/acme",
    tenant_long: `/tenants/${suspended}`,
    nothing: "/held?tenant=mizrahi",
    wrong_id: "/leads/06617d20",
    audit_tenant: "/audit?tenant=acme",
    find: "/find?q=Maria",
    find_nothing: "/find?q=%28212%29+555-0199",
    filters: "/leads?last_name=415-555-0171",
  };
  const pages: Shot[] = [
    { name: "console", url: urls.ops, height: 604 },
    { name: "playground", url: `${urls.intake}/api`, height: 650 },
    { name: "site", url: urls.site, height: 800 },
    ...Object.entries(paths).map(([name, path]) => ({ name: `console_${name}`, url: urls.ops + path })),
  ];
  if (isForReadme) return pages.filter(({ name }) => readmeShots.includes(name));
  return pages.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
}

async function takeScreenshots(browser: Browser, { name, url, height }: Shot): Promise<void> {
  for (const colorScheme of schemes) {
    for (const width of isForReadme ? [readmeWidth] : widths) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: height ?? 800 } });
      const page = await context.newPage();
      await page.goto(url, { waitUntil: "networkidle" });
      const file = join(folder, `${name}_${width}_${colorScheme}.png`);
      await page.screenshot({ path: file, fullPage: height === undefined });
      await context.close();
      if (isForReadme) {
        copyFileSync(
          file,
          join(root, "docs/pictures", `${name}${colorScheme === "dark" ? "_dark" : ""}.png`),
        );
      }
      console.log(file.slice(root.length));
    }
  }
}

mkdirSync(folder, { recursive: true });
const server = await startPostgres();
const started = start(root, {
  DATABASE_URL: server.url,
  ACTIONS_DATABASE_URL: server.url,
  SITE_DIR: join(folder, "site"),
  INTAKE_IP_BURST: "1000",
  INTAKE_KEY_BURST: "1000",
});
const sql = postgres(server.url, { max: 4, onnotice: () => {} });
const browser = await startBrowser();
try {
  const { text, url } = await welcome(started);
  const address = (surface: string) => new RegExp(`^ {2}${surface} +(\\S+)$`, "m").exec(text)?.[1] ?? "";
  const urls = { intake: url, site: address("site"), ops: address("ops") };
  for (const shot of selectShots(await crowd(sql, url), urls)) await takeScreenshots(browser, shot);
} finally {
  await browser.close();
  await sql.end();
  started.child.kill("SIGTERM");
  await started.ended;
  await server.stop();
}
