/**
 * Builds the site's files and writes them to the folder that is served. The build uses no clock, no randomness and no
 * directory order, so the same content produces the same bytes.
 */

import copyButtons from "../documents/copy_buttons.json" with { type: "json" };
import { baseStyle } from "../http/base_style.ts";
import { assemble, checkPages, type Site, type SitePage } from "./assemble.ts";
import { categories } from "./categories.ts";
import { breadcrumbTrail, byBytes, nodeRows, type PageGraph, sharedNodes, siteGraph } from "./graph.ts";
import { siteLanguage } from "./graph_nodes.ts";
import { llmsText, pageMarkdown, pagesInOrder, robots, sitemap } from "./indexes.ts";
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

/** The files of a site, by relative path. */
export type SiteFiles = ReadonlyMap<string, Uint8Array>;

const dataFile = "assets/site.data";
const indexFiles = ["sitemap.xml", "robots.txt", "llms.txt"];
const encoder = new TextEncoder();

function readAsset(name: string): string {
  return readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");
}

/** Names a file after its content, so that browsers can cache it forever. */
function hashedAsset(stem: string, ending: string, text: string): readonly [path: string, text: string] {
  return [`assets/${stem}.${hash("sha256", text, "hex").slice(0, 12)}.${ending}`, text];
}

/**
 * Builds every file of the site, including `.br` and `.gz` variants.
 *
 * @throws {Error} if a source is invalid: an unknown fact, a broken link, a title that is used twice
 */
export function buildSite(content: SiteContent): SiteFiles {
  const site = assemble(content);
  // Checked before the database is written, because an SQLite error would not name the page.
  checkPages(site, [...indexFiles, dataFile]);
  const graphs = siteGraph(site);
  const { schema, bytes } = siteData(site, graphs);
  const style = hashedAsset("site", "css", baseStyle + readAsset("style.css"));
  const icon = hashedAsset("icon", "svg", readAsset("icon.svg"));
  const copyScript = hashedAsset("copy", "js", copyButtons.script);
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
    for (const [ending, variant] of compressedVariants(plain)) files.set(path + ending, variant);
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

/** Returns the sorted rows for the site's database. */
function siteRows(site: Site, graphs: readonly PageGraph[]): SiteDataRows {
  const ordered = pagesInOrder(site);
  const shared: PageGraph = { page: "/", nodes: sharedNodes(site.content.urls.site) };
  const nodes = [shared, ...graphs].flatMap(({ page, nodes }) => nodes.map((node) => nodeRows(page, node)));
  const depth = (page: SitePage) => breadcrumbTrail(site, page).length;
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

/** Smaller files are not compressed, because too little would be saved. */
const compressedBytesMin = 256;

/**
 * Whether this runtime writes compressed variants. Chosen: only Node, because Deno compresses the same text to different
 * bytes. Rejected: gzip with Huffman coding alone, which is equal on both but twice as large.
 */
export const isCompressing = !("Deno" in globalThis);

/** Returns the `.br` and `.gz` variants that are smaller than the text; none on Deno. */
export function compressedVariants(plain: Uint8Array): (readonly [ending: string, bytes: Uint8Array])[] {
  if (!isCompressing || plain.length < compressedBytesMin) return [];
  const brotli = brotliCompressSync(plain, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    },
  });
  const gzip = gzipSync(plain, { level: 9 });
  // The header contains the time (0 here) and the operating system (255 means unknown).
  gzip.fill(0, 4, 8);
  gzip[9] = 255;
  const variants = [[".br", brotli], [".gz", gzip]] as const;
  return variants.filter(([, bytes]) => bytes.length < plain.length);
}

/**
 * Writes the files into a new folder next to `dir`, then swaps the two folders, so that a reader never sees a mix of the old
 * and the new site. Removes leftovers from earlier builds.
 *
 * @throws {Error} if `dir` contains anything other than an earlier site
 */
export function writeSite(dir: string, files: SiteFiles): void {
  // A symbolic link is followed, not replaced.
  const target = existsSync(dir) ? realpathSync(dir) : resolve(dir);
  requireReplaceable(target);
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  removeLeftovers(parent, basename(target));
  const newFolder = `${target}.new-${process.pid}`;
  const oldFolder = `${target}.old-${process.pid}`;
  try {
    for (const [path, bytes] of files) {
      const file = join(newFolder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    // Neither runtime can swap two folders in one call, so the site is missing for microseconds. If another build replaces
    // it in that time, one of the two renames fails, and the other build's site stays.
    if (existsSync(target)) renameSync(target, oldFolder);
    renameSync(newFolder, target);
  } finally {
    if (!existsSync(target) && existsSync(oldFolder)) renameSync(oldFolder, target);
    for (const folder of [newFolder, oldFolder]) rmSync(folder, { recursive: true, force: true });
  }
}

/** Throws if a folder is neither empty nor a site, because SITE_DIR may be mistyped. */
function requireReplaceable(target: string): void {
  if (!existsSync(target)) return;
  const isSite = existsSync(join(target, "llms.txt")) && existsSync(join(target, "assets/site.data"));
  if (isSite || readdirSync(target).length === 0) return;
  throw new Error(`${target} contains files other than a site; choose another SITE_DIR, or empty the folder`);
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
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
