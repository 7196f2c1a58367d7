/** Builds sites from a real database and reads them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { buildSiteFrom } from "../../../scripts/build_site.ts";
import type { SiteUrls } from "../../../src/site/source.ts";
import { addArea, changeArea } from "../../../src/store/operator/vocabulary.ts";
import { type PlanEntry, putPlans } from "../../../src/store/operator/plans.ts";
import { openAdminPool } from "../../../src/store/operator/admin_pool.ts";
import type { Pool } from "../../../src/store/pool.ts";
import { atEnd } from "../at_end.ts";
import { createDatabase } from "../database.ts";
import { temporaryFolder } from "../folder.ts";

export const urls: SiteUrls = {
  site: "https://www.example.com",
  intake: "https://intake.example.com",
  forms: "https://forms.example.com",
  subscription: "https://plans.example.com",
};

/** A node of JSON-LD. */
export type JsonLdNode = {
  readonly "@id": string;
  readonly "@type": string;
  readonly [name: string]: unknown;
};

/** Returns a plan as an operator would add it. */
export function planEntry(plan: {
  readonly slug: string;
  readonly name: string;
  readonly customer: string;
  readonly amount_cents: number;
  readonly interval: PlanEntry["interval"];
  readonly items: readonly { readonly title: string; readonly detail: string }[];
  readonly [extra: string]: unknown;
}): PlanEntry {
  const { slug, name, customer, amount_cents: amountCents, interval } = plan;
  return { slug, name, customer, amountCents, interval, json: JSON.stringify(plan) };
}

export const gutterCare = planEntry({
  slug: "gutter-care",
  name: "Gutter care",
  customer: "acme-roofing",
  amount_cents: 2_900,
  interval: "month",
  items: [
    { title: "Two cleanings a year", detail: "Spring and fall, with photos" },
    { title: "Small repairs", detail: "Up to one hour each visit" },
  ],
  trial_days: 14,
  badges: ["popular"],
});

/** A database and the sites built from it. */
export class SiteTestEnv {
  readonly pool: Pool;
  /** The database's address. */
  readonly url: string;
  readonly #folder = temporaryFolder("site");

  private constructor(url: string) {
    this.url = url;
    this.pool = openAdminPool(url);
    atEnd(() => this.pool.close());
  }

  static async open(): Promise<SiteTestEnv> {
    return new SiteTestEnv((await createDatabase()).url);
  }

  async add(area: string, status: "confirmed" | "proposed" = "confirmed"): Promise<void> {
    await addArea(this.pool, { area, status });
  }

  async retire(area: string): Promise<void> {
    await changeArea(this.pool, { area, status: "confirmed" }, { status: "retired" });
  }

  async put(...plans: PlanEntry[]): Promise<void> {
    await putPlans(this.pool, plans);
  }

  /** Builds a site into a folder below the file's temporary one. */
  async build(name: string): Promise<BuiltSite> {
    const dir = join(this.#folder, name);
    await buildSiteFrom(this.url, { dir, urls, contact: null, isSold: false });
    return new BuiltSite(dir);
  }
}

/** The files of a built site. */
export class BuiltSite {
  readonly dir: string;
  /** Paths below the folder, sorted. */
  readonly paths: readonly string[];

  constructor(dir: string) {
    this.dir = dir;
    this.paths = readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1).replaceAll("\\", "/"))
      .sort();
  }

  bytes(path: string): Buffer {
    return readFileSync(join(this.dir, path));
  }

  text(path: string): string {
    return this.bytes(path).toString("utf8");
  }

  /** The HTML pages by their address; the 404 page is `/404.html`. */
  get pages(): ReadonlyMap<string, string> {
    return new Map(
      this.paths.filter((path) => path.endsWith(".html"))
        .map((path) => [`/${path.replace(/(^|\/)index\.html$/, "$1")}`, this.text(path)]),
    );
  }

  database(): DatabaseSync {
    return new DatabaseSync(join(this.dir, "assets/site.data"), { readOnly: true });
  }
}

/** Returns the JSON-LD nodes of a page. */
export function jsonLdOf(html: string): JsonLdNode[] {
  const scripts = [...html.matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/gs)];
  if (scripts.length !== 1) throw new Error(`${scripts.length} JSON-LD documents`);
  const { "@context": context, "@graph": graph } = JSON.parse(scripts[0]?.[1] ?? "");
  if (context !== "https://schema.org") throw new Error(`the context is ${context}`);
  return graph;
}
