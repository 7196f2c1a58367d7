import assert from "node:assert/strict";
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, patterned } from "../support/http/static_folder.ts";
import { TestEnv } from "../support/test_env.ts";

const database = patterned(400_000);
const folder = makeFolder({
  "index.html": "<!doctype html><title>Home</title>",
  "areas/roof/index.html": "<!doctype html><title>Roof</title>",
  "llms.txt": "# Site",
  "sitemap.xml": "<urlset/>",
  "icon.svg": "<svg/>",
  "assets/site.data": database,
});
const testEnv = await TestEnv.open();
const server = await testEnv.start({ SITE_DIR: folder });

test("GET /assets/site.data is a SQLite file that any origin may read by ranges", async () => {
  const url = `${server.urls.site}/assets/site.data`;
  const whole = await fetch(url);
  assert.equal(whole.status, 200);
  assert.equal(whole.headers.get("content-type"), "application/vnd.sqlite3");
  assert.equal(whole.headers.get("cache-control"), "public, max-age=300");
  assert.equal(whole.headers.get("access-control-allow-origin"), "*");
  assert.equal(whole.headers.get("content-length"), String(database.length));
  assert.deepEqual(new Uint8Array(await whole.arrayBuffer()), database);
  const tag = whole.headers.get("etag") as string;
  const part = await fetch(url, { headers: { "Range": "bytes=4096-8191", "If-Match": tag } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get("content-range"), `bytes 4096-8191/${database.length}`);
  assert.match(part.headers.get("access-control-expose-headers") ?? "", /Content-Range/);
  assert.deepEqual(new Uint8Array(await part.arrayBuffer()), database.subarray(4_096, 8_192));
  assert.equal((await fetch(url, { headers: { "If-None-Match": tag } })).status, 304);
});

test("pages, texts and images have their media types, and pages a policy", async () => {
  const page = await fetch(`${server.urls.site}/areas/roof/`);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(
    page.headers.get("content-security-policy") ?? "",
    /default-src 'self'.*frame-ancestors 'none'/,
  );
  assert.equal(page.headers.get("referrer-policy"), "strict-origin-when-cross-origin");
  assert.equal(page.headers.get("x-content-type-options"), "nosniff");
  assert.match(await page.text(), /Roof/);
  const llms = await fetch(`${server.urls.site}/llms.txt`);
  assert.equal(llms.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(llms.headers.get("content-security-policy"), null);
  await llms.body?.cancel();
  const picture = await fetch(`${server.urls.site}/icon.svg`);
  assert.match(picture.headers.get("content-security-policy") ?? "", /sandbox/);
  await picture.body?.cancel();
});

test("SITE_DIR may be a symbolic link that is switched to another release", async () => {
  const releases = makeFolder({ "1/index.html": "first", "2/index.html": "second", "2/more.txt": "more" });
  const current = join(releases, "current");
  symlinkSync("1", current);
  const linked = await testEnv.start({ SITE_DIR: current });
  const home = async () => await (await fetch(`${linked.urls.site}/`)).text();
  assert.equal(await home(), "first");
  symlinkSync("2", `${current}.new`);
  renameSync(`${current}.new`, current);
  assert.equal(await home(), "second");
  assert.equal(await (await fetch(`${linked.urls.site}/more.txt`)).text(), "more");
});
