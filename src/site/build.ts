/**
 * Builds the site: content in, files out, and puts them where they are served from. The build asks neither for the time
 * nor for chance or the order of a folder, so that the same content makes the same bytes.
 */

import copyButtons from "../documents/copy_buttons.json" with { type: "json" };
import { baseStyle } from "../http/base_style.ts";
import { assemble, checkPages, type Site, type SitePage } from "./assemble.ts";
import { categories } from "./categories.ts";
import { byBytes, type PageGraph, rowsOf, sharedNodes, siteGraph, trail } from "./graph.ts";
import { siteLanguage } from "./graph_nodes.ts";
import { inOrder, llmsText, pageMarkdown, robots, sitemap } from "./indexes.ts";
import { type AssetPaths, markdownPath, pageHtml } from "./page_html.ts";
import { type SiteDataRows, writeSiteData } from "./site_data.ts";
import type { SiteContent } from "./source.ts";
import { hash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** The files of a site, by their path below its folder, without a slash at the start. */
export type SiteFiles = ReadonlyMap<string, Uint8Array>;

const dataFile = "assets/site.data";
const indexFiles = ["sitemap.xml", "robots.txt", "llms.txt"];
const encoder = new TextEncoder();

function ownFile(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");
}

/** A file whose name changes with its content, so that it may be kept for good. */
function hashed(stem: string, ending: string, text: string): readonly [path: string, text: string] {
  return [`assets/${stem}.${hash("sha256", text, "hex").slice(0, 12)}.${ending}`, text];
}

/**
 * Builds every file of the site, `.br` and `.gz` variants included.
 *
 * @throws {Error} when a source is wrong: an unknown fact, a link to nowhere, a title that two pages have
 */
export function buildSite(content: SiteContent): SiteFiles {
  const site = assemble(content);
  // Before the database finds out, whose complaint would name no page.
  checkPages(site, [...indexFiles, dataFile]);
  const graphs = siteGraph(site);
  const { schema, bytes } = siteData(site, graphs);
  const style = hashed("site", "css", baseStyle + ownFile("style.css"));
  const icon = hashed("icon", "svg", ownFile("icon.svg"));
  const copyScript = hashed("copy", "js", copyButtons.script);
  const assets: AssetPaths = {
    style: `/${style[0]}`,
    icon: `/${icon[0]}`,
    copyScript: `/${copyScript[0]}`,
  };
  const texts = new Map<string, string>([
    style,
    icon,
    copyScript,
    ["sitemap.xml", sitemap(site)],
    ["robots.txt", robots(site)],
    ["llms.txt", llmsText(site, schema)],
  ]);
  for (const [n, page] of site.pages.entries()) {
    const html = pageHtml(site, page, assets, graphs[n] as PageGraph);
    texts.set(page.path.replace(/\/$/, "/index.html").slice(1), html);
    if (page.kind !== "unlisted") texts.set(markdownPath(page.path).slice(1), pageMarkdown(page));
  }
  const files = new Map<string, Uint8Array>([[dataFile, bytes]]);
  for (const [path, text] of texts) {
    const plain = encoder.encode(text);
    files.set(path, plain);
    for (const [ending, variant] of packed(plain)) files.set(path + ending, variant);
  }
  return new Map([...files].sort(([a], [b]) => byBytes(a, b)));
}

function siteData(site: Site, graphs: readonly PageGraph[]): { schema: string[]; bytes: Uint8Array } {
  const folder = mkdtempSync(join(tmpdir(), "lead-intake-site-"));
  try {
    const file = join(folder, "site.data");
    const schema = writeSiteData(file, siteRows(site, graphs));
    return { schema, bytes: readFileSync(file) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The rows of the site's database, sorted. */
function siteRows(site: Site, graphs: readonly PageGraph[]): SiteDataRows {
  const ordered = inOrder(site);
  const shared: PageGraph = { page: "/", nodes: sharedNodes(site.content.urls.site) };
  const nodes = [shared, ...graphs].flatMap(({ page, nodes }) => nodes.map((node) => rowsOf(page, node)));
  const depth = (page: SitePage) => trail(site, page).length;
  return {
    category: categories.map((category, position) => ({ ...category, position })),
    page: [...ordered].sort((a, b) => depth(a) - depth(b) || byBytes(a.path, b.path)).map((
      page,
    ) => ({
      path: page.path,
      url: page.url,
      parent: page.parent,
      category: page.category,
      position: ordered.filter(({ category }) => category === page.category).indexOf(page),
      title: page.title,
      description: page.description,
      lang: siteLanguage,
      updated: page.updated,
      markdown: page.markdown,
      text: page.rendered.text,
    })),
    entity: nodes.map(({ entity }) => entity).sort((a, b) => byBytes(a.id, b.id)),
    edge: nodes.flatMap(({ edges }) => edges).sort((a, b) =>
      byBytes(a.subject, b.subject) || byBytes(a.predicate, b.predicate) || byBytes(a.object, b.object)
    ),
  };
}

/** Below this a header of its own costs more than is saved. */
const plainBytesMax = 256;

/**
 * Whether variants are made here. Chosen: on Node only, because Deno's libraries pack the same text into other bytes,
 * and the same content is to make the same files. Rejected: gzip with Huffman codes alone, which is the same on both
 * and twice as large.
 */
export const isPacking = !("Deno" in globalThis);

/** `.br` and `.gz` of a text, each only where it is smaller; none where they are not made. */
export function packed(plain: Uint8Array): (readonly [ending: string, bytes: Uint8Array])[] {
  if (!isPacking || plain.length < plainBytesMax) return [];
  const brotli = brotliCompressSync(plain, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    },
  });
  const gzip = gzipSync(plain, { level: 9 });
  // The header has the time (which is 0 here) and the operating system: 255 is "unknown".
  gzip.fill(0, 4, 8);
  gzip[9] = 255;
  const variants = [[".br", brotli], [".gz", gzip]] as const;
  return variants.filter(([, bytes]) => bytes.length < plain.length);
}

/**
 * Writes the files into a new folder beside `dir` and then exchanges the two: whoever reads `dir` meanwhile sees the old
 * site or the new one, never a mix. What an ended build has left beside it is removed.
 *
 * @throws {Error} when `dir` is something else than an earlier site
 */
export function writeSite(dir: string, files: SiteFiles): void {
  // A link to a folder stays one.
  const target = existsSync(dir) ? realpathSync(dir) : resolve(dir);
  refuseStranger(target);
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  removeLeftovers(parent, basename(target));
  const fresh = `${target}.new-${process.pid}`;
  const old = `${target}.old-${process.pid}`;
  try {
    for (const [path, bytes] of files) {
      const file = join(fresh, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    exchange(target, fresh, old);
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  }
}

/** How often another build of the same folder may come in between. */
const triesMax = 20;

// Two renames: there is no call here that swaps two folders at once. Between them, for microseconds, there is no site.
function exchange(target: string, fresh: string, old: string): void {
  for (let tries = 1;; tries++) {
    const had = tryRename(target, old);
    try {
      return renameSync(fresh, target);
    } catch (error) {
      if (had && !existsSync(target)) renameSync(old, target);
      // Another build was quicker: its site is replaced in turn.
      if (!/^(ENOTEMPTY|EEXIST)$/.test(codeOf(error)) || tries === triesMax) throw error;
      rmSync(old, { recursive: true, force: true });
    }
  }
}

/** `false` when there is nothing to rename. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

/** A wrong SITE_DIR must not cost anybody a folder. */
function refuseStranger(target: string): void {
  if (!existsSync(target)) return;
  const isSite = existsSync(join(target, "llms.txt")) && existsSync(join(target, "assets/site.data"));
  if (isSite || readdirSync(target).length === 0) return;
  throw new Error(`${target} holds something else than a site; choose another SITE_DIR, or empty it`);
}

function removeLeftovers(parent: string, name: string): void {
  for (const entry of readdirSync(parent)) {
    const pid = entry.startsWith(`${name}.`) ? /\.(?:new|old)-(\d+)$/.exec(entry)?.[1] : undefined;
    if (pid === undefined || isAlive(Number(pid))) continue;
    rmSync(join(parent, entry), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
