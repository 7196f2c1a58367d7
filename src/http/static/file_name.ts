/** Maps request paths to file names and back, and names to media types. */

import { Buffer } from "node:buffer";

/** A parsed path. */
export interface FilePath {
  /** Decoded names; none for `/`. */
  readonly names: readonly string[];
  /** It ends in a slash, for a folder. */
  readonly isFolder: boolean;
}

/** The maximum length of a name in any file system. */
const nameBytesMax = 255;
const namesMax = 32;
/** Dot files are not served, except for RFC 8615's folder. */
const wellKnown = ".well-known";

/**
 * Parses a path; `null` for an empty or too long segment, one that starts with a dot, an escaped slash, backslash or
 * control character, an invalid escape, or an invalid raw byte. Escapes are decoded once: `%252e` is the file `%2e`.
 */
export function parseFilePath(path: string): FilePath | null {
  // Bytes that RFC 3986 forbids in a path, such as a backslash.
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

/** Encodes names as a path. */
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

/** A media type. */
export interface MediaType {
  readonly type: string;
  /** Whether the format is already compressed. */
  readonly isPacked: boolean;
}

function loose(type: string): MediaType {
  return { type, isPacked: false };
}

function packed(type: string): MediaType {
  return { type, isPacked: true };
}

/** By lower-case extension. Our text is UTF-8; JSON has no charset parameter. */
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

/** The media type of a file name; `further` has the caller's types by extension. */
export function mediaTypeOf(name: string, further: Readonly<Record<string, string>> = {}): MediaType {
  const extension = /[^./]\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (Object.hasOwn(further, extension)) return loose(further[extension] as string);
  return Object.hasOwn(mediaTypes, extension) ? mediaTypes[extension] as MediaType : unknown;
}
