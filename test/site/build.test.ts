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
import { BuiltSite, gutterCare, jsonLdOf, planEntry, SiteWorld, urls } from "../support/site/site.ts";

let world: SiteWorld;
const folder = temporaryFolder("build");
const unsold = { urls, contact: null, isSold: false };

before(async () => {
  world = await SiteWorld.open();
  await world.put(
    gutterCare,
    planEntry({ slug: "b", name: "B", customer: "acme", amount_cents: 1, interval: "year", items: [] }),
    planEntry({ slug: "a", name: "A", customer: "acme", amount_cents: 2, interval: "week", items: [] }),
  );
});

const contents = (site: BuiltSite) =>
  new Map(site.paths.map((path) => [path, site.bytes(path).toString("base64")]));

test("two builds of the same content are the same bytes, whatever their folder and the order of what they read", async () => {
  const first = await world.build("first");
  const again = await world.build("deep/er/second");
  assert.deepEqual(contents(again), contents(first));
  const [areas, plans] = [await listAreasInForce(world.pool), await readPlans(world.pool)];
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

test("Deno builds every file but the packed ones, with the same bytes as Node", async () => {
  const site = await world.build("runtime");
  const built = buildElsewhere("deno", [join(root, "node_modules/.bin/deno"), "run", "-A", "--no-check"]);
  assert.match(built.printed, /^Built \d+ files in .*\nNone of them is packed/);
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
      DATABASE_URL: world.url,
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

test("npm run site:build says what is missing, and leaves the site that is there", async () => {
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
  const site = await world.build("kept");
  const before = contents(site);
  const nobody = run({ DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/none", SITE_DIR: site.dir });
  assert.equal(nobody.code, 1);
  assert.ok(!nobody.text.includes("secret"), nobody.text);
  assert.deepEqual(contents(site), before);
  const nowhere = run({ DATABASE_URL: world.url, SITE_DIR: join(site.dir, "llms.txt", "site") });
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.text, /llms\.txt/);
  assert.doesNotMatch(nowhere.text, /database/i);
  const wrong = run({ DATABASE_URL: world.url, SITE_URL: "www.example.com/path" });
  assert.equal(wrong.code, 2);
  assert.match(wrong.text, /SITE_URL is not a base address/);
  assert.equal(run({}, "--fast").code, 2);
  assert.match(run({}, "--help").text, /^Usage: npm run site:build/);
});

test("a site replaces the one before it whole, and leaves nothing beside it", async () => {
  const dir = join(folder, "swap", "site");
  await buildSiteFrom(world.url, { ...unsold, dir });
  writeFileSync(join(dir, "areas/gone.html"), "of yesterday");
  // What a build that was killed has left: no process has this number.
  mkdirSync(`${dir}.new-999999999/areas`, { recursive: true });
  await buildSiteFrom(world.url, { ...unsold, dir });
  assert.ok(!existsSync(join(dir, "areas/gone.html")));
  assert.deepEqual(readdirSync(join(folder, "swap")), ["site"]);
});

test("a folder that holds something else is not replaced", async () => {
  const dir = join(folder, "home");
  mkdirSync(dir);
  writeFileSync(join(dir, "diary.txt"), "dear diary");
  await assert.rejects(buildSiteFrom(world.url, { ...unsold, dir }), /holds something else than a site/);
  assert.equal(readFileSync(join(dir, "diary.txt"), "utf8"), "dear diary");
  mkdirSync(join(folder, "empty"));
  writeSite(join(folder, "empty"), new Map([["llms.txt", new Uint8Array(1)]]));
  assert.deepEqual(readdirSync(join(folder, "empty")), ["llms.txt"]);
});

test("an added area has a page that says that it is new, and a retired one is gone from pages, lists, links and rows", async () => {
  await world.add("wine cellar", "proposed");
  await world.retire("gutters");
  const site = await world.build("vocabulary");
  const page = site.text("areas/wine-cellar/index.html");
  assert.match(page, /Nobody has written yet/);
  assert.match(page, /proposed: it came with real traffic/);
  assert.ok(site.text("areas/index.html").includes('href="/areas/wine-cellar/"'));
  assert.ok(site.text("llms.txt").includes("/areas/wine-cellar/index.html.md"));
  for (const path of site.paths.filter((path) => /\.(html|md|xml|txt)$/.test(path))) {
    assert.ok(!site.text(path).includes("/areas/gutters/"), path);
  }
  assert.ok(/often with the\s+gutters\./.test(site.text("areas/roof/index.html")), "the word stays");
  const database = site.database();
  const rows = database.prepare(
    "select (select count(*) from page where path like '%gutters%') as pages, (select count(*) from entity where id like '%gutters%') as entities, (select count(*) from edge where object like '%gutters%') as edges",
  ).get();
  assert.deepEqual({ ...rows }, { pages: 0, entities: 0, edges: 0 });
  database.close();
});

test("where plans are sold each has a link to buy it, and a contact for keys is named; otherwise neither", async () => {
  const plans = await readPlans(world.pool);
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
  assert.throws(() => siteSettings({ CONTACT_EMAIL: "keys" }), /CONTACT_EMAIL is not an address/);
});

test("the plans of buyers name the customer and no member of the feed, which has a page of its own", async () => {
  await addTenant(world.pool, { slug: "acme-roofing", name: "Acme Roofing", sandbox: false });
  const site = await world.build("buyers");
  const text = textsOf(site.text("plans/index.html"), "article").join(" ");
  assert.match(text, /\$29\.00 a month, by Acme Roofing\./);
  assert.doesNotMatch(text, /acme-roofing|amount_cents|trial_days|curl/);
  assert.match(site.text("plans/feed/index.html"), /<code>amount_cents<\/code>/);
});

test("what an operator types is text everywhere: areas and plans with markup in them", async () => {
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
  for (const area of hostile) await world.add(area);
  for (const [n, text] of hostile.entries()) {
    await world.put(planEntry({
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
  const site = await world.build("hostile");
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
  for (const [n] of hostile.entries()) await removePlan(world.pool, `hostile-${n}`);
});
