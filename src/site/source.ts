/**
 * The Markdown sources of the site, as they stand in `src/site/pages/`.
 *
 * A source opens with front matter: lines of `key: value` between two lines of `---`, nothing nested. It is YAML too, so a
 * value with a colon and a space in it stands in double quotes, with the escapes of JSON. `title`, `description` and `category` are required; a list is separated by commas.
 *
 * | Key           | What                                                                                  |
 * | ------------- | ------------------------------------------------------------------------------------- |
 * | `title`       | the page's name, its `h1`                                                             |
 * | `nav`         | a shorter name for menus and breadcrumbs; left out: the title                         |
 * | `description` | one sentence for search engines and for `llms.txt`                                    |
 * | `category`    | its place in the tree of `categories.ts`                                              |
 * | `updated`     | the day of the last change of substance, `2026-11-20`; there is no clock in the build |
 * | `order`       | a number that orders the pages of one category; left out: after those that have one   |
 * | `kind`        | what the page is about, for its graph: see {@linkcode PageKind}                       |
 * | `parent`      | the address of the page above it in the breadcrumbs; left out: that of the folder above  |
 * | `area`        | the term of `project_area` that the page explains                                     |
 * | `service`     | the value of `project_service` that the page explains                                 |
 * | `synonyms`    | a list: what callers write for that term                                              |
 */

import type { Plan } from "../store/serving/plans.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a page is about. Each kind has a builder in `graph.ts`. */
const pageKinds = [
  "home",
  "article",
  "api",
  "forms",
  "envelope",
  "answers",
  "plans",
  "vocabulary",
  "areas",
  "area",
  "services",
  "service",
  "kits",
  "glossary",
  "faq",
  "data",
  "unlisted",
] as const;

/** See {@linkcode pageKinds}. */
export type PageKind = typeof pageKinds[number];

/** One source. */
export interface PageSource {
  /** The page's address below the site's, with a slash at both ends. */
  readonly path: string;
  readonly title: string;
  readonly nav: string;
  readonly description: string;
  readonly category: string;
  readonly updated: string | null;
  readonly order: number;
  readonly kind: PageKind;
  readonly parent: string | null;
  readonly area: string | null;
  readonly service: string | null;
  readonly synonyms: readonly string[];
  /** Markdown with `{{facts}}`, without the front matter. */
  readonly body: string;
}

const keys = [
  "title",
  "nav",
  "description",
  "category",
  "updated",
  "order",
  "kind",
  "parent",
  "area",
  "service",
  "synonyms",
] as const;

/** Where the sources are. */
const pagesFolder = fileURLToPath(new URL("pages", import.meta.url));

/** Reads every source below a folder, in the order of their addresses. */
export function readPageSources(folder: string = pagesFolder): PageSource[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => parsePageSource(file, readFileSync(join(folder, file), "utf8")))
    .sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Takes one source apart. `file` is its path below the folder.
 *
 * @throws {Error} naming the file, when the front matter is not as described above
 */
export function parsePageSource(file: string, text: string): PageSource {
  const wrong = (what: string) => new Error(`${file}: ${what}`);
  const match = /^---\n([\s\S]*?\n)---\n([\s\S]*)$/.exec(text.replaceAll("\r\n", "\n"));
  if (match === null) throw wrong("there is no front matter");
  const values = new Map<string, string>();
  for (const line of (match[1] as string).trimEnd().split("\n")) {
    const [, key = "", value = ""] = /^([a-z]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (!(keys as readonly string[]).includes(key)) throw wrong(`the front matter has the line ${line}`);
    if (values.has(key)) throw wrong(`${key} stands twice in the front matter`);
    values.set(key, value.startsWith('"') ? JSON.parse(value) : value);
  }
  const required = (key: typeof keys[number]) => {
    const value = values.get(key) ?? "";
    if (value === "") throw wrong(`the front matter has no ${key}`);
    return value;
  };
  const kind = values.get("kind") ?? "article";
  if (!(pageKinds as readonly string[]).includes(kind)) throw wrong(`there is no kind ${kind}`);
  const updated = values.get("updated") ?? null;
  if (updated !== null && !/^\d{4}-\d\d-\d\d$/.test(updated)) throw wrong(`updated is no day: ${updated}`);
  return {
    path: pathOfFile(file),
    title: required("title"),
    nav: values.get("nav") ?? required("title"),
    description: required("description"),
    category: required("category"),
    updated,
    order: Number(values.get("order") ?? 1_000),
    kind: kind as PageKind,
    parent: values.get("parent") ?? null,
    area: values.get("area") ?? null,
    service: values.get("service") ?? null,
    synonyms: (values.get("synonyms") ?? "").split(",").map((one) => one.trim()).filter((one) => one !== ""),
    body: (match[2] as string).trim(),
  };
}

/** `areas/roof.md` is `/areas/roof/`, `intake/index.md` is `/intake/`; `404.md` stays a file. */
function pathOfFile(file: string): string {
  if (file === "404.md") return "/404.html";
  const path = file.replace(/\.md$/, "").replace(/(^|\/)index$/, "");
  return path === "" ? "/" : `/${path.replace(/\/$/, "")}/`;
}

/** A term of `project_area` that is in force. */
interface SiteArea {
  readonly area: string;
  readonly status: "confirmed" | "proposed";
}

/** The public base addresses, without a slash at the end. */
export interface SiteUrls {
  readonly site: string;
  readonly intake: string;
  readonly forms: string;
  readonly subscription: string;
}

/** Everything that a build depends on. Equal content makes equal bytes. */
export interface SiteContent {
  readonly sources: readonly PageSource[];
  readonly areas: readonly SiteArea[];
  readonly plans: readonly Plan[];
  readonly urls: SiteUrls;
  /** Whom partners write to about a key; left out: nobody is named. */
  readonly contact?: string | null;
  /** Plans can be bought at the subscription's address. */
  readonly isSold?: boolean;
}

/** An area with the page that explains it. */
export interface AreaPage extends SiteArea {
  readonly path: string;
  readonly synonyms: readonly string[];
  readonly category: string;
}
