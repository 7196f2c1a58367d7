import assert from "node:assert/strict";
import { test } from "node:test";
import { mediaTypeOf } from "#src/http/static/media.ts";

test("each kind of file has its media type, text in UTF-8", () => {
  const types: Record<string, string> = {
    "a.html": "text/html; charset=utf-8",
    "a.HTML": "text/html; charset=utf-8",
    "a.txt": "text/plain; charset=utf-8",
    "a.md": "text/markdown; charset=utf-8",
    "a.xml": "application/xml; charset=utf-8",
    "a.json": "application/json",
    "a.css": "text/css; charset=utf-8",
    "a.js": "text/javascript; charset=utf-8",
    "a.svg": "image/svg+xml",
    "a.png": "image/png",
    "a.webp": "image/webp",
    "a.avif": "image/avif",
    "a.ico": "image/vnd.microsoft.icon",
    "a.woff2": "font/woff2",
    "a.webmanifest": "application/manifest+json",
    "a.pdf": "application/pdf",
    "a.wasm": "application/wasm",
    "a.sqlite": "application/vnd.sqlite3",
    "a.b.html": "text/html; charset=utf-8",
    "a.html.gz": "application/gzip",
  };
  for (const [name, type] of Object.entries(types)) assert.equal(mediaTypeOf(name).type, type, name);
});

test("a caller's own types come first", () => {
  const further = { data: "application/vnd.sqlite3", txt: "text/troff" };
  assert.equal(mediaTypeOf("site.data", further).type, "application/vnd.sqlite3");
  assert.equal(mediaTypeOf("a.txt", further).type, "text/troff");
  assert.equal(mediaTypeOf("a.constructor", further).type, "application/octet-stream");
});

test("what is packed already has no variants", () => {
  assert.equal(mediaTypeOf("a.png").isPacked, true);
  assert.equal(mediaTypeOf("a.html").isPacked, false);
  assert.equal(mediaTypeOf("a.unheard").isPacked, false);
});
