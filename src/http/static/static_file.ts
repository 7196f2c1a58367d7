/** Serves the files below a folder, with conditional requests, ranges, precompressed variants and bounded memory. */

import { Buffer } from "node:buffer";
import { parseAcceptEncoding, preferredCoding, weightOf } from "../accept_encoding.ts";
import type { Exchange, Handler, Reply } from "../exchange.ts";
import {
  type ByteRange,
  evaluatePreconditions,
  httpDate,
  parseRange,
  rangeApplies,
  rangeWithin,
} from "../conditional.ts";
import { empty, publicRead, text, withHeader } from "../reply.ts";
import { FileFolder } from "./file_folder.ts";
import { FileChanged, type FileVersion } from "./file_version.ts";

interface StaticOptions {
  readonly folder: string;
  /** Additional media types by extension. */
  readonly mediaTypes?: Readonly<Record<string, string>>;
  /** Additional headers by media type (without parameters), such as a policy for `text/html`. */
  readonly headersOfType?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface LocatedFile {
  /** The file name, which determines the media type. */
  readonly name: string;
  readonly names: readonly string[];
  readonly file: FileVersion;
}

interface Selection {
  readonly page: LocatedFile;
  readonly file: FileVersion;
  readonly coding: Coding;
}

type Coding = "br" | "zstd" | "gzip" | "identity";
type Located = LocatedFile | { readonly redirectTo: string } | null;

/** The suffixes of precompressed files, in order of preference. */
const compressedSuffixes: readonly (readonly [Exclude<Coding, "identity">, string])[] = [
  ["br", ".br"],
  ["zstd", ".zst"],
  ["gzip", ".gz"],
];

const indexPage = "index.html";
const notFoundPage = "404.html";
const attemptsMax = 5;

/** The headers that let scripts on any site read a file and its ranges. */
const corsHeaders = {
  ...publicRead,
  "Access-Control-Expose-Headers": "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, ETag",
};

// Chosen: five minutes, as for the vocabulary.
const shortCache = "public, max-age=300";
const immutableCache = "public, max-age=31536000, immutable";
/** Matches a name with a content hash, such as `style.3f2a9c1b.css` or esbuild's `app-KZV3J7XQ.js`, but not a date. */
const hashedName =
  /[.-](?=[^.]{0,63}[a-zA-Z])(?=[^.]{0,63}\d)(?:[0-9a-f]{8,64}|[A-Z2-7]{8})\.[a-z0-9]+(?:\.map)?$/;

/**
 * Returns the handler for `GET` and `HEAD` requests for the files below a folder. Unknown paths get 404 with the folder's
 * `404.html`, if present; the handler throws a file system error that does not mean 404.
 *
 * Each page has one URL: the file's path or, for `index.html`, the folder's path with a trailing slash. Other spellings
 * (`/a` for `/a/` or `/a.html`, `/a/index.html` for `/a/`) redirect with 308.
 *
 * Chosen: ranges apply to the uncompressed file only, because clients that seek in a database or video need its bytes.
 */
export function staticFiles(options: StaticOptions): Handler {
  const folder = new FileFolder(options.folder);
  return async (exchange) => {
    for (let attempt = 1;; attempt++) {
      try {
        return await respond(exchange, folder, options);
      } catch (error) {
        if (!(error instanceof FileChanged) || attempt === attemptsMax) throw error;
      }
    }
  };
}

async function respond(exchange: Exchange, folder: FileFolder, options: StaticOptions): Promise<Reply> {
  const path = parseFilePath(exchange.path);
  const located = path === null ? null : await locate(folder, path);
  if (located === null) return await notFound(exchange, folder, options);
  if ("redirectTo" in located) return redirect(exchange, located.redirectTo);
  const range = exchange.method === "GET" ? parseRange(exchange.header("range")) : null;
  const selection = await select(exchange, folder, { page: located, prefersIdentity: range !== null });
  if (selection === null) {
    return withHeader(text(406, "Not acceptable\n", corsHeaders), "Vary", "Accept-Encoding");
  }
  const { file, coding } = selection;
  const headers = headersFor(selection, options);
  const precondition = evaluatePreconditions(exchange, file);
  if (precondition === "failed") return text(412, "Precondition failed\n", corsHeaders);
  if (precondition === "not_modified") return notModified(headers);
  const isPartial = range !== null && coding === "identity" && rangeApplies(exchange, file, Date.now());
  if (!isPartial) return await send(exchange, folder, { selection, headers, status: 200 });
  const part = rangeWithin(range, file.size);
  if (part === null) {
    return text(416, "Range not satisfiable\n", { ...corsHeaders, "Content-Range": `bytes */${file.size}` });
  }
  return await send(exchange, folder, { selection, headers, status: 206, part });
}

async function locate(folder: FileFolder, { names, isFolder }: FilePath): Promise<Located> {
  const page = async (...names: string[]): Promise<LocatedFile | null> => {
    const found = await folder.find(names);
    return found.kind === "file" ? { name: names.at(-1) as string, names, file: found.file } : null;
  };
  const last = names.at(-1);
  const parents = names.slice(0, -1);
  const isNotFoundPage = (name: string) => names.length === 1 && name === notFoundPage;
  const withExtension = async (): Promise<Located> => {
    const name = `${last}.html`;
    if (last === undefined || isNotFoundPage(name) || await page(...parents, name) === null) return null;
    return { redirectTo: encodeFilePath({ names: [...parents, name], isFolder: false }) };
  };
  if (isFolder || last === undefined) return await page(...names, indexPage) ?? await withExtension();
  if (isNotFoundPage(last)) return null;
  const found = await folder.find(names);
  if (found.kind === "file") {
    if (last !== indexPage) return { name: last, names, file: found.file };
    return { redirectTo: encodeFilePath({ names: parents, isFolder: true }) };
  }
  if (found.kind === "folder" && await page(...names, indexPage) !== null) {
    return { redirectTo: encodeFilePath({ names, isFolder: true }) };
  }
  return await withExtension();
}

/** Returns the variant that the client prefers, or `null` if it accepts none. */
async function select(
  exchange: Exchange,
  folder: FileFolder,
  { page, prefersIdentity }: { page: LocatedFile; prefersIdentity: boolean },
): Promise<Selection | null> {
  const { names, file } = page;
  const identity: Selection = { page, file, coding: "identity" };
  const header = exchange.header("accept-encoding");
  if (header === undefined) return identity;
  const weights = parseAcceptEncoding(header);
  if (prefersIdentity && weightOf(weights, "identity") > 0) return identity;
  const accepted = mediaTypeOf(page.name).isCompressed
    ? []
    : compressedSuffixes.filter(([coding]) => weightOf(weights, coding) > 0);
  const variants = await Promise.all(accepted.map(async ([coding, suffix]): Promise<Selection[]> => {
    const found = await folder.find([...names.slice(0, -1), page.name + suffix]);
    const isCurrent = found.kind === "file" && found.file.stats.mtimeNs >= file.stats.mtimeNs;
    return isCurrent ? [{ page, file: found.file, coding }] : [];
  }));
  const available = [...variants.flat(), identity];
  const coding = preferredCoding(weights, available.map((selection) => selection.coding));
  return available.find((selection) => selection.coding === coding) ?? null;
}

function headersFor({ page, file, coding }: Selection, options: StaticOptions): Record<string, string> {
  const { type, isCompressed } = mediaTypeOf(page.name, options.mediaTypes);
  const headers: Record<string, string> = {
    "Content-Type": type,
    "Cache-Control": hashedName.test(page.name) ? immutableCache : shortCache,
    "ETag": file.tag,
    "Accept-Ranges": "bytes",
    ...corsHeaders,
    "X-Content-Type-Options": "nosniff",
    ...options.headersOfType?.[type.split(";", 1)[0] as string],
  };
  // With a future date, a later version would seem older.
  if (file.modifiedMs <= Date.now()) headers["Last-Modified"] = httpDate(file.modifiedMs);
  if (!isCompressed) headers["Vary"] = "Accept-Encoding";
  if (coding !== "identity") headers["Content-Encoding"] = coding;
  return headers;
}

/** Builds a 304, without the type and coding of the content (RFC 9110, section 15.4.5). */
function notModified(headers: Record<string, string>): Reply {
  delete headers["Content-Type"];
  delete headers["Content-Encoding"];
  return empty(304, headers);
}

async function send(
  exchange: Exchange,
  folder: FileFolder,
  response: { selection: Selection; headers: Record<string, string>; status: number; part?: ByteRange },
): Promise<Reply> {
  const { status, headers, selection: { file }, part } = response;
  const range = part ?? { start: 0, end: file.size };
  if (part !== undefined) headers["Content-Range"] = `bytes ${part.start}-${part.end - 1}/${file.size}`;
  const length = range.end - range.start;
  const body = exchange.method === "HEAD" ? null : await folder.body(file, range);
  return { status, headers, body, length };
}

function redirect(exchange: Exchange, path: string): Reply {
  const query = /^[\x21-\x7e]+$/.test(exchange.query) ? `?${exchange.query}` : "";
  const headers = { "Location": path + query, "Cache-Control": shortCache, ...corsHeaders };
  return text(308, "Permanent redirect\n", headers);
}

async function notFound(exchange: Exchange, folder: FileFolder, options: StaticOptions): Promise<Reply> {
  const found = await folder.find([notFoundPage]);
  if (found.kind !== "file") return text(404, "Not found\n", corsHeaders);
  const page: LocatedFile = { name: notFoundPage, names: [notFoundPage], file: found.file };
  const selection = await select(exchange, folder, { page, prefersIdentity: false }) ??
    { page, file: found.file, coding: "identity" };
  const headers = headersFor(selection, options);
  for (const name of ["ETag", "Last-Modified", "Accept-Ranges"]) delete headers[name];
  headers["Cache-Control"] = "no-store";
  return await send(exchange, folder, { selection, headers, status: 404 });
}

interface FilePath {
  /** The decoded path segments; empty for `/`. */
  readonly names: readonly string[];
  readonly isFolder: boolean;
}

/** The limit in common file systems. */
const nameBytesMax = 255;
const namesMax = 32;
/** The only name with a leading dot that is served (RFC 8615). */
const wellKnown = ".well-known";

/**
 * Parses a request path; `null` for an invalid escape, too many segments, or a segment that is empty or too long,
 * starts with a dot, or contains a slash, backslash or control character. Decodes escapes only once: `%252e` is the
 * file `%2e`.
 */
export function parseFilePath(path: string): FilePath | null {
  // RFC 3986 forbids any other byte in a path.
  if (!/^\/[\w\-.~!$&'()*+,;=:@%/]*$/.test(path)) return null;
  const segments = path.slice(1).split("/");
  const isFolder = segments.at(-1) === "";
  if (isFolder) segments.pop();
  if (segments.length > namesMax) return null;
  const names: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = decode(segment);
    if (name === null || !isName(name) && !(index === 0 && name === wellKnown)) return null;
    names.push(name);
  }
  return { names, isFolder };
}

function encodeFilePath({ names, isFolder }: FilePath): string {
  return `/${names.map(encodeURIComponent).join("/")}${isFolder && names.length > 0 ? "/" : ""}`;
}

function decode(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function isName(name: string): boolean {
  // deno-lint-ignore no-control-regex
  if (name === "" || name.startsWith(".") || /[/\\\x00-\x1f\x7f-\x9f]/.test(name)) return false;
  return name.length <= nameBytesMax && Buffer.byteLength(name) <= nameBytesMax;
}

interface MediaType {
  readonly type: string;
  readonly isCompressed: boolean;
}

function uncompressed(type: string): MediaType {
  return { type, isCompressed: false };
}

function compressed(type: string): MediaType {
  return { type, isCompressed: true };
}

/** The media types by lower-case extension. Text is UTF-8; JSON has no charset parameter. */
const mediaTypes: Readonly<Record<string, MediaType>> = {
  avif: compressed("image/avif"),
  br: compressed("application/octet-stream"),
  css: uncompressed("text/css; charset=utf-8"),
  csv: uncompressed("text/csv; charset=utf-8"),
  db: uncompressed("application/vnd.sqlite3"),
  gif: compressed("image/gif"),
  gz: compressed("application/gzip"),
  htm: uncompressed("text/html; charset=utf-8"),
  html: uncompressed("text/html; charset=utf-8"),
  ico: uncompressed("image/vnd.microsoft.icon"),
  jpeg: compressed("image/jpeg"),
  jpg: compressed("image/jpeg"),
  js: uncompressed("text/javascript; charset=utf-8"),
  json: uncompressed("application/json"),
  jsonld: uncompressed("application/ld+json"),
  map: uncompressed("application/json"),
  md: uncompressed("text/markdown; charset=utf-8"),
  mjs: uncompressed("text/javascript; charset=utf-8"),
  mp4: compressed("video/mp4"),
  otf: uncompressed("font/otf"),
  pdf: compressed("application/pdf"),
  png: compressed("image/png"),
  sqlite: uncompressed("application/vnd.sqlite3"),
  sqlite3: uncompressed("application/vnd.sqlite3"),
  svg: uncompressed("image/svg+xml"),
  ttf: uncompressed("font/ttf"),
  txt: uncompressed("text/plain; charset=utf-8"),
  wasm: uncompressed("application/wasm"),
  webm: compressed("video/webm"),
  webmanifest: uncompressed("application/manifest+json"),
  webp: compressed("image/webp"),
  woff: compressed("font/woff"),
  woff2: compressed("font/woff2"),
  xml: uncompressed("application/xml; charset=utf-8"),
  zip: compressed("application/zip"),
  zst: compressed("application/zstd"),
};

const unknownType = uncompressed("application/octet-stream");

function mediaTypeOf(name: string, additional: Readonly<Record<string, string>> = {}): MediaType {
  const extension = /[^./]\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (Object.hasOwn(additional, extension)) return uncompressed(additional[extension] as string);
  return Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] as MediaType : unknownType;
}
