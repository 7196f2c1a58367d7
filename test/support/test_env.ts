/**
 * The test environment of the suite: a database with tenants and keys, servers on it, and checks that hold for
 * every response.
 */

import assert from "node:assert/strict";
import { createHash, getRandomValues, randomBytes } from "node:crypto";
import type postgres from "postgres";
import { generateKey, keyInText, type KeySurface } from "../../src/contract/api_key.ts";
import type { BaseUrls } from "../../src/documents/openapi.ts";
import { assertDocumented } from "./contract/contract.ts";
import { type Answer, post, type RequestOptions, send } from "./client.ts";
import { atEnd } from "./at_end.ts";
import { asService, type TestDatabase } from "./database.ts";
import { type ProgramOptions, type RunningServer, startServer } from "./server.ts";
import { openStore, type TestStore } from "./store.ts";
import { until } from "./until.ts";

/** A tenant. */
export interface Tenant {
  readonly id: number;
  readonly slug: string;
}

/** An issued key. */
export interface IssuedKey {
  readonly id: number;
  readonly text: string;
  readonly label: string;
  readonly tenant: Tenant;
}

/** The options of a key. */
export interface IssueOptions {
  readonly tenant?: Tenant;
  readonly label?: string;
  readonly campaignId?: number;
  readonly surface?: KeySurface;
  /** Whether the key is one of a sandbox tenant. */
  readonly sandbox?: boolean;
}

/** A form as the endpoint finds it. */
export interface TestForm {
  readonly id: number;
  readonly formKey: string;
  readonly tenant: Tenant;
}

/** The options of a form; omitted ones have ordinary values. */
export interface FormOptions {
  readonly tenant?: Tenant;
  readonly formKey?: string;
  /** Default: `name` and `email`. */
  readonly required?: readonly string[];
  readonly threshold?: number;
  readonly blocked?: readonly string[];
}

/** The number of rows in every table that a lead or a submission can write to. */
export interface Stored {
  readonly events: number;
  readonly outbox: number;
  readonly pending: number;
  readonly collisions: number;
  readonly spendCents: number;
  readonly submissions: number;
}

const limited = ["INTAKE_IP", "INTAKE_KEY", "FORMS_IP", "FORMS_TENANT", "PUBLIC_IP"];

/** Limits that no test reaches by accident; a test of the limits sets its own. */
export const raisedLimits: Readonly<Record<string, string>> = Object.fromEntries(
  limited.flatMap((name) => [[`${name}_PER_MINUTE`, "60000000"], [`${name}_BURST`, "1000000"]]),
);

/** The published limits, in place of those that {@linkcode TestEnv.start} raises. */
export const publishedLimits: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(raisedLimits).map((name) => [name, ""]),
);

/** A marker in every lead of the suite, which makes a lead in a log recognizable. */
const marker = "Zmarker";
let leads = 0;

/** Returns a valid envelope, different each time. */
export function lead(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  leads += 1;
  return {
    first_name: "Ada",
    last_name: `${marker} ${process.pid} ${leads}`,
    phone: "(555) 123-4567",
    ...members,
  };
}

/** Returns the fields of a form, different each time. */
export function visitor(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  leads += 1;
  return {
    name: `Grace ${marker}`,
    email: "grace@example.com",
    message: `We would like to have our roof looked at before winter. (${process.pid} ${leads})`,
    ...members,
  };
}

/** Returns an unused Idempotency-Key. */
export function freshKey(): string {
  return `suite:${randomBytes(9).toString("hex")}`;
}

/** The environment of one test file. It ends with the tests of the file and then checks its servers' logs. */
export class TestEnv {
  readonly database: TestDatabase;
  readonly sql: postgres.Sql;
  readonly #servers: RunningServer[] = [];
  readonly #keys: IssuedKey[] = [];
  readonly #expected = new Set<string>();
  #tenants = 0;

  private constructor({ database, sql }: TestStore) {
    this.database = database;
    this.sql = sql;
  }

  /** Creates a database, or uses the one at an address. */
  static async open(url?: string): Promise<TestEnv> {
    return new TestEnv(await openStore({ url }));
  }

  /** Starts a server; {@linkcode intake} posts to the first one. */
  async start(
    env: Readonly<Record<string, string>> = {},
    options: ProgramOptions = {},
  ): Promise<RunningServer> {
    const server = await startServer({
      databaseUrl: asService(this.database.url),
      ...options,
      env: { ...raisedLimits, ...env },
    });
    this.#servers.push(server);
    atEnd(() => checkLog(server, { keys: this.#keys, expected: this.#expected }));
    atEnd(() => server.stop());
    return server;
  }

  /** Adds a tenant. */
  async tenant(options: { sandbox?: boolean } = {}): Promise<Tenant> {
    this.#tenants += 1;
    const slug = `tenant-${this.#tenants}`;
    const [row] = await this.sql<{ id: number }[]>`
      insert into tenant (slug, name, sandbox) values (${slug}, ${slug}, ${options.sandbox ?? false})
      returning id`;
    return { id: row?.id as number, slug };
  }

  /** Adds a campaign and returns its id. */
  async campaign(tenant: Tenant): Promise<number> {
    const slug = `campaign-${randomBytes(4).toString("hex")}`;
    const [row] = await this.sql<{ id: number }[]>`
      insert into campaign (tenant_id, slug) values (${tenant.id}, ${slug}) returning id`;
    return row?.id as number;
  }

  /** Issues a key, by default to a new tenant. */
  async issue(options: IssueOptions = {}): Promise<IssuedKey> {
    const { surface = "intake", sandbox = false, campaignId = null } = options;
    const tenant = options.tenant ?? await this.tenant({ sandbox });
    const text = generateKey({ surface, sandbox }, (bytes) => getRandomValues(bytes));
    const label = options.label ?? `source-${randomBytes(4).toString("hex")}`;
    const [row] = await this.sql<{ id: number }[]>`
      insert into api_key (tenant_id, campaign_id, surface, label, digest, last4)
      values (
        ${tenant.id}, ${campaignId}, ${surface}, ${label},
        decode(${createHash("sha256").update(text).digest("hex")}, 'hex'), ${text.slice(-4)}
      )
      returning id`;
    const key = { id: row?.id as number, text, label, tenant };
    this.#keys.push(key);
    return key;
  }

  /** Defines a form, by default of a new tenant. */
  async form(options: FormOptions = {}): Promise<TestForm> {
    const tenant = options.tenant ?? await this.tenant();
    const { formKey = "contact", required = ["name", "email"], threshold = null, blocked = [] } = options;
    const [row] = await this.sql<{ id: number }[]>`
      insert into form (tenant_id, form_key, required, threshold, blocked)
      values (${tenant.id}, ${formKey}, ${[...required]}, ${threshold}, ${[...blocked]}) returning id`;
    return { id: row?.id as number, formKey, tenant };
  }

  /** Defines a form and issues a key of its tenant. */
  async formWithKey(options: FormOptions = {}): Promise<{ form: TestForm; key: IssuedKey }> {
    const form = await this.form(options);
    return { form, key: await this.issue({ tenant: form.tenant, surface: "forms" }) };
  }

  /** Posts to a form on the first or the given server and checks what all responses have in common. */
  async submit(
    form: { readonly formKey: string; readonly tenant: Pick<Tenant, "slug"> },
    options: RequestOptions,
    server = this.#servers[0] as RunningServer,
  ): Promise<Answer> {
    const path = `/v1/forms/${form.tenant.slug}/${form.formKey}`;
    return await this.sendToForms(path, {
      method: "POST",
      ...options,
      headers: { "Content-Type": "application/json", ...options.headers },
    }, server);
  }

  /** Sends any request to the forms and checks what all responses have in common. */
  async sendToForms(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.urls.forms}${path}`, inBytes(options)), "forms");
  }

  /** Sends any request to the plan feed and checks what all responses have in common. */
  async sendToPlans(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.urls.subscription}${path}`, inBytes(options)), "subscription");
  }

  /** Returns a stored submission. */
  async submission(submissionId: string): Promise<StoredSubmission> {
    const [row] = await this.sql<StoredSubmission[]>`
      select s.*, s.xmin::text as transaction,
        (select count(*)::int from outbox as o where o.event_id = s.event_id) as queued
      from submission as s where s.event_id = ${submissionId}`;
    assert.ok(row, `submission ${submissionId} is stored`);
    return row;
  }

  /** Posts to the intake of the first or the given server and checks what all responses have in common. */
  async intake(options: RequestOptions, server = this.#servers[0] as RunningServer): Promise<Answer> {
    return checked(await post(`${server.url}/v1/intake`, inBytes(options)));
  }

  /** Posts a lead with these members to the first or the given server and returns the id of the accepted event. */
  async accept(
    key: Pick<IssuedKey, "text">,
    members: Readonly<Record<string, unknown>> = {},
    server?: RunningServer,
  ): Promise<string> {
    const headers = { "Idempotency-Key": freshKey() };
    const answer = await this.intake({ key: key.text, body: lead(members), headers }, server);
    assert.equal(answer.status, 202, answer.text);
    return answer.json.event_id;
  }

  /** Sends any request to the first or the given server and checks what all responses have in common. */
  async send(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.url}${path}`, inBytes(options)));
  }

  /** Returns the stored counts. */
  async stored(): Promise<Stored> {
    const [row] = await this.sql<Stored[]>`
      select
        (select count(*)::int from event) as events,
        (select count(*)::int from outbox) as outbox,
        (select coalesce(sum(delta), 0)::int from outbox_tally where state = 'pending') as pending,
        (select count(*)::int from collision) as collisions,
        (select coalesce(sum(cents), 0)::int from campaign_charge) as "spendCents",
        (select count(*)::int from submission) as submissions`;
    return row as Stored;
  }

  /** Fails when `work` leaves anything in the database except counts of refusals. */
  async leavesNothing<T>(work: () => Promise<T>): Promise<T> {
    const before = await this.stored();
    const result = await work();
    assert.deepEqual(await this.stored(), before);
    return result;
  }

  /** Returns one stored event. */
  async event(eventId: string): Promise<StoredEvent> {
    const [row] = await this.sql<StoredEvent[]>`
      select e.*, e.lead::text as lead_text, e.xmin::text as transaction from event as e
      where e.event_id = ${eventId}`;
    assert.ok(row, `event ${eventId} is stored`);
    return row;
  }

  /** Waits until all events are indexed for the search, and their unknown terms counted. */
  async indexed(): Promise<void> {
    await until(async () => (await this.sql`select from search_todo limit 1`).length === 0, {
      what: "all events are indexed",
    });
  }

  /** Sets the service's clock to a fixed time, or with `null` back to the real one. */
  async setClock(time: string | null): Promise<void> {
    const body = time === null ? "clock_timestamp()" : `timestamptz '${time}'`;
    await this.sql.unsafe(
      `create or replace function service_clock() returns timestamptz
       language sql volatile parallel safe as $$ select ${body} $$`,
    );
  }

  /** Blocks every commit until the returned function is called: reads continue, writes to `event` wait. */
  async holdCommits(): Promise<() => Promise<void>> {
    return await this.hold("lock table event in share row exclusive mode");
  }

  /** Takes a lock and holds it until the returned function is called. */
  async hold(lock: string): Promise<() => Promise<void>> {
    const connection = await this.sql.reserve();
    await connection.unsafe(`begin; ${lock}`);
    return async () => {
      await connection`rollback`;
      connection.release();
    };
  }

  /** Waits until `count` of the servers' connections wait for a lock. */
  async untilWaiting(count = 1): Promise<void> {
    await until(async () => {
      const [row] = await this.sql<{ waiting: number }[]>`
        select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return (row?.waiting ?? 0) >= count;
    }, { what: `${count} connections wait for a lock`, intervalMs: 5 });
  }

  /** Waits until `count` posts are queued for the first server's next commit. */
  async untilQueued(count: number): Promise<void> {
    await until(async () => {
      const { text } = await send(`${this.#servers[0]?.urls.ops}/metrics`);
      return text.includes(`\nlead_commit_waiting ${count}\n`);
    }, { what: `${count} posts wait for a commit`, intervalMs: 5 });
  }

  /** Allows a log line of this event, because the test causes it. */
  expectLogged(event: string): void {
    this.#expected.add(event);
  }
}

/** A row of `event`. */
export interface StoredEvent {
  readonly event_id: string;
  readonly tenant_id: number;
  readonly key_id: number;
  readonly received_at: Date;
  readonly idempotency_key: string | null;
  readonly request_id: string | null;
  readonly flags: string[];
  readonly lead: Record<string, unknown>;
  readonly lead_text: string;
  readonly extra: string | null;
  readonly raw: string;
  /** The transaction that committed it. */
  readonly transaction: string;
}

/** A row of `submission`. */
export interface StoredSubmission {
  readonly event_id: string;
  readonly tenant_id: number;
  readonly form_id: number;
  readonly verdict: string;
  readonly score: number;
  readonly reasons: string[];
  readonly released_at: Date | null;
  readonly phone: string | null;
  readonly email: string | null;
  /** The last name and, after a tab, the full name. */
  readonly name: string | null;
  /** The number of outbox rows. */
  readonly queued: number;
  /** The transaction that committed it. */
  readonly transaction: string;
}

/** Node's client writes headers in the encoding of a text body, which would double the bytes above 0x7F. */
function inBytes(options: RequestOptions): RequestOptions {
  const { body } = options;
  if (body === undefined || body instanceof Uint8Array) return options;
  return {
    ...options,
    body: new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)),
  };
}

/** Fails on a response that is undocumented, contains internals, or has no request id. */
export function checked(answer: Answer, surface: keyof BaseUrls = "intake"): Answer {
  assertDocumented({ ...answer, surface });
  withoutInternals(answer);
  return answer;
}

/** Checks what holds on every surface. */
function withoutInternals({ status, headers, text, path }: Answer): void {
  assert.ok(headers["x-request-id"], `X-Request-Id on ${status}`);
  for (const name of ["server", "x-powered-by", "via"]) assert.equal(headers[name], undefined, name);
  // The published documents contain times and names of programs; other tests compare them with their source.
  if (status !== 200 || !/^\/(api|forms)|\.md$/.test(path)) {
    assert.doesNotMatch(text, /\bat .*:\d+:\d+|postgres|sqlstate|select |insert |node:|file:\/\//i);
  }
  assert.doesNotMatch(text, keyInText);
}

/** Log events that no test may cause without expecting them. */
const faults = ["unparsed", "uncaught", "fault", "totals_kept", "commit_warning", "log_lines_dropped"];

function checkLog(
  server: RunningServer,
  { keys, expected }: { keys: readonly IssuedKey[]; expected: ReadonlySet<string> },
): void {
  const text = server.output.stdout + server.output.stderr;
  assert.ok(!text.includes(marker), "no lead content in the log");
  for (const key of keys) {
    // The random part alone would be as harmful as the whole key.
    assert.ok(!text.includes(key.text.slice(10, 42)), "no key in the log");
    assert.ok(!text.includes(createHash("sha256").update(key.text).digest("hex")), "no digest in the log");
  }
  const unexpected = (event: string) => faults.includes(event) && !expected.has(event);
  assert.deepEqual(server.logs.filter((line) => unexpected(line.event ?? "")), []);
  assert.equal(server.output.stderr, "");
}
