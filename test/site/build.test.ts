import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { buildSiteFrom, siteSettings } from "../../scripts/build_site.ts";
import { buildSite, writeSite } from "../../src/site/build.ts";
import { readPageSources } from "../../src/site/source.ts";
import { addTenant } from "../../src/store/operator/tenants.ts";
import { removePlan } from "../../src/store/operator/plans.ts";
import { readPlans } from "../../src/store/serving/plans.ts";
import { listAreasInForce } from "../../src/store/operator/vocabulary.ts";
import { temporaryFolder } from "../support/folder.ts";
import { readHtml, textsOf } from "../support/site/html.ts";
import { BuiltSite, gutterCare, jsonLdOf, planEntry, SiteTestEnv, urls } from "../support/site/site.ts";

let testEnv: SiteTestEnv;
const folder = temporaryFolder("build");
const unsold = { urls, contact: null, isSold: false };

before(async () => {
  testEnv = await SiteTestEnv.open();
  await testEnv.put(
    gutterCare,
    planEntry({ slug: "b", name: "B", customer: "acme", amount_cents: 1, interval: "year", items: [] }),
    planEntry({ slug: "a", name: "A", customer: "acme", amount_cents: 2, interval: "week", items: [] }),
  );
});

const contents = (site: BuiltSite) =>
  new Map(site.paths.map((path) => [path, site.bytes(path).toString("base64")]));

test("builds of the same content are identical, whatever the folder and the order of the input", async () => {
  const first = await testEnv.build("first");
  const again = await testEnv.build("deep/er/second");
  assert.deepEqual(contents(again), contents(first));
  const [areas, plans] = [await listAreasInForce(testEnv.pool), await readPlans(testEnv.pool)];
  const shuffled = buildSite({
    sources: readPageSources().reverse(),
    areas: [...areas].reverse(),
    plans: [...plans].reverse(),
    urls,
  });
  assert.deepEqual(
    new Map([...shuffled].map(([path, bytes]) => [path, Buffer.from(bytes).toString("base64")])),
    contents(first),
  );
});

test("Deno builds the same bytes as Node, except for compressed files", async () => {
  const site = await testEnv.build("runtime");
  const built = buildElsewhere("deno", [join(root, "node_modules/.bin/deno"), "run", "-A", "--no-check"]);
  assert.match(built.printed, /^Built \d+ files in .*\nThe files are not compressed/);
  const plain = [...contents(site)].filter(([path]) => !/\.(br|gz)$/.test(path));
  assert.deepEqual(contents(built.site), new Map(plain));
  assert.ok(plain.length < site.paths.length);
});

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Builds in another process, time zone and language. */
function buildElsewhere(
  name: string,
  [command = "", ...args]: string[],
): { site: BuiltSite; printed: string } {
  const dir = join(folder, name);
  const printed = execFileSync(command, [...args, "scripts/build_site.ts"], {
    cwd: root,
    encoding: "utf8",
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: testEnv.url,
      SITE_DIR: dir,
      SITE_URL: urls.site,
      INTAKE_URL: urls.intake,
      FORMS_URL: urls.forms,
      SUBSCRIPTION_URL: urls.subscription,
      TZ: "Pacific/Kiritimati",
      LANG: "tr_TR.UTF-8",
    },
  });
  return { site: new BuiltSite(dir), printed };
}

test("npm run site:build reports missing settings and keeps the existing site", async () => {
  const run = (env: Record<string, string>, ...args: string[]) => {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    try {
      const options = {
        cwd: root,
        encoding: "utf8",
        stdio: "pipe",
        env: { PATH: process.env.PATH, ...env },
      } as const;
      return { code: 0, text: execFileSync(process.execPath, ["scripts/build_site.ts", ...args], options) };
    } catch (error) {
      const { status, stderr } = error as { status: number; stderr: string };
      return { code: status, text: stderr };
    }
  };
  const site = await testEnv.build("kept");
  const before = contents(site);
  const nobody = run({ DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/none", SITE_DIR: site.dir });
  assert.equal(nobody.code, 1);
  assert.ok(!nobody.text.includes("secret"), nobody.text);
  assert.deepEqual(contents(site), before);
  const nowhere = run({ DATABASE_URL: testEnv.url, SITE_DIR: join(site.dir, "llms.txt", "site") });
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.text, /llms\.txt/);
  assert.doesNotMatch(nowhere.text, /database/i);
  const wrong = run({ DATABASE_URL: testEnv.url, SITE_URL: "www.example.com/path" });
  assert.equal(wrong.code, 2);
  assert.match(wrong.text, /SITE_URL is not a base URL/);
  assert.equal(run({}, "--fast").code, 2);
  assert.match(run({}, "--help").text, /^Usage: npm run site:build/);
});

test("a build replaces the previous site as a whole and leaves no other files", async () => {
  const dir = join(folder, "swap", "site");
  await buildSiteFrom(testEnv.url, { ...unsold, dir });
  writeFileSync(join(dir, "areas/gone.html"), "of yesterday");
  // The folder of a build that was killed; no process has this id.
  mkdirSync(`${dir}.new-999999999/areas`, { recursive: true });
  await buildSiteFrom(testEnv.url, { ...unsold, dir });
  assert.ok(!existsSync(join(dir, "areas/gone.html")));
  assert.deepEqual(readdirSync(join(folder, "swap")), ["site"]);
});

test("a folder with other content is not replaced", async () => {
  const dir = join(folder, "home");
  mkdirSync(dir);
  writeFileSync(join(dir, "diary.txt"), "dear diary");
  await assert.rejects(buildSiteFrom(testEnv.url, { ...unsold, dir }), /contains files other than a site/);
  assert.equal(readFileSync(join(dir, "diary.txt"), "utf8"), "dear diary");
  mkdirSync(join(folder, "empty"));
  writeSite(join(folder, "empty"), new Map([["llms.txt", new Uint8Array(1)]]));
  assert.deepEqual(readdirSync(join(folder, "empty")), ["llms.txt"]);
});

test("an added area gets a page that marks it as new, and a retired one disappears from pages, lists, links and rows", async () => {
  await testEnv.add("wine cellar", "proposed");
  await testEnv.retire("gutters");
  const site = await testEnv.build("vocabulary");
  const page = site.text("areas/wine-cellar/index.html");
  assert.match(page, /no description of these leads yet/);
  assert.match(page, /proposed: it appeared in real leads/);
  assert.ok(site.text("areas/index.html").includes('href="/areas/wine-cellar/"'));
  assert.ok(site.text("llms.txt").includes("/areas/wine-cellar/index.html.md"));
  for (const path of site.paths.filter((path) => /\.(html|md|xml|txt)$/.test(path))) {
    assert.ok(!site.text(path).includes("/areas/gutters/"), path);
  }
  assert.ok(/often together with the\s+gutters\./.test(site.text("areas/roof/index.html")), "the word stays");
  const database = site.database();
  const rows = database.prepare(
    "select (select count(*) from page where path like '%gutters%') as pages, (select count(*) from entity where id like '%gutters%') as entities, (select count(*) from edge where object like '%gutters%') as edges",
  ).get();
  assert.deepEqual({ ...rows }, { pages: 0, entities: 0, edges: 0 });
  database.close();
});

test("each plan on sale has a link to buy it, and a configured contact for keys is named", async () => {
  const plans = await readPlans(testEnv.pool);
  const textOf = (path: string, more: object) =>
    new TextDecoder().decode(
      buildSite({ sources: readPageSources(), areas: [], plans, urls, ...more }).get(path),
    );
  const links = (
    more: object,
  ) => [...textOf("plans/index.html", more).matchAll(/href="([^"]*\/buy\/[^"]*)"/g)];
  assert.deepEqual(
    links({ isSold: true }).map(([, href]) => href).sort(),
    plans.map(({ slug }) => `${urls.subscription}/buy/${slug}`).sort(),
  );
  assert.deepEqual(links({ isSold: false }), []);
  assert.match(textOf("faq/index.html", { contact: "keys@acme.example" }), /href="mailto:keys@acme.example"/);
  assert.doesNotMatch(textOf("faq/index.html", {}), /mailto:/);
  assert.throws(() => siteSettings({ CONTACT_EMAIL: "keys" }), /CONTACT_EMAIL is not an email address/);
});

test("the plans page for buyers names the customer and no feed member; the feed has its own page", async () => {
  await addTenant(testEnv.pool, { slug: "acme-roofing", name: "Acme Roofing", sandbox: false });
  const site = await testEnv.build("buyers");
  const text = textsOf(site.text("plans/index.html"), "article").join(" ");
  assert.match(text, /\$29\.00 a month, by Acme Roofing\./);
  assert.doesNotMatch(text, /acme-roofing|amount_cents|trial_days|curl/);
  assert.match(site.text("plans/feed/index.html"), /<code>amount_cents<\/code>/);
});

test("markup in areas and plans is shown as text", async () => {
  const hostile = [
    '<script>alert("1")</script>',
    "</script><img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](https://evil.example/x.png) <https://evil.example> www.evil.example",
    "{{site url}} & {{no such fact}} &lt;b&gt;",
    "| a | b |",
    "`code` ``more`` `",
    "# heading",
    "*** _x_ ~~y~~",
    "ünïcödé 屋根 🏠",
    "roof!",
    "..",
    "'; drop table page; --",
    "]]> --> ]]&gt;",
  ];
  for (const area of hostile) await testEnv.add(area);
  for (const [n, text] of hostile.entries()) {
    await testEnv.put(planEntry({
      slug: `hostile-${n}`,
      name: `${text} ${n}`,
      customer: text,
      amount_cents: 0,
      interval: "day",
      items: [{ title: text, detail: text }],
      [text]: text,
      nested: { [text]: [text, 1.10, null, true] },
    }));
  }
  const site = await testEnv.build("hostile");
  for (const [path, html] of site.pages) {
    const elements = readHtml(html);
    assert.doesNotThrow(() => jsonLdOf(html), path);
    for (const { name, attributes } of elements) {
      assert.ok(
        !["script", "img", "b"].includes(name) || attributes.type === "application/ld+json" ||
          /^\/assets\/copy\.[0-9a-f]{12}\.js$/.test(attributes.src ?? ""),
        `${path}: ${name}`,
      );
      assert.ok(!Object.keys(attributes).some((one) => one.startsWith("on")), path);
      if (name === "a") {
        assert.match(attributes.href ?? "", /^(\/|#|https:\/\/(intake|forms|plans)\.example\.com)/, path);
      }
    }
  }
  const areas = textsOf(site.text("areas/index.html"), "li");
  const plans = textsOf(site.text("plans/index.html"), "td");
  for (const text of hostile) {
    assert.ok(areas.includes(text), `${text} is listed as it is`);
    assert.ok(plans.filter((one) => one === text).length >= 2, `${text} stands in the plans as it is`);
  }
  const database = site.database();
  const terms = database.prepare("select name from entity where type = 'DefinedTerm'").all().map(({ name }) =>
    name
  );
  const offers = database.prepare("select name from entity where type = 'Offer'").all().map(({ name }) =>
    name
  );
  for (const [n, text] of hostile.entries()) {
    assert.ok(terms.includes(text), text);
    assert.ok(offers.includes(`${text} ${n}`), text);
  }
  assert.deepEqual(database.prepare("pragma foreign_key_check").all(), []);
  database.close();
  for (const [n] of hostile.entries()) await removePlan(testEnv.pool, `hostile-${n}`);
});
