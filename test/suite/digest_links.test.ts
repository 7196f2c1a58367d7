import assert from "node:assert/strict";
import { test } from "node:test";
import { digestJob } from "../../src/actions/digests.ts";
import type { MailText } from "../../src/notification/mail.ts";
import { createLog } from "../../src/observe/log.ts";
import { DigestStore } from "../../src/store/delivery/digests.ts";
import { createRole } from "../support/actions/actions_process.ts";
import { type RequestOptions, send } from "../support/client.ts";
import { openPool } from "../support/pool.ts";
import { ctl } from "../support/server.ts";
import { TestEnv, visitor } from "../support/test_env.ts";

/** A recipient releases a held submission with the digest's link. */
const testEnv = await TestEnv.open();
const [oldSecret, newSecret] = ["old-".padEnd(40, "o"), "new-".padEnd(40, "n")];
const server = await testEnv.start({ FORMS_LINK_SECRET: `${newSecret},${oldSecret}` });
const on = { databaseUrl: testEnv.database.url };
const { form, key } = await testEnv.formWithKey({ blocked: ["miracle cure"] });
const { slug, id: tenantId } = form.tenant;
await ctl(
  ["tenant", "set", slug, "--name", "Acme & Sons", "--digest", "07:00", "--digest-actions", "on"],
  on,
);
await testEnv
  .sql`insert into actions.route (tenant_id, kind, address) values (${tenantId}, 'email', 'boss@acme.example')`;
const role = await createRole(testEnv.database.url, "lead_actions");
const store = new DigestStore(openPool(role.url));

const submitted = "2026-11-20T10:30:00Z";
const due = "2026-11-21T07:20:00Z";

/** Posts a submission that is held, on the day before the digest. */
async function hold(message: string, members = {}): Promise<string> {
  await testEnv.setClock(submitted);
  const body = visitor({ message: `miracle cure ${message}`, ...members });
  const { json } = await testEnv.submit(form, { key: key.text, body });
  await testEnv.setClock(due);
  return json.submission_id;
}

/** Returns the digest as an email, with links signed by `secret`. */
async function digest(secret: string | null = newSecret) {
  await testEnv.sql`delete from actions.digest`;
  await testEnv.sql`
    insert into actions.digest (tenant_id, route_id, due_at, covered_until)
    select r.tenant_id, r.id, '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z' from actions.route as r`;
  const lines: string[] = [];
  const mails: MailText[] = [];
  const job = digestJob({
    store,
    sendMail: ({ mail }) => {
      mails.push(mail());
      return Promise.resolve({ kind: "done" });
    },
    heldLinks: secret === null ? null : { formsUrl: server.urls.forms as string, secret },
    timeoutMs: 20_000,
    nowMs: () => Date.parse(due),
    observe: () => {},
    log: createLog({ push: (line) => void lines.push(line) }, () => new Date()),
  });
  assert.equal(await job.runOnce(), true);
  const [{ text, html } = { text: "", html: "" }] = mails;
  const links = [...text.matchAll(/^Release this message: (\S+)$/gm)].map(([, url]) => url as string);
  return { text, html, links, lines };
}

/** Returns the link of a submission. */
async function linkOf(id: string, secret?: string): Promise<string> {
  const { links } = await digest(secret);
  return links.find((link) => link.includes(id)) as string;
}

async function open(url: string, options: RequestOptions = {}) {
  const { status, headers, text } = await send(url, options);
  assert.equal(headers["cache-control"], "no-store");
  assert.equal(headers["referrer-policy"], "no-referrer");
  assert.equal(headers["x-robots-tag"], "noindex, nofollow");
  return { status, title: /<h1>(.*)<\/h1>/.exec(text)?.[1], text };
}

const press = (url: string, options: RequestOptions = {}) => open(url, { method: "POST", ...options });
const releases = (id: string) =>
  testEnv.sql`select actor, claimed from audit where action = 'submission.release' and subject = ${id}`;

test("the digest has name, message, time and link of each held submission, people first, and no link from a submission", async () => {
  const bot = await hold("from a program", { website: "x" });
  const id = await hold(`see https://evil.example/x ${"word ".repeat(60)}`, {
    email: "grace@example.com",
    page_url: `https://acme.example/?gclid=${"x".repeat(400)}`,
  });
  const { text, html, links } = await digest();
  assert.deepEqual(links.map((link) => new URL(link).pathname.split(/[/.]/)[2]), [id, bot]);
  assert.match(
    text,
    /^Held messages:\n\nGrace Zmarker:\n {4}miracle cure see https:\/\/ evil\. example\/x (word )*word…\n {4}grace@ example\. com\n {4}Nov 20, 10:30 AM UTC, form contact$/m,
  );
  for (const link of links) assert.ok(html.includes(`href="${link}"`));
  assert.equal(html.match(/href=/g)?.length, 2);
});

test("opening the link shows the digest's excerpt without effect; the button releases it once, with an audit row", async () => {
  const id = await hold("<b>our roof</b>", { secret: "not in the mail" });
  const link = await linkOf(id);
  for (const method of ["GET", "HEAD", "GET"]) {
    const { status, title, text } = await open(link, { method });
    assert.equal(status, 200);
    if (method === "HEAD") continue;
    assert.equal(title, "Release this message?");
    assert.match(
      text,
      /Acme &amp; Sons.*Grace Zmarker<\/strong><br>grace@example\.com<br>miracle cure &lt;b&gt;our roof.*2026-11-20, 10:30, form contact/s,
    );
    assert.doesNotMatch(text, /not in the mail|evil\.example|<script/);
  }
  assert.equal((await testEnv.submission(id)).released_at, null);
  const pressed = await Promise.all([1, 2, 3, 4].map(() => press(link, { localAddress: "127.3.3.3" })));
  for (const { status, title } of [...pressed, await open(link), await press(link)]) {
    assert.deepEqual([status, title], [200, "This message has been released"]);
  }
  assert.equal((await testEnv.submission(id)).queued, 1);
  const noted = await releases(id);
  assert.deepEqual(noted.map(({ claimed }) => claimed), ["127.3.3.3"]);
  assert.match(noted[0]?.actor, /^digest /);
});

test("a submission released, dismissed or erased meanwhile stays so and is not shown", async () => {
  for (
    const [command, title] of [
      [["form", "release"], "This message has been released"],
      [["form", "dismiss"], "This message stays held"],
      [["erase", "--event"], "This message was deleted"],
    ] as const
  ) {
    const id = await hold(command.join(" "));
    const link = await linkOf(id);
    await ctl([...command, id], on);
    const before = await testEnv.submission(id);
    for (const found of [await open(link), await press(link)]) {
      assert.deepEqual([found.status, found.title], [200, title]);
      assert.doesNotMatch(found.text, /miracle|grace/);
    }
    assert.deepEqual(await testEnv.submission(id), before);
  }
});

test("an altered, foreign or seven-day-old link, or one of a removed recipient or a tenant without links, answers 404", async () => {
  const id = await hold("a person's");
  const link = await linkOf(id);
  const other = await hold("another person's");
  const nowhere = async (url: string) => {
    for (const { status, title, text } of [await open(url), await press(url)]) {
      assert.deepEqual([status, title], [404, "This link no longer works"]);
      assert.doesNotMatch(text, /miracle/);
    }
  };
  const [, token = ""] = link.split("/held/");
  const [, route, expires, mark = ""] = token.split(".");
  const withToken = (changed: string) => link.replace(token, changed);
  await nowhere(withToken(`${other}.${route}.${expires}.${mark}`));
  await nowhere(withToken(`${id}.${route}.${Number(expires) + 1}.${mark}`));
  await nowhere(withToken(`${id}.0${route}.${expires}.${mark}`));
  await nowhere(withToken(`${id}.${route}.${expires}.${mark.slice(1)}`));
  await nowhere(withToken(`${id}.${route}.${expires}.`));
  await nowhere(withToken("x"));
  await nowhere(await linkOf(id, "unknown".padEnd(40, "u")));

  await testEnv.setClock("2026-11-28T07:20:00Z");
  await nowhere(link);
  await testEnv.setClock("2026-11-28T07:19:59Z");
  assert.equal((await open(link)).status, 200);
  await testEnv.setClock(due);

  for (
    const [end, begin] of [
      ["update tenant set digest_actions = false", "update tenant set digest_actions = true"],
      ["update tenant set disabled_at = now()", "update tenant set disabled_at = null"],
      ["update actions.route set form = 'x'", "update actions.route set form = ''"],
      ["update actions.route set kind = 'slack', address = 'https://x.example/'", "select"],
    ] as const
  ) {
    await testEnv.sql.unsafe(end);
    await nowhere(link);
    await testEnv.sql.unsafe(begin);
  }
  await testEnv.sql`update actions.route set kind = 'email', address = 'boss@acme.example'`;
  assert.equal((await testEnv.submission(id)).released_at, null);
  // The previous secret still verifies the links of earlier emails.
  assert.equal((await press(await linkOf(id, oldSecret))).status, 200);
  assert.notEqual((await testEnv.submission(id)).released_at, null);
});

test("a recipient who was removed from the digest can no longer release, and a new one cannot use the old link", async () => {
  const id = await hold("for the boss");
  const link = await linkOf(id);
  const recipients = (addresses: string) => ctl(["tenant", "route", slug, "--email", addresses], on);
  await recipients("boss@acme.example,new@acme.example");
  assert.equal((await open(link)).status, 200);
  await recipients("new@acme.example");
  assert.equal((await press(link)).status, 404);
  assert.equal((await testEnv.submission(id)).released_at, null);
  await recipients("boss@acme.example");
  assert.equal((await press(link)).status, 200);
});

test("the digest omits held submissions when the tenant has no links or the actions process no secret", async () => {
  await hold("quiet");
  const unset = await digest(null);
  assert.match(unset.lines.join("\n"), /"event":"digest_links_unset","tenant":"tenant-1"/);
  await ctl(["tenant", "set", slug, "--digest-actions", "off"], on);
  const off = await digest();
  assert.doesNotMatch(off.lines.join("\n"), /digest_links_unset/);
  for (const { text } of [unset, off]) assert.doesNotMatch(text, /miracle|grace|Release/);
  await ctl(["tenant", "set", slug, "--digest-actions", "on"], on);
});

test("the page shares the public read budget, posts included, and needs a secret", async () => {
  const link = await linkOf(await hold("budget"));
  const small = await testEnv.start({
    FORMS_LINK_SECRET: newSecret,
    PUBLIC_IP_PER_MINUTE: "1",
    PUBLIC_IP_BURST: "1",
  });
  const path = new URL(link).pathname;
  const localAddress = "127.4.4.4";
  assert.equal((await open(small.urls.forms + path, { localAddress })).status, 200);
  for (const method of ["GET", "POST"]) {
    assert.equal((await open(small.urls.forms + path, { method, localAddress })).status, 429);
  }
  assert.equal((await open(link, { method: "DELETE" })).status, 405);
  const none = await testEnv.start();
  assert.equal((await send(none.urls.forms + path)).status, 404);
});
