import assert from "node:assert/strict";
import { before, test } from "node:test";
import { acceptPosts } from "../support/accept.ts";
import { openStore } from "../support/store.ts";
import { ctl, runCtl } from "../support/server.ts";

const { databaseUrl, sql } = await openStore();
const on = { databaseUrl };
const keys: Record<string, number> = {};

before(async () => {
  for (const slug of ["acme", "other"]) {
    await ctl(["tenant", "add", slug], on);
    keys[slug] = Number(
      (await ctl(["key", "issue", slug, "--label", `${slug}-web`, "--surface", "forms"], on)).id,
    );
  }
});

let forms = 0;

/** Adds a form to the tenant `acme` for one test. */
async function freshForm(...options: string[]): Promise<string> {
  const formKey = `form-${++forms}`;
  await ctl(["form", "add", "acme", formKey, "--required", "name", ...options], on);
  return formKey;
}

async function refused(...args: string[]): Promise<{ code: unknown; stderr: string }> {
  const { code, stdout, stderr } = await runCtl([...args, "--json"], on);
  assert.equal(stdout, "");
  return { code, stderr: stderr.split("\n")[0] ?? "" };
}

/** Stores a submission as the service does, and returns its id. */
async function store(
  verdict: string,
  { tenant = "acme", formKey, lead = '{"name":"Ada"}' }: { tenant?: string; formKey: string; lead?: string },
): Promise<string> {
  const [form] = await sql<{ id: number }[]>`
    select f.id from form as f join tenant as t on t.id = f.tenant_id
    where t.slug = ${tenant} and f.form_key = ${formKey}`;
  const isClean = verdict === "clean";
  const [row] = await acceptPosts(sql, [{
    keyId: keys[tenant] as number,
    space: "C",
    lead,
    raw: lead,
    formId: form?.id as number,
    verdict,
    extra: `{"form_key":"${formKey}","attribution":{}}`,
    score: isClean ? 5 : 80,
    lastName: "ada",
    reasons: isClean ? "" : "links,gibberish",
  }]);
  return row?.event_id as string;
}

test("form add defines a form, and form list shows it", async () => {
  const added = await ctl(
    ["form", "add", "acme", "Contact.v2", "--required", " name, e-mail ,name", "--threshold", "70"],
    on,
  );
  assert.deepEqual(added, {
    tenant: "acme",
    form_key: "Contact.v2",
    required: ["name", "e-mail"],
    threshold: 70,
    blocked: [],
  });
  const [listed] = (await ctl(["form", "list", "--tenant", "acme"], on))
    .filter((form: { form_key: string }) => form.form_key === "Contact.v2");
  assert.match(listed.created_at, /^\d{4}-.*Z$/);
  delete listed.created_at;
  assert.deepEqual(listed, added);
  assert.deepEqual(await ctl(["form", "list", "--tenant", "other"], on), []);
  const { stdout } = await runCtl(["form", "list"], on);
  assert.match(stdout, /^TENANT +FORM +REQUIRED +THRESHOLD +BLOCKED +CREATED \(UTC\)\n/);
  assert.match(stdout, /^acme +Contact\.v2 +name, e-mail +70 +- /m);
});

test("form add refuses an existing form, and form change changes only the given options", async () => {
  const formKey = await freshForm("--blocked", "seo");
  assert.deepEqual(await refused("form", "add", "acme", formKey, "--required", "x"), {
    code: 1,
    stderr: `Tenant acme already has a form ${formKey}; ctl form change changes it`,
  });
  const changed = (...options: string[]) => ctl(["form", "change", "acme", formKey, ...options], on);
  const base = { tenant: "acme", form_key: formKey };
  assert.deepEqual(await changed("--threshold", "90"), {
    ...base,
    required: ["name"],
    threshold: 90,
    blocked: ["seo"],
  });
  assert.deepEqual(await changed("--required", "phone", "--threshold", "default"), {
    ...base,
    required: ["phone"],
    threshold: null,
    blocked: ["seo"],
  });
  assert.deepEqual(await changed("--blocked", ""), {
    ...base,
    required: ["phone"],
    threshold: null,
    blocked: [],
  });
  assert.equal((await refused("form", "change", "acme", "nowhere", "--threshold", "9")).code, 1);
});

test("form remove removes a form from the list, and form add restores it with a new definition", async () => {
  const formKey = await freshForm("--blocked", "seo");
  const submission = await store("spam", { formKey });
  await ctl(["form", "remove", "acme", formKey], on);
  assert.equal((await refused("form", "remove", "acme", formKey)).code, 1);
  assert.equal((await refused("form", "change", "acme", formKey, "--threshold", "9")).code, 1);
  const listed = await ctl(["form", "list"], on);
  assert.ok(!listed.some((form: { form_key: string }) => form.form_key === formKey));
  assert.equal(
    (await ctl(["lead", "show", submission], on)).form_key,
    formKey,
    "its submissions are retained",
  );
  const back = await ctl(["form", "add", "acme", formKey, "--required", "email"], on);
  assert.deepEqual(back.blocked, []);
});

test("form held lists held submissions without content, and honeypot hits apart", async () => {
  const formKey = await freshForm();
  const [honeypot, clean, spam] = [
    await store("honeypot", { formKey }),
    await store("clean", { formKey }),
    await store("spam", { formKey }),
  ];
  await ctl(["form", "add", "other", "contact", "--required", "name"], on);
  await store("spam", { tenant: "other", formKey: "contact" });
  const listHeld = async (...options: string[]) =>
    (await ctl(["form", "held", "--tenant", "acme", "--limit", "500", ...options], on))
      .filter((one: { form_key: string }) => one.form_key === formKey);
  const idsOf = (rows: { submission_id: string }[]) => rows.map((one) => one.submission_id);
  const held = await listHeld();
  assert.deepEqual([idsOf(held), idsOf(await listHeld("--honeypot"))], [[spam], [honeypot]]);
  const { received_at, ...rest } = held[0];
  assert.match(received_at, /Z$/);
  assert.deepEqual(rest, {
    submission_id: spam,
    tenant: "acme",
    form_key: formKey,
    source: "acme-web",
    verdict: "spam",
    score: 80,
    reasons: ["links", "gibberish"],
  });
  const { stdout } = await runCtl(["form", "held", "--limit", "1"], on);
  assert.match(stdout, /acme +\S+ +acme-web +spam +80 +links, gibberish/);
  assert.match(stdout, /The first 1; --limit N shows more\.$/m);
  assert.match(stdout, /^\d+ submissions? to review, and \d+ honeypot hits? apart \(--honeypot\)\.$/m);
  assert.deepEqual(await ctl(["form", "dismiss", honeypot, spam], on), {
    submission_ids: [honeypot, spam],
    dismissed: true,
  });
  assert.deepEqual([...await listHeld(), ...await listHeld("--honeypot")], []);
  const shown = await ctl(["lead", "show", spam], on);
  assert.deepEqual([shown.delivery.state, typeof shown.dismissed_at], ["held", "string"]);
  assert.deepEqual(await refused("form", "dismiss", clean), {
    code: 1,
    stderr: `${clean} is not held: it was queued for delivery on arrival`,
  });
});

test("form release of a released, clean, erased or unknown submission exits 1", async () => {
  const formKey = await freshForm();
  const [twice, clean, erased] = [
    await store("spam", { formKey }),
    await store("clean", { formKey }),
    await store("spam", { formKey }),
  ];
  await ctl(["form", "release", twice], on);
  await sql`select erase_event(${erased}, null, '{}')`;
  const unknown = clean.replace(/^../, "00");
  const audited = async () => (await sql`select count(*)::int as n from audit`)[0]?.n;
  const [before] = [await audited()];
  for (
    const [id, message] of [
      [twice, `${twice} has already been released; ctl lead show ${twice} shows its delivery`],
      [clean, `${clean} is not held: it was queued for delivery on arrival`],
      [erased, `The content of ${erased} was erased or has expired`],
      [unknown, `There is no submission ${unknown}; ctl form held shows what is held`],
    ] as const
  ) {
    assert.deepEqual(await refused("form", "release", id), { code: 1, stderr: message });
  }
  assert.equal(await audited(), before);
  const held = await ctl(["form", "held", "--tenant", "acme"], on);
  assert.ok(!held.some((one: { submission_id: string }) => one.submission_id === erased), "not listed");
  assert.equal((await sql`select from outbox where event_id = ${twice}`).length, 1);

  const [one, other] = [await store("spam", { formKey }), await store("spam", { formKey })];
  assert.deepEqual(await runCtl(["form", "release", one, other], on), {
    code: 2,
    stdout: "",
    stderr:
      `Release 2 submissions? The customer gets an email for each now. Without a terminal, --yes is required; nothing was changed
Usage: ctl form release SUBMISSION_ID [SUBMISSION_ID…] [--yes] [--json]
`,
  });
  assert.deepEqual(await refused("form", "release", one, twice, other, "--yes"), {
    code: 1,
    stderr:
      `${twice} has already been released; ctl lead show ${twice} shows its delivery; 2 others released`,
  });
  assert.equal((await sql`select from outbox where event_id = ${erased}`).length, 0);
});
