import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { buildSite, writeSite } from "#src/site/build.ts";
import { readPageSources } from "#src/site/source.ts";
import { send } from "../support/client.ts";
import { temporaryFolder } from "../support/folder.ts";
import { urls } from "../support/site/site.ts";
import { TestEnv } from "../support/test_env.ts";

const testEnv = await TestEnv.open();
const dir = join(temporaryFolder("search"), "site");
const build = () => writeSite(dir, buildSite({ sources: readPageSources(), areas: [], plans: [], urls }));
build();
const server = await testEnv.start({ SITE_DIR: dir });

const ask = async (query: string) => {
  const { status, headers, text } = await send(`${server.urls.site}/search/?q=${encodeURIComponent(query)}`);
  const list = /<ol class="results">([^]*?)<\/ol>/.exec(text)?.[1] ?? "";
  return { status, headers, text, found: [...list.matchAll(/<a href="([^"]+)">/g)].map(([, href]) => href) };
};

test("every page has a search form, and /search/ lists the pages with all the words, best first", async () => {
  const home = (await send(`${server.urls.site}/`)).text;
  assert.match(home, /<form action="\/search\/" role="search"><input type="search" name="q"/);
  const { status, headers, text, found } = await ask("Idempotency");
  assert.equal(status, 200);
  assert.match(String(headers["content-security-policy"]), /default-src 'self'.*form-action 'self'/);
  assert.equal(found[0], "/intake/idempotency/");
  assert.match(text, /<mark>[Ii]dempotency<\/mark>/);
  assert.match(text, /name="q" value="Idempotency"/);
  assert.match(text, /<meta name="robots" content="noindex">/);
  assert.ok((await ask("honeypot css")).found.includes("/forms/"), "both words");
  assert.ok((await ask("honeypot zebra")).found.includes("/forms/"), "the one that there is");
  build();
  assert.deepEqual((await ask("Idempotency")).found, found, "a site that was built anew");
});

test("search input is treated as text, on the page and in the index", async () => {
  const nothing = ["", "zebra", '"', "* - ( ) :", "';--", "\u0000"];
  for (const query of nothing) assert.deepEqual((await ask(query)).found, [], query);
  const { text, found } = await ask(`"><script>alert(1)</script>NEAR AND title:^lead*`);
  assert.doesNotMatch(text, /<script>alert/);
  assert.ok(text.includes("&quot;&gt;&lt;script&gt;"));
  assert.ok(found.length > 0);
  assert.equal((await ask("lead ".repeat(2_000))).status, 200);
});
