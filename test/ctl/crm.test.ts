import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type postgres from "postgres";
import { fileURLToPath } from "node:url";
import { shippedNames } from "../../src/actions/crm/shipped.ts";
import { file, openCrmFixture, otherToken, own, token, tokenFile } from "../support/ctl/crm.ts";
import type { Outcome } from "../support/server.ts";
import { runTool } from "../support/tool.ts";
import { until } from "../support/until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const {
  fixture,
  pipedrive,
  run,
  route,
  freshTenant,
  pipedriveTenant,
  stored,
  lastAudit,
  note,
  assertNoSecret,
} = await openCrmFixture();

test("crm list shows each recipe's name, title and what it needs, without a database", async () => {
  const nowhere = "postgres://127.0.0.1:1/nowhere";
  const { code, stdout, stderr } = await run(["crm", "list"], nowhere);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^NAME +CRM +NEEDS\n/);
  assert.match(stdout, /^pipedrive +Pipedrive +--secret token=FILE$/m);
  assert.match(stdout, /^webhook_json +Any JSON webhook .* --secret url=FILE$/m);
  // A setting with a default or an optional one is not needed.
  assert.doesNotMatch(stdout, /base_url|owner/);
  const list = JSON.parse((await run(["crm", "list", "--json"], nowhere)).stdout);
  assert.deepEqual(list.map(({ name }: { name: string }) => name), shippedNames);
  for (const { title, settings } of list) {
    assert.notEqual(title, "");
    for (const { about } of Object.values(settings) as { about: string }[]) assert.notEqual(about, "");
  }
});

for (const name of shippedNames) {
  test(`crm show ${name} --json prints exactly the recipe's file`, async () => {
    const { code, stdout } = await run(["crm", "show", name, "--json"], "");
    assert.equal(code, 0);
    const path = join(root, "src/actions/crm/recipes", `${name}.json`);
    assert.equal(stdout, `${JSON.stringify(JSON.parse(readFileSync(path, "utf8")), null, 2)}\n`);
  });
}

test("crm show explains the settings, and suggests the name that is meant", async () => {
  const { stdout } = await run(["crm", "show", "pipedrive"], "");
  assert.match(
    stdout,
    /^Pipedrive\n\nSettings:\n {2}token +Your name .*\[secret\]\n {2}owner_id +.*\[optional; a number\]\n/,
  );
  assert.match(stdout, /^ {2}base_url +Only for tests \[default https:\/\/api\.pipedrive\.com\]$/m);
  const servicetitan = await run(["crm", "show", "servicetitan"], "");
  assert.match(
    servicetitan.stdout,
    /^ {2}customer_type +The type .*\[default Residential; Residential or Commercial\]$/m,
  );
  const wrong = await run(["crm", "show", "pipe-drive"], "");
  assert.deepEqual([wrong.code, wrong.stdout, wrong.stderr], [
    1,
    "",
    "There is no recipe pipe-drive; did you mean pipedrive?\n",
  ]);
  const none = await run(["crm", "show", "sugar"], "");
  assert.deepEqual([none.code, none.stderr], [1, "There is no recipe sugar; ctl crm list shows them\n"]);
});

test("--crm NAME stores a shipped recipe by name and version, and shows no secret", async () => {
  const slug = await freshTenant();
  const shown = await route(slug, "--crm", "pipedrive", "--secret", tokenFile(), "--set", "owner_id=12");
  const crm = {
    recipe: "pipedrive",
    is_own: false,
    is_changed: false,
    settings: { owner_id: "12" },
    secrets: ["token"],
  };
  assert.deepEqual(shown, { tenant: slug, crm, email: [], closer: [] });
  assert.deepEqual(await route(slug), shown);
  const { routes: [row, ...others] } = await stored(slug);
  assert.deepEqual(others, []);
  assert.deepEqual([row?.kind, row?.address, row?.secret, row?.recipe], ["crm", "pipedrive", null, null]);
  // The white space at the file's end is not part of the secret.
  assert.deepEqual([row?.settings, row?.secrets], [{ owner_id: "12" }, { token }]);
  assert.match(String(row?.recipe_version), /^[0-9a-f]{12}$/);
  assert.match(String(row?.credential), /^[0-9a-f]{64}$/);
  const { stdout } = await run(["tenant", "route", slug]);
  assert.match(stdout, /^CRM +pipedrive \(owner_id=12, token=\*\*\*\)$/m);
  assert.deepEqual(await lastAudit(slug), ["tenant.route", { crm: "set", email: "none", new_secret: false }]);
});

test("what crm show prints can be edited and set as the operator's own recipe", async () => {
  for (const name of ["hubspot", "zoho", "webhook_json"]) {
    const slug = await freshTenant();
    const { stdout } = await run(["crm", "show", name, "--json"], "");
    const path = file(`My ${name}.JSON`, stdout);
    const recipe = JSON.parse(stdout);
    const needed = Object.entries(
      recipe.settings as Record<string, { secret?: true; optional?: true; default?: string }>,
    )
      .filter(([, { optional, default: given }]) => !optional && given === undefined);
    const values = needed.flatMap(([setting, { secret }]) => {
      const value = /url$/.test(setting)
        ? `https://crm.example/${secret ? token : "path"}`
        : secret
        ? token
        : "12";
      return secret ? ["--secret", `${setting}=${file("value", value)}`] : ["--set", `${setting}=${value}`];
    });
    const { crm } = await route(slug, "--crm", path, ...values);
    assert.deepEqual([crm.recipe, crm.is_own, crm.is_changed], [`my_${name}`, true, false]);
    const [row] = (await stored(slug)).routes;
    assert.deepEqual([row?.recipe, row?.recipe_version], [stdout, null]);
    assert.match(
      (await run(["tenant", "route", slug])).stdout,
      new RegExp(`^CRM +own recipe my_${name} \\(`, "m"),
    );
  }
});

test("--set and --secret alone change the route's recipe and keep the rest; an empty value removes a setting", async () => {
  const slug = await pipedriveTenant();
  const [before] = (await stored(slug)).routes;
  const { crm } = await route(slug, "--set", "label_id=a-b=c");
  assert.deepEqual(crm.settings, { base_url: pipedrive.url, owner_id: "12", label_id: "a-b=c" });
  const [after] = (await stored(slug)).routes;
  assert.deepEqual([after?.id, after?.secrets, after?.credential], [
    before?.id,
    { token },
    before?.credential,
  ]);

  const removed = await route(slug, "--set", "label_id=", "--set", "owner_id=");
  assert.deepEqual(removed.crm.settings, { base_url: pipedrive.url });

  const changed = await route(slug, "--secret", `token=${file("other.txt", otherToken)}`);
  assert.deepEqual(changed.crm.settings, { base_url: pipedrive.url });
  const [last] = (await stored(slug)).routes;
  assert.deepEqual([last?.id, last?.secrets], [before?.id, { token: otherToken }]);
  assert.notEqual(last?.credential, before?.credential);
  assert.deepEqual(await lastAudit(slug), ["tenant.route", {
    crm: "changed",
    email: "none",
    new_secret: false,
  }]);

  const { audits } = await stored(slug);
  await route(slug, "--secret", `token=${file("other.txt", otherToken)}`);
  assert.equal((await stored(slug)).audits, audits, "an unchanged value adds no entry");
});

test("a secret is read from standard input", async () => {
  const slug = await freshTenant();
  const args = ["tenant", "route", slug, "--crm", "pipedrive", "--secret", "token=-"];
  const { code, stdout, stderr } = await runTool([process.execPath, "scripts/ctl.ts", ...args], {
    cwd: root,
    env: { DATABASE_URL: fixture.databaseUrl },
    input: `\ufeff  ${token}\r\n`,
  });
  note({ stdout, stderr });
  assert.equal(code, 0, stderr);
  assert.deepEqual((await stored(slug)).routes[0]?.secrets, { token });
});

test("an empty standard input is refused, and --secret NAME= removes an optional secret", async () => {
  const slug = await freshTenant();
  const settings = { ...own().settings, key: { secret: true, optional: true, about: "a second key" } };
  const secrets = ["--secret", tokenFile(), "--secret", `key=${file("key.txt", otherToken)}`];
  await route(slug, "--crm", file("own.json", own({ settings })), ...secrets);
  const before = await stored(slug);
  const args = ["tenant", "route", slug, "--secret", "key=-"];
  const { code, stderr } = await runTool([process.execPath, "scripts/ctl.ts", ...args], {
    cwd: root,
    env: { DATABASE_URL: fixture.databaseUrl },
    input: "\n",
  });
  assert.deepEqual([code, stderr], [1, "--secret key=-: standard input is empty\n"]);
  assert.deepEqual(await stored(slug), before);
  await route(slug, "--secret", "key=");
  assert.deepEqual((await stored(slug)).routes[0]?.secrets, { token });
});

test("setting the same recipe again keeps its values; another recipe starts without them", async () => {
  const slug = await pipedriveTenant();
  const { crm, kept_secrets: kept } = await route(slug, "--crm", "pipedrive", "--set", "owner_id=1");
  assert.deepEqual([crm.settings, crm.secrets, kept], [
    { base_url: pipedrive.url, owner_id: "1" },
    ["token"],
    ["token"],
  ]);
  const again = await run(["tenant", "route", slug, "--crm", "pipedrive"]);
  assert.match(again.stdout, /\n\nKept from before: token\. --secret NAME=FILE changes a secret\.\n$/);
  const given = await route(slug, "--crm", "pipedrive", "--secret", tokenFile());
  assert.equal(given.kept_secrets, undefined);
  const { code, stderr } = await run(["tenant", "route", slug, "--crm", "hubspot"]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^The recipe hubspot was not set; nothing was changed:\n {2}token is missing: --secret token=… \(/,
  );

  const path = file("own.json", own());
  const set = await route(
    slug,
    "--crm",
    path,
    "--secret",
    tokenFile(),
    "--set",
    "owner=7",
    "--email",
    "a@b.example",
  );
  assert.deepEqual([set.crm.recipe, set.crm.settings], ["own", { owner: "7" }]);
  // An edited file without a setting that the route has.
  const { owner: _, ...settings } = own().settings;
  file("own.json", own({ settings }));
  assert.deepEqual((await route(slug, "--crm", path)).crm.settings, {});
});

test("an edited copy of a shipped recipe keeps the values under the same name; a file for another CRM does not", async () => {
  const slug = await pipedriveTenant();
  const { stdout } = await run(["crm", "show", "pipedrive", "--json"], "");
  const recipe = JSON.parse(stdout);
  const edited = file("pipedrive.json", { ...recipe, steps: recipe.steps.slice(0, 1) });
  const { crm, kept_secrets: kept } = await route(slug, "--crm", edited);
  assert.deepEqual([crm.is_own, crm.settings.owner_id, crm.secrets, kept], [true, "12", ["token"], [
    "token",
  ]]);
  const before = await stored(slug);
  const { base_url: _, ...settings } = recipe.settings;
  const others = [
    { title: "Another CRM" },
    { hosts: ["*.other.example"] },
    { auth: { kind: "bearer", token: "token" } },
    { settings: { ...settings, base_url: { default: "https://other.example", about: "x" } } },
  ];
  for (const other of others) {
    const { code, stderr } = await run([
      "tenant",
      "route",
      slug,
      "--crm",
      file("pipedrive.json", { ...recipe, ...other }),
    ]);
    assert.equal(code, 1, JSON.stringify(other));
    assert.match(stderr, /^ {2}token is missing: --secret token=…/m);
  }
  assert.deepEqual(await stored(slug), before);
  const shipped = await route(slug, "--crm", "pipedrive");
  assert.deepEqual([shipped.crm.is_own, shipped.kept_secrets], [false, ["token"]]);
});

/** Runs commands that have all read the tenant's route before the first of them changes it; `meanwhile` runs in between. */
async function runTogether(
  slug: string,
  commands: readonly (readonly string[])[],
  meanwhile: (sql: postgres.TransactionSql) => Promise<unknown> = () => Promise.resolve(),
): Promise<Outcome[]> {
  const { running } = await fixture.sql.begin(async (sql) => {
    await sql`select from tenant where slug = ${slug} for no key update`;
    const running = commands.map((options) => run(["tenant", "route", slug, ...options]));
    await until(async () => {
      const waiting = await fixture.sql`
        select from pg_stat_activity
        where wait_event_type = 'Lock' and query ~ 'set_route' and datname = current_database()`;
      return waiting.length === commands.length;
    }, { what: "all wait for the tenant's row" });
    await meanwhile(sql);
    return { running };
  });
  return await Promise.all(running);
}

test("of two commands at the same time, the second changes nothing and says so", async () => {
  const slug = await pipedriveTenant();
  const commands = [["--set", "owner_id=99"], ["--secret", `token=${file("other.txt", otherToken)}`]];
  const outcomes = await runTogether(slug, commands);
  const codes = outcomes.map(({ code }) => code);
  assert.deepEqual(codes.toSorted(), [0, 1]);
  assert.equal(
    outcomes[codes.indexOf(1)]?.stderr,
    `The CRM recipe of ${slug} was changed by another operator meanwhile; run the command again\n`,
  );
  await route(slug, ...commands[codes.indexOf(1)] as string[]);
  const [row] = (await stored(slug)).routes;
  assert.deepEqual([row?.settings, row?.secrets], [{ base_url: pipedrive.url, owner_id: "99" }, {
    token: otherToken,
  }]);
});

test("--set on a recipe that was removed meanwhile does not bring it back", async () => {
  const slug = await pipedriveTenant();
  const [outcome] = await runTogether(slug, [["--set", "owner_id=99"]], (sql) =>
    sql`
      delete from actions.route as r using tenant as t where t.id = r.tenant_id and t.slug = ${slug}`);
  assert.equal(outcome?.code, 1);
  assert.deepEqual((await stored(slug)).routes, []);
});

test("after an upgrade that changed a shipped recipe, the route says so until it is set again", async () => {
  const slug = await pipedriveTenant();
  await fixture.sql`update actions.route set recipe_version = 'an-old-one' where address = 'pipedrive'`;
  assert.equal((await route(slug)).crm.is_changed, true);
  assert.match(
    (await run(["tenant", "route", slug])).stdout,
    /^ +An upgrade changed this recipe since it was set; /m,
  );
  const { crm } = await route(slug, "--crm", "pipedrive");
  assert.deepEqual([crm.is_changed, crm.settings.owner_id, crm.secrets], [false, "12", ["token"]]);
  assert.deepEqual(await lastAudit(slug), ["tenant.route", {
    crm: "changed",
    email: "none",
    new_secret: false,
  }]);
});

test("a recipe replaces a webhook and a webhook a recipe, in the same row, so that what is delivered stays delivered", async () => {
  const slug = await freshTenant();
  const url = "https://crm.example.com/leads";
  const hook = await route(slug, "--crm-url", url);
  assert.match(hook.crm_secret, /^whsec_/);
  const [asHook] = (await stored(slug)).routes;

  const replaced = await route(slug, "--crm", "pipedrive", "--secret", tokenFile());
  assert.deepEqual([replaced.crm_url, replaced.crm.recipe, replaced.crm_secret], [
    undefined,
    "pipedrive",
    undefined,
  ]);
  const [asRecipe, ...others] = (await stored(slug)).routes;
  assert.deepEqual([asRecipe?.id, asRecipe?.secret, others], [asHook?.id, null, []]);

  const again = await route(slug, "--crm-url", url);
  assert.equal(again.crm_url, url);
  assert.match(again.crm_secret, /^whsec_/);
  assert.notEqual(again.crm_secret, hook.crm_secret);
  const [last] = (await stored(slug)).routes;
  assert.equal(last?.id, asHook?.id);
  for (const column of ["settings", "secrets", "credential", "recipe", "recipe_version"]) {
    assert.equal(last?.[column], null, column);
  }
});

test("--crm none removes a recipe or a webhook", async () => {
  const slug = await pipedriveTenant();
  assert.deepEqual(await route(slug, "--crm", "none"), {
    tenant: slug,
    crm_url: null,
    email: [],
    closer: [],
  });
  assert.deepEqual((await stored(slug)).routes, []);
  await route(slug, "--crm-url", "https://crm.example.com/leads");
  assert.equal((await route(slug, "--crm", "none")).crm_url, null);
});

test("--crm none says how many leads waited for the CRM", async () => {
  const slug = await pipedriveTenant();
  await fixture.sql`
    with suspended as (
      insert into actions.suspension (tenant_id, route_id, reason, since, event_id)
      select tenant_id, r.id, 'crm_unauthorized', now(), 'waits' from actions.route as r
      join tenant as t on t.id = tenant_id where slug = ${slug} returning tenant_id, route_id),
    effect as (
      insert into actions.effect (event_id, route_id, effect, settled_at)
      select 'waits', route_id, 'crm', now() from suspended)
    insert into outbox (event_id, tenant_id, due_at) select 'waits', tenant_id, now() + interval '1 hour' from suspended`;
  const { code, stderr } = await run(["tenant", "route", slug, "--crm", "none"]);
  await fixture.sql`delete from outbox where event_id = 'waits'`;
  await fixture.sql`delete from actions.effect where event_id = 'waits'`;
  assert.deepEqual([code, stderr], [0, "1 lead waited for this CRM and will not reach it.\n"]);
});

test("each source and form has its own CRM route", async () => {
  const slug = await pipedriveTenant();
  await run(["key", "issue", slug, "--label", "Partner X"]);
  await run(["form", "add", slug, "contact", "--required", "name"]);
  const path = file("own.json", own());
  await route(slug, "--source", "Partner X", "--crm", path, "--secret", tokenFile());
  const { crm, closer } = await route(
    slug,
    "--form",
    "contact",
    "--crm-url",
    "https://crm.example.com/forms",
  );
  assert.equal(crm.recipe, "pipedrive");
  assert.deepEqual(
    closer.map((
      { source, form, crm, crm_url }: Record<string, Record<string, unknown>>,
    ) => [source, form, crm?.recipe, crm_url]),
    [["Partner X", undefined, "own", undefined], [
      undefined,
      "contact",
      undefined,
      "https://crm.example.com/forms",
    ]],
  );
  const { code, stderr } = await run(["tenant", "route", slug, "--source", "Partner Y", "--set", "owner=1"]);
  assert.deepEqual([code, stderr], [1, "There is no CRM recipe to change here; --crm NAME sets one\n"]);
  await route(slug, "--source", "Partner X", "--set", "owner=7");
  const { stdout } = await run(["tenant", "route", slug]);
  assert.match(stdout, /^Source +Partner X\nCRM +own recipe own \(owner=7, token=\*\*\*\)$/m);
  const ended = await run(["tenant", "route", slug, "--source", "Partner X", "--crm", "none"]);
  assert.match(ended.stderr, /^Events from source Partner X now use the next most specific route\.$/m);
  assert.deepEqual((await stored(slug)).routes.map(({ address }) => address), [
    "pipedrive",
    "https://crm.example.com/forms",
  ]);
});

test("help names the new commands and options", async () => {
  const { stdout } = await run(["tenant", "route", "--help"]);
  for (
    const line of [
      /^ {2}--crm NAME\|FILE\.json\|none +send each lead to a CRM, with a recipe \(ctl crm list\)$/m,
      /^ {2}--set NAME=VALUE +a setting of the recipe; an empty value removes it, or restores the default$/m,
      /^ {2}--secret NAME=FILE\|NAME=- +a secret of the recipe, read from a file or standard input; NAME= removes it$/m,
      /^ {2}--dry-run +with --test: send nothing, and print the requests$/m,
      /^ {2}--event EVENT_ID +with --dry-run: for this event, over its own routes, or those of --source or --form$/m,
      /\[--set NAME=VALUE\]… \[--secret NAME=FILE\|NAME=-\]… /,
    ]
  ) assert.match(stdout, line);
  assert.match((await run(["crm", "--help"])).stdout, /^ {2}ctl crm list {2}.*\n {2}ctl crm show {2}/m);
  assert.match((await run(["help"])).stdout, /^ {2}ctl crm list +List the CRM recipes/m);
});

test("no secret is printed, logged or audited", async () => await assertNoSecret());
