/**
 * Reads the site's Markdown sources from `src/site/pages/`.
 *
 * A source starts with front matter: lines of `key: value` between two lines of `---`, without nesting. The front matter is
 * also valid YAML, so a value that contains a colon and a space is a JSON string. `title`, `description` and `category` are
 * required.
 *
 * | Key           | Meaning                                                                     |
 * | ------------- | --------------------------------------------------------------------------- |
 * | `title`       | the page's title and `h1`                                                   |
 * | `nav`         | a shorter name for menus and breadcrumbs; default: the title                |
 * | `description` | one sentence for search engines and `llms.txt`                              |
 * | `category`    | the id of a category in `categories.ts`                                     |
 * | `updated`     | the date of the last substantial change, such as `2026-11-20`               |
 * | `order`       | the page's position within its category; default: after those that have one |
 * | `kind`        | the kind of page, for its graph: see {@linkcode PageKind}                   |
 * | `parent`      | the path of the parent in the breadcrumbs; default: the parent folder's     |
 * | `area`        | the term of `project_area` that the page describes                          |
 * | `service`     | the value of `project_service` that the page describes                      |
 * | `synonyms`    | a comma-separated list of words that callers use for the term               |
 */

import type { Plan } from "../store/serving/plans.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The kinds of pages. Each has a builder in `graph_nodes.ts`. */
const pageKinds = [
  "home",
  "article",
  "api",
  "forms",
  "envelope",
  "responses",
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

export type PageKind = typeof pageKinds[number];

export interface PageSource {
  /** The page's path, such as `/areas/roof/`, or `/404.html`. */
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
  /** The Markdown after the front matter, with facts such as `{{key rate}}`. */
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

const pagesFolder = fileURLToPath(new URL("pages", import.meta.url));

/** Reads every source in a folder and its subfolders, sorted by path. */
export function readPageSources(folder: string = pagesFolder): PageSource[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => parsePageSource(file, readFileSync(join(folder, file), "utf8")))
    .sort((a, b) => a.path < b.path ? -1 : 1);
}

/**
 * Parses a source. `file` is its path relative to the folder.
 *
 * @throws {Error} that names the file if the front matter is invalid
 */
export function parsePageSource(file: string, text: string): PageSource {
  const fault = (what: string) => new Error(`${file}: ${what}`);
  const match = /^---\n([\s\S]*?\n)---\n([\s\S]*)$/.exec(text.replaceAll("\r\n", "\n"));
  if (match === null) throw fault("the front matter is missing");
  const values = new Map<string, string>();
  for (const line of (match[1] as string).trimEnd().split("\n")) {
    const [, key = "", value = ""] = /^([a-z]+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (!(keys as readonly string[]).includes(key)) throw fault(`the front matter has the line ${line}`);
    if (values.has(key)) throw fault(`the front matter has ${key} twice`);
    values.set(key, value.startsWith('"') ? JSON.parse(value) : value);
  }
  const required = (key: typeof keys[number]) => {
    const value = values.get(key) ?? "";
    if (value === "") throw fault(`the front matter has no ${key}`);
    return value;
  };
  const kind = values.get("kind") ?? "article";
  if (!(pageKinds as readonly string[]).includes(kind)) throw fault(`the kind ${kind} does not exist`);
  const updated = values.get("updated") ?? null;
  if (updated !== null && !/^\d{4}-\d\d-\d\d$/.test(updated)) {
    throw fault(`updated is not a date: ${updated}`);
  }
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

/** Maps `areas/roof.md` to `/areas/roof/` and `intake/index.md` to `/intake/`; `404.md` maps to `/404.html`. */
function pathOfFile(file: string): string {
  if (file === "404.md") return "/404.html";
  const path = file.replace(/\.md$/, "").replace(/(^|\/)index$/, "");
  return path === "" ? "/" : `/${path.replace(/\/$/, "")}/`;
}

/** A term of `project_area` that is not retired. */
interface SiteArea {
  readonly area: string;
  readonly status: "confirmed" | "proposed";
}

/** The public base URLs, without a trailing slash. */
export interface SiteUrls {
  readonly site: string;
  readonly intake: string;
  readonly forms: string;
  readonly subscription: string;
}

/** The input of a build. The same content produces the same bytes. */
export interface SiteContent {
  readonly sources: readonly PageSource[];
  readonly areas: readonly SiteArea[];
  readonly plans: readonly Plan[];
  readonly urls: SiteUrls;
  /** The email address from which partners can request a key; if omitted, pages name none. */
  readonly contact?: string | null;
  /** Whether plans can be bought at the subscription host. */
  readonly isSold?: boolean;
}

/** An area with the path of its page. */
export interface AreaPage extends SiteArea {
  readonly path: string;
  readonly synonyms: readonly string[];
  readonly category: string;
}
