import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseFilePath } from "#src/http/static/file_path.ts";

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
