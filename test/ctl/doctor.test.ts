import assert from "node:assert/strict";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import postgres from "postgres";
import { createRole, startActionsProcess } from "../support/actions/actions_process.ts";
import { atEnd } from "../support/at_end.ts";
import { Authority } from "../support/authority.ts";
import { startSmtp } from "../support/actions/smtp_listener.ts";
import { createDatabase, ownPostgres } from "../support/database.ts";
import { temporaryFolder } from "../support/folder.ts";
import { setRecipe } from "../support/crm/recipe_route.ts";
import { type Outcome, runCtl } from "../support/server.ts";

interface Line {
  readonly check: string;
  readonly state: "ok" | "warning" | "failure";
  readonly text: string;
  readonly fix: string | null;
}

const folder = temporaryFolder("ctl-doctor");
const authority = new Authority();
const server = authority.issue({ name: "localhost", use: "server", days: 60 });
const client = authority.issue({ name: "lead-intake", use: "client", days: 60 });
// The tests' CA expires within three days, which doctor reports.
const isShort = ({ text }: Line) => /_CA_FILE expires in [12] days?/.test(text);

type Settings = Readonly<Record<string, string>>;
let intake: Settings;
let actions: Settings;
let database: { readonly url: string };
let smtp: Awaited<ReturnType<typeof startSmtp>>;

before(async () => {
  database = await createDatabase();
  const roles = {
    service: await createRole(database.url, "lead_service"),
    actions: await createRole(database.url, "lead_actions"),
  };
  const tier = await startActionsProcess({ databaseUrl: roles.actions.url, authority, server });
  smtp = await startSmtp();
  intake = {
    DATABASE_URL: roles.service.url,
    INTAKE_LISTEN: "127.0.0.1:8080",
    SITE_DIR: folder,
    ACTIONS_URL: `https://127.0.0.1:${tier.port}`,
    ACTIONS_CA_FILE: authority.file,
    ACTIONS_CLIENT_CERT_FILE: client.certFile,
    ACTIONS_CLIENT_KEY_FILE: client.keyFile,
  };
  actions = {
    ACTIONS_DATABASE_URL: roles.actions.url,
    ACTIONS_SERVER_CERT_FILE: server.certFile,
    ACTIONS_SERVER_KEY_FILE: server.keyFile,
    ACTIONS_CLIENT_CA_FILE: authority.file,
    ACTIONS_CLIENT_NAME: "lead-intake",
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: "leads@acme.example",
  };
});

let files = 0;
function settingsFile(settings: Settings): string {
  const file = join(folder, `${files += 1}.env`);
  writeFileSync(file, Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`).join(""), {
    mode: 0o600,
  });
  return file;
}

async function diagnose(
  settings: readonly Settings[],
  args: readonly string[] = [],
): Promise<Outcome & { readonly lines: readonly Line[]; readonly of: (check: string) => readonly Line[] }> {
  const options = settings.flatMap((one) => ["--settings", settingsFile(one)]);
  // The files take precedence over the operator's environment.
  const env = { DATABASE_URL: "postgres://127.0.0.1:1/nowhere", INTAKE_LISTEN: "nonsense" };
  const outcome = await runCtl(["doctor", "--json", ...options, ...args], { env });
  const lines = JSON.parse(outcome.stdout).checks as Line[];
  return { ...outcome, lines, of: (check) => lines.filter((line) => line.check === check) };
}

const states = (lines: readonly Line[]) => lines.map(({ check, state }) => `${check}: ${state}`);

test("ctl doctor on a healthy installation reports every check but the backup ok, exits 0 and prints no password", async () => {
  const { code, stdout, stderr, lines } = await diagnose([intake, actions]);
  assert.deepEqual(states(lines.filter((line) => !isShort(line))), [
    "Settings, service: ok",
    "Settings, actions: ok",
    "Certificates: ok",
    "Certificates: ok",
    "Database: ok",
    "Database, actions: ok",
    "Durability: ok",
    "Clocks: ok",
    "Migrations: ok",
    "Grants: ok",
    "Backup: warning",
    "Actions tier: ok",
    "Mail server: ok",
    "Disk: ok",
    "Disk: ok",
  ], stdout);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal(lines.filter(isShort).length, 2);
  assert.ok(lines.filter(({ state }) => state === "warning").every(({ fix }) => fix !== null));
  for (const url of [intake.DATABASE_URL, actions.ACTIONS_DATABASE_URL]) {
    assert.ok(!stdout.includes(new URL(url ?? "").password));
  }
  assert.equal(JSON.parse(stdout).ok, true);
  assert.deepEqual(smtp.messages, []);
  assert.ok(smtp.commands.every((command) => !/^(MAIL|RCPT|DATA)/i.test(command)));
});

test("every fault is reported with its fix, and no fault hides another", async () => {
  const expired = authority.issue({ name: "lead-intake", use: "client", days: -1 });
  smtp.answers.set("EHLO", "250-mail.test\r\n250 AUTH PLAIN").set("AUTH", "535 5.7.8 who are you");
  const wrong = {
    ...intake,
    SITE_DIR: join(folder, "no-such-folder"),
    INTAKE_LISTN: "127.0.0.1:1",
    INTAKE_URL: "https://intake.invalid",
    ACTIONS_CLIENT_CERT_FILE: expired.certFile,
    ACTIONS_CLIENT_KEY_FILE: client.keyFile,
  };
  const wrongActions = {
    ...actions,
    SMTP_URL: `smtp://user:secret-of-mail@127.0.0.1:${smtp.port}`,
  };
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  await sql`grant delete on event to lead_service`;
  await sql`revoke execute on function actions.settle_effect from lead_actions`;
  await sql`grant execute on function pg_advisory_lock(bigint) to public`;
  const [changed] = await sql`
    update schema_file set digest = 'other' where name = 'functions/accept.sql' returning name`;
  assert.ok(changed);
  const { code, stdout, of } = await diagnose([wrong, wrongActions], [
    "--backup-stamp",
    join(folder, "stamp"),
  ]);
  await sql`revoke delete on event from lead_service`;
  await sql`grant execute on function actions.settle_effect to lead_actions`;
  await sql`revoke execute on function pg_advisory_lock(bigint) from public`;
  await sql.end();
  smtp.answers.clear();

  assert.equal(code, 1);
  const has = (check: string, text: RegExp, fix: RegExp, state = "failure") => {
    const found = of(check).find((line) => text.test(line.text) && fix.test(line.fix ?? ""));
    assert.equal(found?.state, state, `${check}: ${text}\n${JSON.stringify(of(check), null, 2)}`);
  };
  has(
    "Settings, service",
    /INTAKE_LISTN is not a setting; did you mean INTAKE_LISTEN\?/,
    /docs\/configuration\.md/,
  );
  assert.equal(stdout.split("INTAKE_LISTN is not a setting").length, 2, "reported once for both processes");
  has(
    "Settings, service",
    /ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE do not match/,
    /fix it in/,
  );
  has("Certificates", /ACTIONS_CLIENT_CERT_FILE expired on/, /ctl certificates .* --renew/);
  has("Migrations", /the database lacks functions\/accept\.sql/, /npm run migrate/);
  has("Grants", /not granted: execute on actions\.settle_effect to lead_actions/, /npm run migrate/);
  has(
    "Grants",
    /granted beyond sql\/grants\.sql: delete on public\.event to lead_service/,
    /npm run migrate/,
  );
  has(
    "Grants",
    /lead_service and lead_actions may call pg_advisory_lock, which let either role/,
    /as a superuser, .*sql\/builtins\.sql/,
    "warning",
  );
  has("Actions tier", /does not respond \(.*(ERR_|key values mismatch)/, /./);
  has("Mail server", /cannot be used \(EAUTH\)/, /user and password in SMTP_URL/);
  has("Disk", /SITE_DIR, .*no-such-folder, does not exist/, /npm run site:build/, "warning");
  has("Backup", /the backup stamp .* does not exist/, /pg_dump/);
  assert.deepEqual(states(of("Database")), ["Database: ok"]);
  assert.doesNotMatch(stdout, /secret-of-mail/);
});

test("a server that could lose a commit fails Durability, and an old backup fails Backup", async () => {
  const own = await ownPostgres({ fsync: "off", archive_mode: "on", archive_command: "false" });
  const stamp = join(folder, "backed-up");
  writeFileSync(stamp, "");
  const one = await diagnose([{ DATABASE_URL: own.url }], ["--backup-stamp", stamp]);
  assert.equal(one.code, 1);
  assert.deepEqual(one.of("Durability").map(({ text, fix }) => [text, fix]), [
    ["fsync is off: a 202 could be lost", "alter system set fsync = on; select pg_reload_conf();"],
  ]);
  assert.match(one.of("Database")[0]?.text ?? "", /would connect as postgres, which is a superuser/);
  assert.match(one.of("Backup")[0]?.text ?? "", /^the last backup is 0 h old$/);
  assert.match(one.of("Disk")[0]?.text ?? "", /^the database, .*postgres: [\d.]+ GiB free/);
  const old = Date.now() / 1_000 - 27 * 3_600;
  utimesSync(stamp, old, old);
  // A URL with several servers.
  const url = own.url.replace(/@([^/]*)/, "@$1,$1");
  const two = await diagnose([{ DATABASE_URL: url }], ["--backup-stamp", stamp]);
  assert.match(two.of("Disk")[0]?.text ?? "", /^the database, /);
  assert.deepEqual(two.of("Backup")[0], {
    check: "Backup",
    state: "failure",
    text: "the last backup is 27 h old",
    fix: two.of("Backup")[0]?.fix,
  });
});

test("a public certificate is checked for its names and the order of its chain", async () => {
  const issued = authority.issue({ name: "intake", use: "server", names: ["intake.example.com"], days: 60 });
  const chain = join(folder, "chain.pem");
  writeFileSync(chain, issued.cert + client.cert);
  const { of } = await diagnose([{
    ...intake,
    TLS_CERT_FILE: chain,
    TLS_KEY_FILE: issued.keyFile,
    INTAKE_URL: "https://intake.example.com",
    FORMS_URL: "https://forms.example.com",
  }]);
  const found = of("Certificates").filter(({ text }) => text.includes("TLS_CERT_FILE"));
  assert.deepEqual(found.map(({ state, text }) => [state, text]), [
    ["failure", "TLS_CERT_FILE does not cover forms.example.com, the host name in FORMS_URL"],
    ["warning", "clients may reject TLS_CERT_FILE (chain_out_of_order)"],
  ]);
});

test("digest links require the same FORMS_LINK_SECRET in both processes", async () => {
  const secrets = ["s".repeat(32), "t".repeat(32)];
  const forms = { FORMS_URL: "https://forms.example.com" };
  const check = async (...[own, other]: readonly (string | undefined)[]) => {
    const of = (secret: string | undefined): Settings => secret ? { FORMS_LINK_SECRET: secret } : {};
    const { of: findings, stdout } = await diagnose([{ ...intake, ...of(own) }, {
      ...actions,
      ...forms,
      ...of(other),
    }]);
    assert.ok(secrets.every((secret) => !stdout.includes(secret)));
    return findings("Digest links").map(({ state }) => state);
  };
  assert.deepEqual(await check(), []);
  const options = { env: { DATABASE_URL: database.url } };
  await runCtl(["tenant", "add", "linked", "--name", "Linked"], options);
  await runCtl(["tenant", "set", "linked", "--digest-actions", "on"], options);
  assert.deepEqual(await check(), ["warning"]);
  assert.deepEqual(await check(secrets[0], secrets[0]), ["ok"]);
  assert.deepEqual(await check(...secrets), ["failure"]);
});

test("a suspended CRM route is reported with the CRM's words and the command that helps, and a changed recipe with its route", async () => {
  const check = async () => {
    const { stdout, of } = await diagnose([intake, actions]);
    assert.doesNotMatch(stdout, /hunter2/);
    return of("CRM routes");
  };
  assert.deepEqual(await check(), []);
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  atEnd(() => sql.end());
  await runCtl(["tenant", "add", "globex"], { env: { DATABASE_URL: database.url } });
  const more = ["--source", "lead ads"];
  await setRecipe(database.url, "globex", { crm: "pipedrive", secrets: { token: "hunter2" }, more });
  assert.deepEqual((await check()).map(({ state, text }) => [state, text]), [[
    "ok",
    "1 CRM recipe, none suspended",
  ]]);

  const suspend = async (reason: string, status: number, answer: string) => {
    await sql`delete from actions.effect`;
    await sql`
      insert into actions.effect (event_id, route_id, effect, settled_at, reason, status, answer)
      select 'event1', id, 'crm', now(), ${reason}, ${status}, ${answer} from actions.route`;
    await sql`
      insert into actions.suspension (tenant_id, route_id, reason, since, event_id)
      select tenant_id, id, ${reason}, '2026-11-28T01:02:03Z', 'event1' from actions.route
      on conflict (tenant_id, route_id) do update set reason = excluded.reason`;
    await sql`
      insert into outbox (event_id, tenant_id, due_at) select 'event1', tenant_id, now() from actions.route on conflict do nothing`;
  };
  await suspend("crm_unauthorized", 401, '{"error":"unauthorized access"}');
  assert.deepEqual(await check(), [{
    check: "CRM routes",
    state: "failure",
    text:
      'globex (pipedrive, source lead ads): the CRM refuses the credentials; since 2026-11-28T01:02:03.000Z, 1 lead waiting; its response to event1: 401 {"error":"unauthorized access"}',
    fix: "ctl tenant route globex --source 'lead ads' --secret token=-",
  }]);
  await suspend("crm_suspended", 400, "x".repeat(2_000));
  const [refused] = await check();
  assert.match(refused?.text ?? "", /the CRM refused five different leads in a row; .*: 400 x{300}$/);
  assert.match(
    refused?.fix ?? "",
    /^ctl tenant route globex --test --dry-run --event event1; .*--source 'lead ads' --set NAME=VALUE; ctl dead replay --all --tenant globex$/,
  );
  await sql`delete from actions.suspension`;
  await sql`update actions.route set address = 'gone'`;
  assert.match(
    (await check())[0]?.text ?? "",
    /^globex \(gone, .*\): this release has no such recipe, so the leads wait$/,
  );
  await sql`update actions.route set address = 'pipedrive', recipe_version = 'older'`;
  assert.deepEqual(
    (await check()).map(({ state, text, fix }) => [state, text, fix]),
    [[
      "warning",
      "globex (pipedrive, source lead ads): an upgrade changed this recipe since it was set",
      "ctl tenant route globex --source 'lead ads' --test --dry-run shows what it sends now; then set it again",
    ]],
  );
});
