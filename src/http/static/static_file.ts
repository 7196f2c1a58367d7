/** Serves files below a folder: conditional requests, ranges, precompressed variants, bounded memory. */

import { parseAcceptEncoding, preferredCoding, weightOf } from "../accept_encoding.ts";
import type { Exchange, Handler, Reply } from "../exchange.ts";
import { FileFolder } from "./file_folder.ts";
import { encodeFilePath, type FilePath, mediaTypeOf, parseFilePath } from "./file_name.ts";
import { FileChanged, type FileVersion } from "./file_version.ts";
import { type ByteRange, evaluate, httpDate, parseRange, rangeHolds, rangeWithin } from "./conditional.ts";
import { empty, text, withHeader } from "../reply.ts";

/** How to serve a folder. */
export interface StaticOptions {
  readonly folder: string;
  /** Further media types by extension. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
  /** Headers by media type (without parameters), such as a policy for `text/html`. */
  readonly headersOfType?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A file and its name, which determines the media type. */
interface LocatedFile {
  readonly name: string;
  readonly names: readonly string[];
  readonly file: FileVersion;
}

/** The selected variant of a page. */
interface Selection {
  readonly page: LocatedFile;
  readonly file: FileVersion;
  readonly coding: Coding;
}

type Coding = "br" | "zstd" | "gzip" | "identity";
type Located = LocatedFile | { readonly elsewhere: string } | null;

/** Suffixes of precompressed files, in order of preference. */
const packings: readonly (readonly [Exclude<Coding, "identity">, string])[] = [
  ["br", ".br"],
  ["zstd", ".zst"],
  ["gzip", ".gz"],
];

const index = "index.html";
const missingPage = "404.html";
/** Attempts if the file is replaced meanwhile. */
const triesMax = 5;

/** Headers that let any site's scripts read it, with ranges. */
const publicRead = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, ETag",
};

// Chosen: five minutes, as for the vocabulary; a name with a content hash never changes.
const caching = "public, max-age=300";
const cachingForEver = "public, max-age=31536000, immutable";
/** `style.3f2a9c1b.css` and esbuild's `app-KZV3J7XQ.js`; a date is not a hash. */
const hashedName =
  /[.-](?=[^.]{0,63}[a-zA-Z])(?=[^.]{0,63}\d)(?:[0-9a-f]{8,64}|[A-Z2-7]{8})\.[a-z0-9]+(?:\.map)?$/;

/**
 * The handler of `GET` and `HEAD` below a folder.
 *
 * Each page has one URL: a file's name, or for `index.html` the folder with a trailing slash. Other spellings (`/a` for
 * `/a/` or `/a.html`, `/a/index.html` for `/a/`) redirect with 308. Unknown paths get 404, with the folder's `404.html` if
 * present. Throws the file system's faults.
 *
 * Chosen: ranges apply to the file itself, never to a compressed variant, because readers of a database or a film want its
 * own bytes.
 */
export function staticFiles(options: StaticOptions): Handler {
  const folder = new FileFolder(options.folder);
  return async (exchange) => {
    for (let attempt = 1;; attempt++) {
      try {
        return await answer(exchange, folder, options);
      } catch (error) {
        if (!(error instanceof FileChanged) || attempt === triesMax) throw error;
      }
    }
  };
}

async function answer(exchange: Exchange, folder: FileFolder, options: StaticOptions): Promise<Reply> {
  const path = parseFilePath(exchange.path);
  const located = path === null ? null : await locate(folder, path);
  if (located === null) return await notFound(exchange, folder, options);
  if ("elsewhere" in located) return redirect(exchange, located.elsewhere);
  const range = exchange.method === "GET" ? parseRange(exchange.header("range")) : null;
  const selection = await select(exchange, folder, { page: located, prefersIdentity: range !== null });
  if (selection === null) {
    return withHeader(text(406, "Not acceptable\n", publicRead), "Vary", "Accept-Encoding");
  }
  const { file, coding } = selection;
  const headers = headersFor(selection, options);
  const nowMs = Date.now();
  const precondition = evaluate(exchange, file, nowMs);
  if (precondition === "failed") return text(412, "Precondition failed\n", publicRead);
  if (precondition === "not_modified") return notModified(headers);
  const isPart = range !== null && coding === "identity" && rangeHolds(exchange, file, nowMs);
  if (!isPart) return await send(exchange, folder, { selection, headers, status: 200 });
  const part = rangeWithin(range, file.size);
  if (part === null) {
    return text(416, "Range not satisfiable\n", { ...publicRead, "Content-Range": `bytes */${file.size}` });
  }
  return await send(exchange, folder, { selection, headers, status: 206, part });
}

/** Finds a path's page, or its canonical URL. */
async function locate(folder: FileFolder, { names, isFolder }: FilePath): Promise<Located> {
  const page = async (...names: string[]): Promise<LocatedFile | null> => {
    const found = await folder.find(names);
    return found.kind === "file" ? { name: names.at(-1) as string, names, file: found.file } : null;
  };
  const last = names.at(-1);
  const above = names.slice(0, -1);
  const isMissingPage = (name: string) => names.length === 1 && name === missingPage;
  const beside = async (): Promise<Located> => {
    const name = `${last}.html`;
    if (last === undefined || isMissingPage(name) || await page(...above, name) === null) return null;
    return { elsewhere: encodeFilePath({ names: [...above, name], isFolder: false }) };
  };
  if (isFolder || last === undefined) return await page(...names, index) ?? await beside();
  if (isMissingPage(last)) return null;
  const found = await folder.find(names);
  if (found.kind === "file") {
    if (last !== index) return { name: last, names, file: found.file };
    return { elsewhere: encodeFilePath({ names: above, isFolder: true }) };
  }
  if (found.kind === "folder" && await page(...names, index) !== null) {
    return { elsewhere: encodeFilePath({ names, isFolder: true }) };
  }
  return await beside();
}

/** The client's preferred variant, or `null` if it accepts none. */
async function select(
  exchange: Exchange,
  folder: FileFolder,
  { page, prefersIdentity }: { page: LocatedFile; prefersIdentity: boolean },
): Promise<Selection | null> {
  const { names, file } = page;
  const whole: Selection = { page, file, coding: "identity" };
  const header = exchange.header("accept-encoding");
  if (header === undefined) return whole;
  const weights = parseAcceptEncoding(header);
  if (prefersIdentity && weightOf(weights, "identity") > 0) return whole;
  const wanted = mediaTypeOf(page.name).isPacked
    ? []
    : packings.filter(([coding]) => weightOf(weights, coding) > 0);
  const variants = await Promise.all(wanted.map(async ([coding, ending]): Promise<Selection[]> => {
    const found = await folder.find([...names.slice(0, -1), page.name + ending]);
    // A variant older than its file is outdated.
    const fits = found.kind === "file" && found.file.stats.mtimeNs >= file.stats.mtimeNs;
    return fits ? [{ page, file: found.file, coding }] : [];
  }));
  const available = [...variants.flat(), whole];
  const coding = preferredCoding(weights, available.map((selection) => selection.coding));
  return available.find((selection) => selection.coding === coding) ?? null;
}

function headersFor({ page, file, coding }: Selection, options: StaticOptions): Record<string, string> {
  const { type, isPacked } = mediaTypeOf(page.name, options.mediaTypes);
  const headers: Record<string, string> = {
    "Content-Type": type,
    "Cache-Control": hashedName.test(page.name) ? cachingForEver : caching,
    "ETag": file.tag,
    "Accept-Ranges": "bytes",
    ...publicRead,
    "X-Content-Type-Options": "nosniff",
    ...options.headersOfType?.[type.split(";", 1)[0] as string],
  };
  // A future time would make a later version look older.
  if (file.modifiedMs <= Date.now()) headers["Last-Modified"] = httpDate(file.modifiedMs);
  if (!isPacked) headers["Vary"] = "Accept-Encoding";
  if (coding !== "identity") headers["Content-Encoding"] = coding;
  return headers;
}

/** Drops representation headers: RFC 9110, section 15.4.5. */
function notModified(headers: Record<string, string>): Reply {
  delete headers["Content-Type"];
  delete headers["Content-Encoding"];
  return empty(304, headers);
}

async function send(
  exchange: Exchange,
  folder: FileFolder,
  what: { selection: Selection; headers: Record<string, string>; status: number; part?: ByteRange },
): Promise<Reply> {
  const { status, headers, selection: { file }, part } = what;
  const range = part ?? { start: 0, end: file.size };
  if (part !== undefined) headers["Content-Range"] = `bytes ${part.start}-${part.end - 1}/${file.size}`;
  const length = range.end - range.start;
  const body = exchange.method === "HEAD" ? null : await folder.body(file, range);
  return { status, headers, body, length };
}

/** The URL with the request's query. */
function redirect(exchange: Exchange, path: string): Reply {
  const query = /^[\x21-\x7e]+$/.test(exchange.query) ? `?${exchange.query}` : "";
  const headers = { "Location": path + query, "Cache-Control": caching, ...publicRead };
  return text(308, "It is elsewhere\n", headers);
}

async function notFound(exchange: Exchange, folder: FileFolder, options: StaticOptions): Promise<Reply> {
  const found = await folder.find([missingPage]);
  if (found.kind !== "file") return text(404, "Not found\n", publicRead);
  const page: LocatedFile = { name: missingPage, names: [missingPage], file: found.file };
  const selection = await select(exchange, folder, { page, prefersIdentity: false }) ??
    { page, file: found.file, coding: "identity" };
  const headers = headersFor(selection, options);
  for (const name of ["ETag", "Last-Modified", "Accept-Ranges"]) delete headers[name];
  headers["Cache-Control"] = "no-store";
  return await send(exchange, folder, { selection, headers, status: 404 });
}
