import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { after, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { until } from "../../support/until.ts";
import { type Answer, places, startApp } from "../../support/http/echo.ts";
import {
  Download,
  head,
  makeFolder,
  openFiles,
  patterned,
  put,
  read,
} from "../../support/http/static_folder.ts";

const text = ({ body }: Answer) => body.toString();
const longAgo = new Date("2020-02-02T02:02:02.222Z");
/** More than the socket buffers of both sides. */
const downloadBytes = 24 * 1024 * 1024;
/** Swaps a folder with a link that leads out of the site, until killed. */
const turnScript = `
  const { renameSync, symlinkSync, writeSync } = require("node:fs");
  process.chdir(process.argv[1]);
  symlinkSync("../beside", "out");
  writeSync(1, "turning");
  for (;;) {
    for (const [from, to] of [["turns", "in"], ["out", "turns"], ["turns", "out"], ["in", "turns"]]) {
      renameSync(from, to);
    }
  }
`;
const longAgoText = "Sun, 02 Feb 2020 02:02:02 GMT";

for (const place of places) {
  describe(`on ${place}`, async () => {
    const folder = makeFolder({
      "index.html": "home",
      "404.html": "lost",
      "about/index.html": "about",
      "page.html": "page",
      "notes.txt": "0123456789",
      "empty.txt": "",
      "a b/\u00e9.txt": "spaced",
      "style.3f2a9c1b.css": "css",
      "assets/site.sqlite": "x",
      "folder/file.txt": "file",
      ".secret": "secret",
      ".git/config": "secret",
      ".well-known/security.txt": "contact",
      "%2e%2e": "named so",
      "../outside.txt": "outside",
      "large.bin": patterned(3_000_000),
    });
    utimesSync(join(folder, "notes.txt"), longAgo, longAgo);
    const app = await startApp(place, { folder });
    after(() => app.close());
    const { port } = app;

    test("a page has one address, and its other spellings redirect there", async () => {
      for (const [path, content] of [["/", "home"], ["/about/", "about"], ["/page.html", "page"]] as const) {
        const answer = await read(port, path);
        assert.deepEqual([answer.status, text(answer)], [200, content], path);
      }
      const elsewhere = {
        "/about": "/about/",
        "/index.html": "/",
        "/about/index.html": "/about/",
        "/page": "/page.html",
        "/page/": "/page.html",
        "/about?a=1&b=%20": "/about/?a=1&b=%20",
      };
      for (const [path, location] of Object.entries(elsewhere)) {
        const answer = await read(port, path);
        assert.deepEqual([answer.status, answer.headers["location"]], [308, location], path);
      }
    });

    test("an unknown path gets 404 with the site's 404 page", async (t) => {
      for (const path of "/none /none/ /notes.txt/ /notes.txt/x /folder /folder/ /404.html /404".split(" ")) {
        const answer = await read(port, path);
        assert.deepEqual([answer.status, text(answer)], [404, "lost"], path);
        assert.equal(answer.headers["content-type"], "text/html; charset=utf-8");
        assert.equal(answer.headers["cache-control"], "no-store");
        assert.equal(answer.headers["etag"], undefined);
      }
      const bare = await startApp(place, { folder: makeFolder() });
      t.after(() => bare.close());
      assert.equal((await read(bare.port, "/")).status, 404);
      const none = await startApp(place, { folder: join(folder, "none") });
      t.after(() => none.close());
      assert.equal((await read(none.port, "/")).status, 404);
    });

    test("no path leads out of the folder or to hidden files", async () => {
      const paths = `
        /../outside.txt /folder/../../outside.txt /%2e%2e/outside.txt /%2E%2E%2Foutside.txt /..%2foutside.txt
        /..%5Coutside.txt /%252e%252e%252foutside.txt /..%c0%afoutside.txt /%c0%ae%c0%ae/outside.txt
        /.%00./outside.txt /notes.txt%00.html /./notes.txt //notes.txt /folder//file.txt /.secret /.git/config
        /%2esecret /% /%zz /%ff`.trim().split(/\s+/);
      paths.push(`/${folder}/notes.txt`, `/${"a".repeat(256)}`, `/${"a/".repeat(2_000)}a`);
      for (const path of paths) {
        const answer = await read(port, path);
        assert.equal(answer.status, 404, path);
        assert.doesNotMatch(text(answer), /outside|secret/, path);
      }
      assert.equal(text(await read(port, "/.well-known/security.txt")), "contact");
    });

    test("a link is followed only within the folder", async () => {
      symlinkSync("notes.txt", join(folder, "within.txt"));
      symlinkSync("../outside.txt", join(folder, "without.txt"));
      symlinkSync("..", join(folder, "up"));
      symlinkSync("/etc", join(folder, "etc"));
      symlinkSync("turning", join(folder, "turning"));
      symlinkSync("nowhere", join(folder, "dangling"));
      assert.equal(text(await read(port, "/within.txt")), "0123456789");
      const names = "without.txt up/outside.txt etc/passwd etc/ etc up/ up turning dangling".split(" ");
      for (const name of names) {
        assert.equal((await read(port, `/${name}`)).status, 404, name);
      }
      // A sibling folder with the same name prefix.
      put(dirname(folder), "site_two/file.txt", "outside");
      symlinkSync("../site_two", join(folder, "two"));
      assert.equal((await read(port, "/two/file.txt")).status, 404);
    });

    test("a folder that is swapped with a link never leads out", async (t) => {
      put(folder, "turns/file.txt", "within");
      put(dirname(folder), "beside/file.txt", "outside");
      const turning = spawn(process.execPath, ["-e", turnScript, folder], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      t.after(() => turning.kill());
      await once(turning.stdout, "data");
      const seen = new Set<string>();
      for (let request = 0; request < 1_000; request++) seen.add(text(await read(port, "/turns/file.txt")));
      assert.ok(seen.has("within"));
      assert.ok(!seen.has("outside"));
    });

    test("a response has the file's type, caching and CORS headers", async () => {
      const { status, headers } = await read(port, "/notes.txt");
      assert.equal(status, 200);
      assert.equal(headers["content-type"], "text/plain; charset=utf-8");
      assert.equal(headers["content-length"], "10");
      assert.equal(headers["cache-control"], "public, max-age=300");
      assert.match(headers["etag"] ?? "", /^"[\w-]{22}"$/);
      assert.equal(headers["last-modified"], longAgoText);
      assert.equal(headers["accept-ranges"], "bytes");
      assert.equal(headers["vary"], "Accept-Encoding");
      assert.equal(headers["access-control-allow-origin"], "*");
      assert.match(headers["access-control-expose-headers"] ?? "", /Content-Range/);
      assert.equal(headers["x-content-type-options"], "nosniff");
      const hashed = await read(port, "/style.3f2a9c1b.css");
      assert.equal(hashed.headers["cache-control"], "public, max-age=31536000, immutable");
      assert.equal((await read(port, "/empty.txt")).headers["content-length"], "0");
    });

    test("HEAD responds as GET without the body", async () => {
      const paths = ["/", "/about", "/none", "/notes.txt", "/empty.txt", "/large.bin", "/assets/site.sqlite"];
      for (const path of paths) {
        for (
          const line of ["Accept: */*", "If-None-Match: *", 'If-Match: "x"', "Accept-Encoding: identity;q=0"]
        ) {
          const [got, headed] = [await read(port, path, line), await head(port, path, line)];
          assert.equal(headed.status, got.status, `${path} ${line}`);
          const comparable = ({ date: _date, "x-request-id": _id, ...headers }: Record<string, string>) =>
            headers;
          assert.deepEqual(comparable(headed.headers), comparable(got.headers), `${path} ${line}`);
        }
      }
      // RFC 9110, section 14.2: ranges apply to GET only.
      const ranged = await head(port, "/notes.txt", "Range: bytes=1-2");
      assert.deepEqual([ranged.status, ranged.headers["content-length"]], [200, "10"]);
    });

    test("a file that the client has gets 304", async () => {
      const tag = (await read(port, "/notes.txt")).headers["etag"] as string;
      const unchanged = [
        [`If-None-Match: ${tag}`],
        [`If-None-Match: W/${tag}`],
        [`If-None-Match: "other", ${tag}`],
        ["If-None-Match: *"],
        [`If-Modified-Since: ${longAgoText}`],
        ["If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT"],
        [`If-None-Match: ${tag}`, "If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT"],
        [`If-None-Match: ${tag}`, "Range: bytes=0-0"],
      ];
      for (const lines of unchanged) {
        const { status, headers, body } = await read(port, "/notes.txt", ...lines);
        assert.deepEqual([status, body.length], [304, 0], lines.join());
        assert.equal(headers["etag"], tag);
        assert.equal(headers["cache-control"], "public, max-age=300");
        assert.equal(headers["vary"], "Accept-Encoding");
        assert.equal(headers["content-length"], undefined);
        assert.equal(headers["content-type"], undefined);
      }
      const changed = [
        ['If-None-Match: "other"'],
        [`If-None-Match: "other"`, `If-Modified-Since: ${longAgoText}`],
        ["If-Modified-Since: Sun, 02 Feb 2020 02:02:01 GMT"],
        ["If-Modified-Since: yesterday"],
        ["If-Modified-Since: Sunday, 02-Feb-20 02:02:02 GMT"],
        ["If-None-Match: ", `If-Modified-Since: ${longAgoText}`],
      ];
      for (const lines of changed) {
        assert.equal((await read(port, "/notes.txt", ...lines)).status, 200, lines.join());
      }
    });

    test("one range gets 206 with Content-Range", async () => {
      const ranges = {
        "bytes=0-0": ["0", "bytes 0-0/10"],
        "bytes=5-": ["56789", "bytes 5-9/10"],
        "bytes=2-4": ["234", "bytes 2-4/10"],
        "bytes=8-100": ["89", "bytes 8-9/10"],
        "bytes=-3": ["789", "bytes 7-9/10"],
        "bytes=-100": ["0123456789", "bytes 0-9/10"],
      };
      for (const [range, [content, place]] of Object.entries(ranges)) {
        const answer = await read(port, "/notes.txt", `Range: ${range}`, "Accept-Encoding: gzip");
        assert.deepEqual([answer.status, text(answer)], [206, content], range);
        assert.equal(answer.headers["content-range"], place);
        assert.equal(answer.headers["content-length"], String(content?.length));
        assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
        assert.equal(answer.headers["etag"], (await read(port, "/notes.txt")).headers["etag"]);
      }
      const content = patterned(3_000_000);
      for (
        const [first, last] of [[0, 0], [1_000_000, 1_004_095], [1, 2_999_998], [
          2_999_999,
          2_999_999,
        ]] as const
      ) {
        const answer = await read(port, "/large.bin", `Range: bytes=${first}-${last}`);
        assert.equal(answer.status, 206);
        assert.ok(answer.body.equals(content.subarray(first, last + 1)), `${first}-${last}`);
      }
    });

    test("an unsatisfiable range gets 416 with the length", async () => {
      for (const range of ["bytes=10-", "bytes=10-12", "bytes=-0"]) {
        const answer = await read(port, "/notes.txt", `Range: ${range}`);
        assert.deepEqual([answer.status, answer.headers["content-range"]], [416, "bytes */10"], range);
      }
      const answer = await read(port, "/empty.txt", "Range: bytes=0-");
      assert.deepEqual([answer.status, answer.headers["content-range"]], [416, "bytes */0"]);
    });

    test("a malformed range, another unit and several ranges are ignored", async () => {
      for (const range of ["bytes=5-4", "bytes=x", "lines=1-2", "bytes=0-0,2-2", "0-0"]) {
        const answer = await read(port, "/notes.txt", `Range: ${range}`);
        assert.deepEqual([answer.status, text(answer)], [200, "0123456789"], range);
        assert.equal(answer.headers["content-range"], undefined);
      }
    });

    test("If-Range returns the range if the file is unchanged, and otherwise the whole file", async () => {
      const tag = (await read(port, "/notes.txt")).headers["etag"] as string;
      const status = async (ifRange: string, path = "/notes.txt") =>
        (await read(port, path, "Range: bytes=1-2", `If-Range: ${ifRange}`)).status;
      assert.equal(await status(tag), 206);
      assert.equal(await status(longAgoText), 206);
      for (const other of [`W/${tag}`, '"other"', "Sun, 02 Feb 2020 02:02:03 GMT", "x", "*"]) {
        assert.equal(await status(other), 200, other);
      }
      assert.equal((await read(port, "/notes.txt", "Range: bytes=10-", 'If-Range: "other"')).status, 200);
    });

    test("a client that accepts a coding gets the compressed variant with its own ETag", async () => {
      put(folder, "packed.html", "unpacked");
      put(folder, "packed.html.gz", gzipSync("unpacked"));
      put(folder, "packed.html.br", "br");
      put(folder, "packed.html.zst", "zst");
      const plain = await read(port, "/packed.html");
      const tags = new Set([plain.headers["etag"]]);
      assert.equal(plain.headers["content-encoding"], undefined);
      for (const coding of ["gzip", "br", "zstd"]) {
        const { status, headers } = await read(
          port,
          "/packed.html",
          `Accept-Encoding: deflate, ${coding};q=0.5`,
        );
        assert.deepEqual([status, headers["content-encoding"]], [200, coding]);
        assert.equal(headers["content-type"], "text/html; charset=utf-8");
        assert.equal(headers["vary"], "Accept-Encoding");
        tags.add(headers["etag"]);
        const again = await read(
          port,
          "/packed.html",
          `Accept-Encoding: ${coding}`,
          `If-None-Match: ${headers["etag"]}`,
        );
        assert.deepEqual([again.status, again.headers["content-encoding"]], [304, undefined]);
        const others = await read(port, "/packed.html", `If-None-Match: ${headers["etag"]}`);
        assert.equal(others.status, 200);
      }
      assert.equal(tags.size, 4);
      const chosen = async (accepted: string) =>
        (await read(port, "/packed.html", `Accept-Encoding: ${accepted}`)).headers["content-encoding"] ??
          "identity";
      assert.equal(await chosen("gzip, deflate, br, zstd"), "br");
      assert.equal(await chosen("gzip;q=1.0, br;q=0.9"), "gzip");
      assert.equal(await chosen("*"), "br");
      assert.equal(await chosen("identity, gzip;q=0.9"), "identity");
      assert.equal(await chosen("gzip;q=0, deflate"), "identity");
    });

    test("a replaced, rewritten or removed file is seen by the next request", async () => {
      const path = put(folder, "changing.txt", "one");
      const seen = async () => {
        const { status, headers, body } = await read(port, "/changing.txt");
        return [status, body.toString(), headers["etag"]] as const;
      };
      const [, first, tag] = await seen();
      assert.equal(first, "one");
      const tags = new Set([tag]);
      // The same length, in place and by another file, as fast as possible.
      for (const content of ["two", "six", "ten", "tax"]) {
        writeFileSync(path, content);
        const [, now, tag] = await seen();
        assert.equal(now, content);
        tags.add(tag);
        writeFileSync(`${path}.new`, content.toUpperCase());
        renameSync(`${path}.new`, path);
        const [, then, other] = await seen();
        assert.equal(then, content.toUpperCase());
        tags.add(other);
      }
      assert.equal(tags.size, 9);
      rmSync(path);
      assert.equal((await seen())[0], 404);
    });

    test("a download completes unchanged when its file is replaced or removed", async () => {
      const content = patterned(downloadBytes, 7);
      for (const change of ["replaced", "removed"]) {
        const path = put(folder, `${change}.bin`, content);
        const download = await Download.begin(port, `/${change}.bin`);
        writeFileSync(`${path}.new`, patterned(downloadBytes, 8));
        if (change === "replaced") renameSync(`${path}.new`, path);
        else rmSync(path);
        assert.ok((await download.rest()).equals(content), change);
      }
    });

    test("a download is cut off when its file is rewritten or truncated, and mixes no bytes", async () => {
      const content = patterned(downloadBytes, 7);
      const changes = {
        rewritten: (path: string) => writeFileSync(path, patterned(downloadBytes, 8), { flag: "r+" }),
        truncated: (path: string) => truncateSync(path, downloadBytes - 1),
        emptied: (path: string) => truncateSync(path, 0),
        grown: (path: string) => appendFileSync(path, "x"),
      };
      for (const [name, change] of Object.entries(changes)) {
        const path = put(folder, `${name}.bin`, content);
        const download = await Download.begin(port, `/${name}.bin`);
        change(path);
        const got = await download.rest();
        assert.ok(got.length < content.length, name);
        assert.ok(got.equals(content.subarray(0, got.length)), name);
        const access = await app.access(({ aborted }) => aborted);
        assert.equal(access.status, 200);
      }
    });

    test("no descriptor stays open after downloads end or are abandoned", async () => {
      const held = () => openFiles(app.pid).filter((path) => path.endsWith("left.bin")).length;
      put(folder, "left.bin", patterned(downloadBytes));
      const downloads = [];
      for (let n = 0; n < 5; n++) downloads.push(await Download.begin(port, "/left.bin"));
      // Deno opens another one while it reads.
      await until(() => held() === 1);
      assert.equal((await downloads[0]?.rest())?.length, downloadBytes);
      for (const download of downloads.slice(1)) download.leave();
      await until(() => held() === 0);
    });
  });
}

test("a client that stops reading loses its download, and the file is closed", async (t) => {
  for (const place of places) {
    const folder = makeFolder({ "stalled.bin": patterned(downloadBytes) });
    const app = await startApp(place, { folder, bounds: { stallTimeoutMs: 300 } });
    t.after(() => app.close());
    const download = await Download.begin(app.port, "/stalled.bin");
    await until(() => openFiles(app.pid).every((path) => !path.endsWith("stalled.bin")));
    assert.ok((await download.rest()).length < downloadBytes);
  }
});
