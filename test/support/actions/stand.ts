/** The actions process with all that is around it: its database, a CRM, a mail server, certificates. */

import postgres from "postgres";
import type { TestDatabase } from "../database.ts";
import { openStore } from "../store.ts";
import type { Runtime } from "../server.ts";
import {
  type ActionsAnswer,
  ask,
  createRole,
  type RunningActions,
  startActionsProcess,
} from "./actions_process.ts";
import { Authority, type Issued } from "../authority.ts";
import { type CrmSink, startCrm } from "./crm_sink.ts";
import { eventBody, type EventParts, newEventId } from "./event.ts";
import { type SmtpListener, startSmtp } from "./smtp_listener.ts";

/** The parts, all running. */
export interface Stand {
  readonly database: TestDatabase;
  /** As the superuser. */
  readonly sql: postgres.Sql;
  readonly authority: Authority;
  readonly server: Issued;
  readonly client: Issued;
  readonly crm: CrmSink;
  readonly smtp: SmtpListener;
  /** The role of the actions process. */
  readonly actionsUrl: string;
  readonly secret: string;
  /** The last one that was started. */
  readonly actions: RunningActions;
  /** Starts another one. */
  start(options?: { env?: Readonly<Record<string, string>>; runtime?: Runtime }): Promise<RunningActions>;
  /** Adds a tenant with this route; without one it has none. */
  addTenant(
    slug: string,
    route?: { crm?: string; email?: string; slack?: string; sandbox?: boolean },
  ): Promise<void>;
  /** The CRM's address for a path. */
  crmUrl(path?: string): string;
  /** Delivers an event, by default to the tenant `acme`, which has both routes. */
  deliver(parts?: EventParts): Promise<ActionsAnswer & { readonly eventId: string }>;
  /** The same, to a process. */
  deliverTo(
    actions: RunningActions,
    parts: EventParts,
  ): Promise<ActionsAnswer & { readonly eventId: string }>;
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Sets one up, with the tenant `acme`. Effects are bounded by 2 s unless `env` says otherwise. */
export async function openStand(
  options: { env?: Readonly<Record<string, string>>; runtime?: Runtime } = {},
): Promise<Stand> {
  const { database, databaseUrl, sql } = await openStore();
  const authority = new Authority();
  const server = authority.issue({ name: "actions", use: "server" });
  const client = authority.issue({ name: "lead-intake", use: "client" });
  const role = await createRole(databaseUrl, "lead_actions");
  const crm = await startCrm(authority.issue({ name: "crm.test", use: "server" }));
  const smtp = await startSmtp();
  const processes: RunningActions[] = [];
  const stand: Stand = {
    ...{ database, sql, authority, server, client, crm, smtp, secret, actionsUrl: role.url },
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
          ACTIONS_EFFECT_TIMEOUT_MS: "2000",
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
    crmUrl: (path = "/hook") => `https://localhost:${crm.port}${path}`,
    deliver: (parts = {}) => stand.deliverTo(stand.actions, parts),
    deliverTo: async (actions, parts) => {
      const eventId = parts.eventId ?? newEventId();
      const answer = await ask(actions, { authority, certificate: client }, {
        method: "PUT",
        path: `/v1/events/${eventId}`,
        body: eventBody({ ...parts, eventId }),
      });
      return { ...answer, eventId };
    },
  };
  await stand.addTenant("acme", { crm: stand.crmUrl(), email: "sales@acme.example" });
  await stand.start();
  return stand;
}
