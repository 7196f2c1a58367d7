/** A fixture of the console with the kinds of events that operators handle. */

import assert from "node:assert/strict";
import { type Answer, send } from "../client.ts";
import type { RunningServer } from "../server.ts";
import { createRole, type TestRole } from "../actions/actions_process.ts";
import { type Fixture, openFixture } from "../actions/fixture.ts";
import { type IssuedKey, type Tenant, TestEnv } from "../test_env.ts";

/** A console with its test environment, until the tests of the file have ended. */
export class ConsoleStage {
  readonly testEnv: TestEnv;
  readonly server: RunningServer;
  readonly #role: TestRole;

  private constructor(testEnv: TestEnv, { server, role }: { server: RunningServer; role: TestRole }) {
    this.testEnv = testEnv;
    this.server = server;
    this.#role = role;
  }

  /** Starts a service on an empty database with the role that production uses. */
  static async open(env: Readonly<Record<string, string>> = {}): Promise<ConsoleStage> {
    return await ConsoleStage.#start(await TestEnv.open(), env);
  }

  /**
   * The same with an actions process, which `fixture` describes; the `env` that is returned reaches it. `options` can name
   * another empty database.
   */
  static async openWithActions(
    settings: Readonly<Record<string, string>> = {},
    options: { readonly databaseUrl?: string; readonly actionsEnv?: Readonly<Record<string, string>> } = {},
  ): Promise<
    {
      readonly stage: ConsoleStage;
      readonly fixture: Fixture;
      readonly env: Readonly<Record<string, string>>;
    }
  > {
    const testEnv = await TestEnv.open(options.databaseUrl);
    const fixture = await openFixture({ databaseUrl: testEnv.database.url, env: options.actionsEnv ?? {} });
    const { actions, authority, client } = fixture;
    const env = {
      ACTIONS_URL: `https://127.0.0.1:${actions.port}`,
      ACTIONS_CA_FILE: authority.file,
      ACTIONS_CLIENT_CERT_FILE: client.certFile,
      ACTIONS_CLIENT_KEY_FILE: client.keyFile,
      DELIVERY_POLL_MS: "200",
    };
    return { stage: await ConsoleStage.#start(testEnv, { ...env, ...settings }), fixture, env };
  }

  static async #start(testEnv: TestEnv, env: Readonly<Record<string, string>>): Promise<ConsoleStage> {
    const role = await createRole(testEnv.database.url, "lead_service");
    return new ConsoleStage(testEnv, { server: await testEnv.start(env, { databaseUrl: role.url }), role });
  }

  /** The database's address as the service's role. */
  get roleUrl(): string {
    return this.#role.url;
  }

  /** The name of the service's role. */
  get login(): string {
    return new URL(this.#role.url).username;
  }

  /** The console's address without a trailing slash. */
  get url(): string {
    return this.server.urls.ops as string;
  }

  /** Requests a page. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return send(this.url + path, { headers, localAddress: "127.0.0.1" });
  }

  /** Returns the token of the page's form that posts to `action`. */
  async token(page: string, action: string): Promise<string> {
    const { text } = await this.get(page);
    const form = text.split("<form").find((part) => part.includes(`action="${action}"`));
    const token = /name="token" value="([^"]+)"/.exec(form ?? "")?.[1];
    assert.ok(token, `${page} has a form that posts to ${action}`);
    return token;
  }

  /** Posts a form as a browser does from a console page; headers set to `null` are omitted. */
  post(
    path: string,
    fields: readonly (readonly [string, string])[],
    headers: Readonly<Record<string, string | null>> = {},
  ): Promise<Answer> {
    const all: Record<string, string | null> = {
      "Content-Type": "application/x-www-form-urlencoded",
      "Origin": this.url,
      "Sec-Fetch-Site": "same-origin",
      ...headers,
    };
    return send(this.url + path, {
      method: "POST",
      body: new URLSearchParams(fields as [string, string][]).toString(),
      headers: Object.fromEntries(
        Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null),
      ),
      localAddress: "127.0.0.1",
    });
  }

  /** Makes accepted events dead, as delivery does after the last attempt. */
  async kill(tenant: Tenant, eventIds: readonly string[], reason = "crm_500"): Promise<void> {
    const { sql } = this.testEnv;
    await sql`delete from outbox where event_id in ${sql(eventIds)}`;
    await sql`
      insert into dead_letter (event_id, tenant_id, died_at, reason)
      select id, ${tenant.id}, now(), ${reason} from unnest(${[...eventIds]}::text[]) as i (id)`;
    await sql`
      insert into attempt (event_id, number, at, outcome, status, reason, duration_ms, spent)
      select id, 1, now(), 'refused', 424, ${reason}, 52, true from unnest(${[
      ...eventIds,
    ]}::text[]) as i (id)`;
    await sql`insert into outbox_tally values ('pending', ${-eventIds.length}), ('dead', ${eventIds.length})`;
  }

  /** Makes an accepted event delivered with its CRM effect done and its email effect failed. */
  async deliver(tenant: Tenant, eventId: string, answer = "ok"): Promise<void> {
    const { sql } = this.testEnv;
    await sql`delete from outbox where event_id = ${eventId}`;
    await sql`insert into outbox_tally values ('pending', -1)`;
    await sql`
      insert into attempt (event_id, number, at, outcome, status, duration_ms, spent)
      values (${eventId}, 1, now(), 'delivered', 200, 12, true)`;
    await sql`
      insert into actions.route (tenant_id, kind, address, secret) values
        (${tenant.id}, 'crm', 'https://crm.example/hook?token=hunter2', ${`whsec_${"a".repeat(43)}=`}),
        (${tenant.id}, 'email', 'leads@acme.example', null)
      on conflict do nothing`;
    await sql`
      insert into actions.effect (event_id, route_id, effect, attempts, is_done, settled_at, reason, status, answer)
      select ${eventId}, id, kind, case kind when 'crm' then 1 else 3 end, kind = 'crm', now(),
        case kind when 'email' then 'smtp_deferred_451' end, case kind when 'crm' then 200 else 451 end, ${answer}
      from actions.route where tenant_id = ${tenant.id}`;
  }

  /** Accepts a submission, holds it for these reasons and returns its id. */
  async held(
    key: IssuedKey,
    formId: number,
    reasons: readonly string[] = ["links", "too_fast"],
    { score = 9, fields = {} }: { score?: number; fields?: Readonly<Record<string, string>> } = {},
  ): Promise<string> {
    const { sql } = this.testEnv;
    const id = await this.testEnv.accept(key, fields);
    await sql`update event set kind = 'form' where event_id = ${id}`;
    await sql`delete from outbox where event_id = ${id}`;
    await sql`insert into outbox_tally values ('pending', -1)`;
    await sql`
      insert into submission (event_id, tenant_id, form_id, verdict, score, reasons)
      values (${id}, ${key.tenant.id}, ${formId}, ${
      reasons.includes("honeypot_filled") ? "honeypot" : "spam"
    }, ${score}, ${[...reasons]})`;
    return id;
  }

  /** Returns the audit rows, oldest first. */
  async audit(): Promise<{ actor: string; claimed: string | null; action: string; subject: string }[]> {
    const rows = await this.testEnv.sql<
      { actor: string; claimed: string | null; action: string; subject: string }[]
    >`
      select actor, claimed, action, subject from audit order by id`;
    return rows.map((row) => ({ ...row }));
  }

  /** Returns everything that a console action could change. */
  async everything(): Promise<unknown> {
    const { sql } = this.testEnv;
    const [row] = await sql`
      select
        (select json_agg(o order by o.event_id) from outbox as o) as outbox,
        (select json_agg(d order by d.event_id) from dead_letter as d) as dead,
        (select json_agg(s order by s.event_id) from submission as s) as submissions,
        (select json_agg(a order by a.area) from area as a) as areas,
        (select json_agg(a order by a.id) from audit as a) as audit,
        (select count(*)::int from event) as events`;
    return row;
  }
}
