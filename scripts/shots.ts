/**
 * `npm run shots`: pictures of the pages as a browser shows them, in every width and colour scheme, into `build/shots`. The service is an `npm start` with a database of its own, and has a
 * plausible hour behind it; then it is filled with everything that an operator meets, for all pages of the console.
 *
 * `npm run shots -- console` takes the pictures of the pages with `console` in their name, and `npm run shots -- --readme`
 * puts those that the README shows into `docs/pictures`.
 *
 * @module
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import postgres from "postgres";
import { navigation } from "#src/ops/console/router.ts";
import { startBrowser } from "../test/support/browser/browser.ts";
import { type Crowd, crowd } from "../test/support/console/crowd.ts";
import { onDeno, onNode, start, welcome } from "../test/support/scripts/npm_start.ts";
import { startPostgres } from "./embedded_postgres.ts";

/** A page of the running service. */
interface Shown {
  readonly name: string;
  /** The listener that serves it. */
  readonly surface: "intake" | "site" | "ops";
  readonly path: string;
  /** Of the picture, where it is not {@linkcode usualHeight}. */
  readonly height?: number;
  /** From the top to the end, however long. */
  readonly isWhole?: boolean;
  /** What a person has done there before. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const pages: readonly Shown[] = [
  { name: "console", surface: "ops", path: "/", height: 604 },
  { name: "playground", surface: "intake", path: "/api", height: 650 },
  { name: "site", surface: "site", path: "/" },
];

/** The console's pages when there is much on them, each from its top to its end. */
function crowdedPages({ dead, held, delivered, collision }: Crowd): Shown[] {
  const paths = {
    ...Object.fromEntries(navigation.map(({ path, name }) => [name.toLowerCase(), path])),
    overview: "/",
    day: "/?range=24h",
    week: "/?range=7d",
    month: "/?range=30d",
    lead_dead: `/leads/${dead}`,
    lead_delivered: `/leads/${delivered}`,
    submission: `/leads/${held}`,
    collision: `/collisions/${collision}`,
    replay_all: "/dead/replay-all",
    refused: "/leads?since=yesterday",
    nothing: "/held?tenant=mizrahi",
  };
  return Object.entries(paths).map(([name, path]) => ({
    name: `console_${name}`,
    surface: "ops",
    path,
    isWhole: true,
  }));
}

const widths = [390, 768, 1280];
const schemes = ["light", "dark"] as const;
/** The pictures that the README shows. */
const shownInReadme = ["console", "playground"];
const readmeWidth = 1280;
const forReadme = "--readme";
const usualHeight = 800;

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "build/shots");
const pictures = join(root, "docs/pictures");

type Addresses = Readonly<Record<Shown["surface"], string>>;

async function main(args: readonly string[]): Promise<number> {
  const words = args.filter((argument) => argument !== forReadme);
  const isChosen = ({ name }: Shown) => words.length === 0 || words.some((word) => name.includes(word));
  const chosen = pages.filter(isChosen);
  await withService(async (service) => {
    const browser = await startBrowser();
    try {
      for (const shown of chosen) await take(browser, shown, service.addresses);
      if (args.includes(forReadme)) return;
      for (const shown of crowdedPages(await service.crowd()).filter(isChosen)) {
        await take(browser, shown, service.addresses);
      }
    } finally {
      await browser.close();
    }
  });
  return 0;
}

async function take(browser: Browser, shown: Shown, addresses: Addresses): Promise<void> {
  const { name, surface, path, height = usualHeight, isWhole = false, prepare } = shown;
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of schemes) {
    for (const width of widths) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height } });
      const page = await context.newPage();
      await page.goto(addresses[surface] + path, { waitUntil: "networkidle" });
      await prepare?.(page);
      const file = join(folder, `${name}_${width}_${colorScheme}.png`);
      await page.screenshot({ path: file, fullPage: isWhole });
      await context.close();
      if (process.argv.includes(forReadme) && width === readmeWidth && shownInReadme.includes(name)) {
        copyFileSync(file, join(pictures, `${name}${colorScheme === "dark" ? "_dark" : ""}.png`));
      }
      console.log(file.slice(root.length));
    }
  }
}

interface Service {
  readonly addresses: Addresses;
  /** Fills it with everything that an operator meets. */
  crowd(): Promise<Crowd>;
}

async function withService(work: (service: Service) => Promise<void>): Promise<void> {
  const site = mkdtempSync(join(tmpdir(), "lead-intake-shots-"));
  const server = await startPostgres();
  const started = start(root, {
    DATABASE_URL: server.url,
    ACTIONS_DATABASE_URL: server.url,
    SITE_DIR: site,
    INTAKE_IP_BURST: "1000",
    INTAKE_KEY_BURST: "1000",
  }, process.versions.deno === undefined ? onNode : onDeno);
  try {
    const told = await welcome(started);
    const address = (surface: string) =>
      new RegExp(`^ {2}${surface} +(\\S+)$`, "m").exec(told.text)?.[1] ?? "";
    await fill(server.url, {
      intake: told.url,
      forms: address("forms"),
      key: told.key,
      formsKey: told.formsKey,
    });
    await work({
      addresses: { intake: told.url, site: address("site"), ops: address("ops") },
      crowd: () => withSql(server.url, (sql) => crowd(sql, told.url)),
    });
  } finally {
    started.child.kill("SIGTERM");
    await started.ended;
    await server.stop();
    rmSync(site, { recursive: true, force: true });
  }
}

interface Door {
  readonly intake: string;
  readonly forms: string;
  readonly key: string | undefined;
  readonly formsKey: string | undefined;
}

const people = [
  "Ada Lovelace",
  "Grace Hopper",
  "Katherine Johnson",
  "Mary Jackson",
  "Annie Easley",
  "Hedy Lamarr",
];
const areas = ["kitchen", "roof", "bathroom", "deck", "windows", "sauna"];

/** Posts a few leads and forms, one of them spam, and gives the plots an hour. */
async function fill(databaseUrl: string, { intake, forms, key, formsKey }: Door): Promise<void> {
  for (const [index, person] of people.entries()) {
    const [first_name, last_name] = person.split(" ");
    const lead = {
      first_name,
      last_name,
      phone: `(503) 555-01${index}0`,
      project_area: areas[index],
      zip: "97201",
    };
    await postJson(`${intake}/v1/intake`, key, lead);
    const form = {
      name: person,
      email: `${first_name?.toLowerCase()}@example.com`,
      message: "Could you call me about our roof?",
    };
    await postJson(
      `${forms}/v1/forms/sandbox/contact`,
      formsKey,
      index === 0 ? { ...form, website: "https://seo.example" } : form,
    );
  }
  const thisMinute = Math.floor(Date.now() / 60_000);
  const samples = Array.from({ length: 59 }, (_, index) => {
    const accepted = Math.round(24 + 8 * Math.sin(index / 9) + (index * 37) % 7);
    const at = new Date((thisMinute - index - 1) * 60_000);
    const delivered = index % 5 === 0 ? accepted - 3 : accepted;
    const refused = index % 17 === 0 ? 2 : 0;
    const refusals: Readonly<Record<string, number>> = refused === 0 ? {} : { validation_failed: refused };
    return { at, accepted, delivered, refused, refusals };
  });
  const same = { node: "shots", failed: 0, pending: 0, dead: 0, oldest_pending_s: 0, breaker: "closed" };
  await withSql(
    databaseUrl,
    (sql) =>
      sql`insert into minute_sample ${
        sql(samples.map(({ refusals, ...sample }) => ({ ...same, ...sample, refusals: sql.json(refusals) })))
      }`,
  );
}

async function withSql<T>(databaseUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

async function postJson(url: string, key: string | undefined, body: object): Promise<void> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "X-API-Key": key ?? "", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status !== 202) throw new Error(`${url} answered ${answer.status}`);
}

process.exitCode = await main(process.argv.slice(2));
