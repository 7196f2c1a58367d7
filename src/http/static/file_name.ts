/**
 * From the path of a request to the name of a file below a folder and back, and the media type that a name has.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** A path taken apart. */
export interface FilePath {
  /** The names on the way, decoded; none for `/`. */
  readonly names: readonly string[];
  /** The path ends in a slash: it means a folder. */
  readonly isFolder: boolean;
}

/** What any file system takes for one name. */
const nameBytesMax = 255;
const namesMax = 32;
/** Files that begin with a dot are nobody's business, but for what RFC 8615 puts into one folder. */
const wellKnown = ".well-known";

/**
 * Takes a path apart, or gives `null` for one that names nothing: an empty segment, a segment that begins with
 * a dot (`..` among them), one that hides a slash, a backslash or a control character behind an escape, an
 * escape that is not UTF-8 or no escape at all, a raw byte that an address does not have, a name that is too
 * long. Escapes are decoded once: `%252e` is a file called `%2e`.
 */
export function parseFilePath(path: string): FilePath | null {
  // Raw bytes that RFC 3986 does not allow in a path; a backslash is among them.
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

/** The path of names, as an address has it. */
export function encodeFilePath({ names, isFolder }: FilePath): string {
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

/** What a kind of file is sent as. */
export interface MediaType {
  readonly type: string;
  /** Whether its bytes are packed already, so that no content coding would make them fewer. */
  readonly isPacked: boolean;
}

function loose(type: string): MediaType {
  return { type, isPacked: false };
}

function packed(type: string): MediaType {
  return { type, isPacked: true };
}

/** By extension, in lower case. Text of ours is UTF-8; JSON and what is built on it has no charset parameter. */
const mediaTypes: Readonly<Record<string, MediaType>> = {
  avif: packed("image/avif"),
  br: packed("application/octet-stream"),
  css: loose("text/css; charset=utf-8"),
  csv: loose("text/csv; charset=utf-8"),
  db: loose("application/vnd.sqlite3"),
  gif: packed("image/gif"),
  gz: packed("application/gzip"),
  htm: loose("text/html; charset=utf-8"),
  html: loose("text/html; charset=utf-8"),
  ico: loose("image/vnd.microsoft.icon"),
  jpeg: packed("image/jpeg"),
  jpg: packed("image/jpeg"),
  js: loose("text/javascript; charset=utf-8"),
  json: loose("application/json"),
  jsonld: loose("application/ld+json"),
  map: loose("application/json"),
  md: loose("text/markdown; charset=utf-8"),
  mjs: loose("text/javascript; charset=utf-8"),
  mp4: packed("video/mp4"),
  otf: loose("font/otf"),
  pdf: packed("application/pdf"),
  png: packed("image/png"),
  sqlite: loose("application/vnd.sqlite3"),
  sqlite3: loose("application/vnd.sqlite3"),
  svg: loose("image/svg+xml"),
  ttf: loose("font/ttf"),
  txt: loose("text/plain; charset=utf-8"),
  wasm: loose("application/wasm"),
  webm: packed("video/webm"),
  webmanifest: loose("application/manifest+json"),
  webp: packed("image/webp"),
  woff: packed("font/woff"),
  woff2: packed("font/woff2"),
  xml: loose("application/xml; charset=utf-8"),
  zip: packed("application/zip"),
  zst: packed("application/zstd"),
};

const unknown = loose("application/octet-stream");

/** The media type of a file by the end of its name; `further` has types of the caller's own, by extension. */
export function mediaTypeOf(name: string, further: Readonly<Record<string, string>> = {}): MediaType {
  const extension = /[^./]\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (Object.hasOwn(further, extension)) return loose(further[extension] as string);
  return Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] as MediaType : unknown;
}
