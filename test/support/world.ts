/**
 * What a file of the suite works with: a database, tenants and keys in it, servers on it, and answers that
 * are held to what is true of every answer.
 */

import assert from "node:assert/strict";
import { createHash, getRandomValues, randomBytes } from "node:crypto";
import postgres from "postgres";
import { keyInText, type KeySurface, makeKey } from "../../src/contract/api_key.ts";
import type { BaseUrls } from "../../src/documents/openapi.ts";
import { assertDocumented } from "./contract/contract.ts";
import { type Answer, post, type RequestOptions, send } from "./client.ts";
import { atEnd } from "./at_end.ts";
import { asService, createDatabase, type TestDatabase } from "./database.ts";
import { type ProgramOptions, type RunningServer, startServer } from "./server.ts";
import { until } from "./until.ts";

/** A customer. */
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

/** What a key is issued with. */
export interface IssueOptions {
  readonly tenant?: Tenant;
  readonly label?: string;
  readonly campaignId?: number;
  readonly surface?: KeySurface;
}

/** A form, as the endpoint finds it. */
export interface TestForm {
  readonly id: number;
  readonly formKey: string;
  readonly tenant: Tenant;
}

/** What a form is defined with; what is left out is ordinary. */
export interface FormOptions {
  readonly tenant?: Tenant;
  readonly formKey?: string;
  /** `name` and `email` when left out. */
  readonly required?: readonly string[];
  readonly threshold?: number;
  readonly blocked?: readonly string[];
}

/** How much there is in every table that a lead or a submission can leave something in. */
export interface Stored {
  readonly events: number;
  readonly outbox: number;
  readonly pending: number;
  readonly collisions: number;
  readonly unknown: number;
  readonly spendCents: number;
  readonly submissions: number;
}

/** Limits that no test reaches by accident; a test of the limits starts a server with its own. */
const raisedLimits = {
  INTAKE_IP_PER_MINUTE: "60000000",
  INTAKE_IP_BURST: "1000000",
  INTAKE_KEY_PER_MINUTE: "60000000",
  INTAKE_KEY_BURST: "1000000",
  FORMS_IP_PER_MINUTE: "60000000",
  FORMS_IP_BURST: "1000000",
  FORMS_TENANT_PER_MINUTE: "60000000",
  FORMS_TENANT_BURST: "1000000",
  PUBLIC_IP_PER_MINUTE: "60000000",
  PUBLIC_IP_BURST: "1000000",
};

/** The published limits, whatever {@linkcode World.start} would raise. */
export const publishedLimits = {
  INTAKE_IP_PER_MINUTE: "",
  INTAKE_IP_BURST: "",
  INTAKE_KEY_PER_MINUTE: "",
  INTAKE_KEY_BURST: "",
  FORMS_IP_PER_MINUTE: "",
  FORMS_IP_BURST: "",
  FORMS_TENANT_PER_MINUTE: "",
  FORMS_TENANT_BURST: "",
  PUBLIC_IP_PER_MINUTE: "",
  PUBLIC_IP_BURST: "",
};

/** In every lead of the suite, so that a lead in a log is found. */
const marker = "Zmarker";
let leads = 0;

/** A valid envelope, another one each time. */
export function lead(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  leads += 1;
  return {
    first_name: "Ada",
    last_name: `${marker} ${process.pid} ${leads}`,
    phone: "(555) 123-4567",
    ...members,
  };
}

/** What a person writes into a form, another text each time. */
export function visitor(members: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  leads += 1;
  return {
    name: `Grace ${marker}`,
    email: "grace@example.com",
    message: `We would like to have our roof looked at before winter. (${process.pid} ${leads})`,
    ...members,
  };
}

/** An Idempotency-Key that nothing else uses. */
export function freshKey(): string {
  return `suite:${randomBytes(9).toString("hex")}`;
}

/** The world of one test file; it ends with the tests of the file, and then reads what its servers have logged. */
export class World {
  readonly database: TestDatabase;
  readonly sql: postgres.Sql;
  readonly #servers: RunningServer[] = [];
  readonly #keys: IssuedKey[] = [];
  readonly #expected = new Set<string>();
  #tenants = 0;

  private constructor(database: TestDatabase) {
    this.database = database;
    this.sql = postgres(database.url, { max: 4, onnotice: () => {} });
    atEnd(() => this.sql.end({ timeout: 5 }));
  }

  /** Creates a database, or takes the one at an address. */
  static async open(url?: string): Promise<World> {
    const drop = () => Promise.resolve();
    return new World(url === undefined ? await createDatabase() : { name: "", url, drop });
  }

  /** Starts a server; the first one is the one that {@linkcode intake} posts to. */
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

  /** Issues a key, to a tenant of its own unless one is given. */
  async issue(options: IssueOptions = {}): Promise<IssuedKey> {
    const tenant = options.tenant ?? await this.tenant();
    const { surface = "intake", campaignId = null } = options;
    const text = makeKey({ surface, sandbox: false }, (bytes) => getRandomValues(bytes));
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

  /** Defines a form, of a tenant of its own unless one is given. */
  async form(options: FormOptions = {}): Promise<TestForm> {
    const tenant = options.tenant ?? await this.tenant();
    const { formKey = "contact", required = ["name", "email"], threshold = null, blocked = [] } = options;
    const [row] = await this.sql<{ id: number }[]>`
      insert into form (tenant_id, form_key, required, threshold, blocked)
      values (${tenant.id}, ${formKey}, ${[...required]}, ${threshold}, ${[...blocked]}) returning id`;
    return { id: row?.id as number, formKey, tenant };
  }

  /** A form with a key of its tenant. */
  async formWithKey(options: FormOptions = {}): Promise<{ form: TestForm; key: IssuedKey }> {
    const form = await this.form(options);
    return { form, key: await this.issue({ tenant: form.tenant, surface: "forms" }) };
  }

  /** Posts to a form on the first server, or on the one given, and checks what holds of every answer. */
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

  /** Sends any request to the forms and checks what holds of every answer. */
  async sendToForms(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.urls.forms}${path}`, inBytes(options)), "forms");
  }

  /** Sends any request to the plan feed and checks what holds of every answer. */
  async sendToPlans(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.urls.subscription}${path}`, inBytes(options)), "subscription");
  }

  /** What was found of a submission. */
  async submission(submissionId: string): Promise<StoredSubmission> {
    const [row] = await this.sql<StoredSubmission[]>`
      select s.*, s.xmin::text as transaction,
        (select count(*)::int from outbox as o where o.event_id = s.event_id) as queued
      from submission as s where s.event_id = ${submissionId}`;
    assert.ok(row, `submission ${submissionId} is stored`);
    return row;
  }

  /** Posts to the first server's intake, or to the one given, and checks what holds of every answer. */
  async intake(options: RequestOptions, server = this.#servers[0] as RunningServer): Promise<Answer> {
    return checked(await post(`${server.url}/v1/intake`, inBytes(options)));
  }

  /** Sends any request to the first server and checks what holds of every answer. */
  async send(path: string, options: RequestOptions = {}, server = this.#servers[0] as RunningServer) {
    return checked(await send(`${server.url}${path}`, inBytes(options)));
  }

  /** What is stored now. */
  async stored(): Promise<Stored> {
    const [row] = await this.sql<Stored[]>`
      select
        (select count(*)::int from event) as events,
        (select count(*)::int from outbox) as outbox,
        (select coalesce(sum(delta), 0)::int from outbox_tally where state = 'pending') as pending,
        (select count(*)::int from collision) as collisions,
        (select coalesce(sum(count), 0)::int from unknown_area) as unknown,
        (select coalesce(sum(cents), 0)::int from campaign_charge) as "spendCents",
        (select count(*)::int from submission) as submissions`;
    return row as Stored;
  }

  /** Fails when `work` leaves anything in the database; refusals may leave counts, and nothing else does. */
  async leavesNothing<T>(work: () => Promise<T>): Promise<T> {
    const before = await this.stored();
    const result = await work();
    assert.deepEqual(await this.stored(), before);
    return result;
  }

  /** One event as it is stored. */
  async event(eventId: string): Promise<StoredEvent> {
    const [row] = await this.sql<StoredEvent[]>`
      select e.*, e.lead::text as lead_text, e.xmin::text as transaction from event as e
      where e.event_id = ${eventId}`;
    assert.ok(row, `event ${eventId} is stored`);
    return row;
  }

  /** Moves the service's clock: to a fixed time, or with `null` back to the real one. */
  async setClock(time: string | null): Promise<void> {
    const body = time === null ? "clock_timestamp()" : `timestamptz '${time}'`;
    await this.sql.unsafe(
      `create or replace function service_clock() returns timestamptz
       language sql volatile parallel safe as $$ select ${body} $$`,
    );
  }

  /**
   * Keeps every commit waiting until the returned function is called: reads go on, writes to `event` do not.
   */
  async holdCommits(): Promise<() => Promise<void>> {
    return await this.hold("lock table event in share row exclusive mode");
  }

  /** Takes a lock and keeps it until the returned function is called. */
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

  /** Waits until `count` posts wait for the first server's next commit: they have been read, and none has begun. */
  async untilQueued(count: number): Promise<void> {
    await until(async () => {
      const { text } = await send(`${this.#servers[0]?.urls.ops}/metrics`);
      return text.includes(`\nlead_commit_waiting ${count}\n`);
    }, { what: `${count} posts wait for a commit`, intervalMs: 5 });
  }

  /** Says that a log line of this event is part of what is tested. */
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
  readonly last_name: string | null;
  /** Outbox rows. */
  readonly queued: number;
  /** The transaction that committed it. */
  readonly transaction: string;
}

/** Node's client writes the headers in the encoding of a text body, so that bytes above 0x7F would be sent as two. */
function inBytes(options: RequestOptions): RequestOptions {
  const { body } = options;
  if (body === undefined || body instanceof Uint8Array) return options;
  return {
    ...options,
    body: new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body)),
  };
}

/** Fails on an answer that is not documented, has internals in it, or no request id. */
export function checked(answer: Answer, surface: keyof BaseUrls = "intake"): Answer {
  assertDocumented({ ...answer, surface });
  withoutInternals(answer);
  return answer;
}

/** What holds on every surface. */
function withoutInternals({ status, headers, text, path }: Answer): void {
  assert.ok(headers["x-request-id"], `X-Request-Id on ${status}`);
  for (const name of ["server", "x-powered-by", "via"]) assert.equal(headers[name], undefined, name);
  // The published documents speak of times and of programs; what they say is compared with their source.
  if (status !== 200 || !/^\/api|\.md$/.test(path)) {
    assert.doesNotMatch(text, /\bat .*:\d+:\d+|postgres|sqlstate|select |insert |node:|file:\/\//i);
  }
  assert.doesNotMatch(text, keyInText);
}

/** Events that no test of the suite may cause without saying so. */
const faults = ["unparsed", "uncaught", "fault", "totals_kept", "commit_warning", "log_lines_dropped"];

function checkLog(
  server: RunningServer,
  { keys, expected }: { keys: readonly IssuedKey[]; expected: ReadonlySet<string> },
): void {
  const text = server.output.stdout + server.output.stderr;
  assert.ok(!text.includes(marker), "no lead content in the log");
  for (const key of keys) {
    // The random part alone would be as bad as the whole key.
    assert.ok(!text.includes(key.text.slice(10, 42)), "no key in the log");
    assert.ok(!text.includes(createHash("sha256").update(key.text).digest("hex")), "no digest in the log");
  }
  const unexpected = (event: string) => faults.includes(event) && !expected.has(event);
  assert.deepEqual(server.logs.filter((line) => unexpected(line.event ?? "")), []);
  assert.equal(server.output.stderr, "");
}
