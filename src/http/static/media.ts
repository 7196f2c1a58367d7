/**
 * Media types by a file's name.
 *
 * @module
 */

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
