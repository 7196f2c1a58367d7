import { mediaTypeOf, parseFilePath } from "#src/http/static/file_name.ts";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";

const names = (path: string) => parseFilePath(path)?.names ?? null;

test("what could lead anywhere else names nothing", () => {
  const nothing = [
    "",
    "*",
    "a",
    "//",
    "//a",
    "/a//b",
    "/a//",
    "/.",
    "/..",
    "/a/../b",
    "/a/./b",
    "/%2e",
    "/%2e%2e/a",
    "/.%2E/a",
    "/%2e%2e%2fetc/passwd",
    "/a%2fb",
    "/a%2Fb",
    "/a%5cb",
    "/a%5C..%5Cb",
    "/a\\b",
    "/..\\a",
    "/a%00",
    "/a%00.html",
    "/%0a",
    "/%7f",
    "/%C2%85",
    "/.git/config",
    "/a/.env",
    "/a/.well-known/b",
    "/%2ewell-known-not",
    "/%",
    "/%2",
    "/%zz",
    "/%u002e",
    "/a%",
    "/%80",
    "/%C3",
    "/%C0%AE%C0%AE/a",
    "/%ED%A0%80",
    "/\u00e9",
    "/a b",
    "/a#b",
    '/a"b',
    "/a<b",
    "/a|b",
    `/${"a".repeat(256)}`,
    `/${"%C3%A9".repeat(128)}`,
    "/a".repeat(33),
  ];
  for (const path of nothing) assert.equal(parseFilePath(path), null, path);
});

test("no path has a name that is empty, begins with a dot or has a separator or control in it", () => {
  const piece = fc.constantFrom(
    "a",
    ".",
    "/",
    "%2e",
    "%2F",
    "%5c",
    "\\",
    "%00",
    "%",
    "%25",
    "%C3%A9",
    "~",
    "\x01",
    "\u00e9",
  );
  fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
    for (const name of names(`/${pieces.join("")}`) ?? []) {
      // deno-lint-ignore no-control-regex
      assert.doesNotMatch(name, /^$|^\.(?!well-known$)|[/\\\x00-\x1f\x7f]/);
    }
  }));
});

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
