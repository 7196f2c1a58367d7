/**
 * `npm run site:build`: builds the site into `SITE_DIR` from the Markdown in `src/site/pages/`, the contract, and the
 * database's vocabulary and plans.
 */

import process from "node:process";
import { pathToFileURL } from "node:url";
import { isContact } from "../src/contract/contact.ts";
import { ConfigError } from "../src/settings/reader.ts";
import { databaseUrlError } from "../src/store/address.ts";
import { buildSite, isCompressing, writeSite } from "../src/site/build.ts";
import { readPageSources, type SiteUrls } from "../src/site/source.ts";
import { openAdminPool } from "../src/store/operator/admin_pool.ts";
import { describeStoreFailure, unambiguousStoreFailure } from "../src/store/failure.ts";
import { readPlans } from "../src/store/serving/plans.ts";
import { listAreasInForce } from "../src/store/operator/vocabulary.ts";
import { variables } from "../src/settings/variables.ts";
import { findDatabaseUrl } from "./running.ts";
import { runCommand } from "./run_command.ts";

const usage = `Usage: npm run site:build

Builds the site and replaces the one in SITE_DIR (${variables.SITE_DIR.default}).
It reads the vocabulary and the plans from the database in DATABASE_URL, or from that of the running npm start.
The pages link to SITE_URL, INTAKE_URL, FORMS_URL and SUBSCRIPTION_URL, and tell partners to ask CONTACT_EMAIL for a
key. If STRIPE_SECRET_KEY is set, each plan has a link to buy it.`;

/** The site's folder, and the values in its pages. */
export interface SiteSettings {
  readonly dir: string;
  readonly urls: SiteUrls;
  /** The email address where partners ask for a key. */
  readonly contact: string | null;
  /** Whether plans can be bought. */
  readonly isSold: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings that the site shares with the service. An unset URL defaults to the listener's URL, from `addresses`
 * or else from the listener's setting.
 *
 * @throws {ConfigError} that lists every invalid setting
 */
export function siteSettings(
  environment: Environment,
  addresses: ReadonlyMap<string, string> = new Map(),
): SiteSettings {
  const faults: string[] = [];
  const scheme = environment.TLS_CERT_FILE?.trim() ? "https" : "http";
  const url = (surface: "site" | "intake" | "forms" | "subscription") => {
    const prefix = surface.toUpperCase() as Uppercase<typeof surface>;
    const given = environment[`${prefix}_URL`]?.trim();
    if (given) {
      if (!isBaseUrl(given)) {
        faults.push(`${prefix}_URL is not a base URL such as https://${surface}.example.com`);
      }
      return given.replace(/\/+$/, "");
    }
    const listen = environment[`${prefix}_LISTEN`]?.trim() || variables[`${prefix}_LISTEN`].default;
    return addresses.get(surface) ?? `${scheme}://${listen}`;
  };
  const urls = {
    site: url("site"),
    intake: url("intake"),
    forms: url("forms"),
    subscription: url("subscription"),
  };
  const contact = environment.CONTACT_EMAIL?.trim() || null;
  if (contact !== null && !isContact(contact)) {
    faults.push("CONTACT_EMAIL is not an email address such as partners@example.com");
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const isSold = Boolean(environment.STRIPE_SECRET_KEY?.trim() || environment.STRIPE_SECRET_KEY_FILE?.trim());
  return { dir: environment.SITE_DIR?.trim() || variables.SITE_DIR.default, urls, contact, isSold };
}

function isBaseUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}

/** Builds the site from a database into `settings.dir`, and returns the number of files. */
export async function buildSiteFrom(databaseUrl: string, settings: SiteSettings): Promise<number> {
  const pool = openAdminPool(databaseUrl);
  try {
    const [areas, plans] = [await listAreasInForce(pool), await readPlans(pool)];
    const { dir, ...rest } = settings;
    const files = buildSite({ sources: readPageSources(), areas, plans, ...rest });
    writeSite(dir, files);
    return files.size;
  } finally {
    await pool.close();
  }
}

/** Returns a message that explains a failed build and contains no password. */
export function explainBuild(error: unknown, databaseUrl: string): string {
  const fault = databaseUrlError(databaseUrl);
  if (fault !== null) return `DATABASE_URL ${fault}`;
  const failure = unambiguousStoreFailure(error);
  if (failure === null) return error instanceof Error ? error.message : String(error);
  return `${describeStoreFailure(failure, { databaseUrl, name: "DATABASE_URL" })}; the site is unchanged`;
}

async function run(): Promise<void> {
  const settings = siteSettings(process.env);
  const databaseUrl = findDatabaseUrl();
  let count: number;
  try {
    count = await buildSiteFrom(databaseUrl, settings);
  } catch (error) {
    throw new Error(explainBuild(error, databaseUrl), { cause: error });
  }
  console.log(`Built ${count} files in ${settings.dir} for ${settings.urls.site}`);
  if (!isCompressing) console.log("The files are not compressed: build with Node for the .br and .gz files");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runCommand(usage, run);
