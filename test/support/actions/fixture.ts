/** A fixture of the actions process with its database, a CRM, a mail server and certificates. */

import type postgres from "postgres";
import { openStore } from "../store.ts";
import type { Runtime } from "../server.ts";
import { createRole, type RunningActions, startActionsProcess } from "./actions_process.ts";
import { Authority, type Issued } from "../authority.ts";
import { type Answer, type RequestOptions, send } from "../client.ts";
import { type CrmSink, startCrm } from "./crm_sink.ts";
import { eventBody, type EventParts, newEventId } from "./event.ts";
import { type SmtpListener, startSmtp } from "./smtp_listener.ts";
import { until } from "../until.ts";

/** The running parts of the fixture. */
export interface Fixture {
  readonly databaseUrl: string;
  /** Connected as the superuser. */
  readonly sql: postgres.Sql;
  readonly authority: Authority;
  readonly server: Issued;
  readonly client: Issued;
  readonly crm: CrmSink;
  readonly smtp: SmtpListener;
  /** The database's address as the role of the actions process. */
  readonly actionsUrl: string;
  readonly secret: string;
  /** The most recently started process. */
  readonly actions: RunningActions;
  /** Starts another process. */
  start(options?: { env?: Readonly<Record<string, string>>; runtime?: Runtime }): Promise<RunningActions>;
  /** Adds a tenant with these routes; by default it has none. */
  addTenant(
    slug: string,
    route?: { crm?: string; email?: string; slack?: string; sandbox?: boolean },
  ): Promise<void>;
  /** Returns the CRM's address for a path. */
  crmUrl(path?: string): string;
  /** Returns the row of an event's CRM effect. */
  // deno-lint-ignore no-explicit-any
  crmEffect(eventId: string): Promise<any>;
  /** Sends one request over a new connection to the most recent or the given process. */
  ask(request: RequestOptions & { readonly path: string }, actions?: RunningActions): Promise<Answer>;
  /** Delivers an event, by default to the tenant `acme`, which has both routes. */
  deliver(parts?: EventParts, actions?: RunningActions): Promise<Answer & { readonly eventId: string }>;
  /** Delivers an event, and again as long as it waits for time on a busy machine. */
  deliverPatiently(parts?: EventParts): Promise<Answer & { readonly eventId: string }>;
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Creates the fixture with the tenant `acme`. Effects time out after 20 s unless `env` sets another limit. */
export async function openFixture(
  options: { env?: Readonly<Record<string, string>>; runtime?: Runtime; databaseUrl?: string } = {},
): Promise<Fixture> {
  const { databaseUrl, sql } = await openStore({ url: options.databaseUrl });
  const authority = new Authority();
  const server = authority.issue({ name: "actions", use: "server" });
  const client = authority.issue({ name: "lead-intake", use: "client" });
  const role = await createRole(databaseUrl, "lead_actions");
  const crm = await startCrm(authority.issue({ name: "crm.test", use: "server" }));
  const smtp = await startSmtp();
  const processes: RunningActions[] = [];
  const fixture: Fixture = {
    databaseUrl,
    sql,
    authority,
    server,
    client,
    crm,
    smtp,
    secret,
    actionsUrl: role.url,
    get actions() {
      return processes.at(-1) as RunningActions;
    },
    start: async ({ env, runtime } = {}) => {
      const started = await startActionsProcess({
        databaseUrl: role.url,
        authority,
        server,
        runtime: runtime ?? options.runtime ?? "node",
        env: {
          ACTIONS_ALLOWED_NETWORKS: "127.0.0.0/8",
          // Enough for effects that must succeed on a slow machine.
          ACTIONS_EFFECT_TIMEOUT_MS: "20000",
          SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
          MAIL_FROM: "Leads <leads@intake.example>",
          NODE_EXTRA_CA_CERTS: authority.file,
          ...options.env,
          ...env,
        },
      });
      processes.push(started);
      return started;
    },
    addTenant: async (slug, route = {}) => {
      const { sandbox = false, ...addresses } = route;
      await sql`insert into tenant (slug, name, sandbox) values (${slug}, ${slug}, ${sandbox})`;
      for (const [kind, address] of Object.entries(addresses)) {
        await sql`
          insert into actions.route (tenant_id, kind, address, secret)
          select id, ${kind}, ${address}, ${kind === "crm" ? secret : null} from tenant where slug = ${slug}`;
      }
    },
    crmEffect: async (eventId) =>
      (await sql`select * from actions.effect where event_id = ${eventId} and effect = 'crm'`)[0],
    crmUrl: (path = "/hook") => `https://localhost:${crm.port}${path}`,
    ask: ({ path, ...request }, { port } = fixture.actions) =>
      send(`https://127.0.0.1:${port}${path}`, {
        ca: authority.pem,
        certificate: client,
        keepAlive: false,
        timeoutMs: 30_000,
        localAddress: "127.0.0.1",
        ...request,
      }),
    deliver: async (parts = {}, actions = fixture.actions) => {
      const eventId = parts.eventId ?? newEventId();
      const request = {
        method: "PUT",
        path: `/v1/events/${eventId}`,
        body: eventBody({ ...parts, eventId }),
      };
      return { ...await fixture.ask(request, actions), eventId };
    },
    deliverPatiently: async (parts = {}) => {
      const eventId = parts.eventId ?? newEventId();
      return await until(async () => {
        const answer = await fixture.deliver({ ...parts, eventId });
        return answer.json?.reason !== "crm_unfinished" && answer;
      });
    },
  };
  await fixture.addTenant("acme", { crm: fixture.crmUrl(), email: "sales@acme.example" });
  await fixture.start();
  return fixture;
}
