/**
 * What a fault test of the delivery stands on: a store, the service with delivery, and the tier that it delivers to.
 */

import { createRole, type RunningActions, startActionsProcess } from "../actions/actions_process.ts";
import { Authority, type Issued } from "../authority.ts";
import { type CrmSink, startCrm } from "../actions/crm_sink.ts";
import { type SmtpListener, startSmtp } from "../actions/smtp_listener.ts";
import { type IssuedKey, World } from "../world.ts";
import { type OwnPostgres, ownPostgres } from "../database.ts";
import type { RunningServer } from "../server.ts";
import { until } from "../until.ts";
import { DeliveryHistory } from "./delivery_history.ts";
import { setClockOffset } from "./delivery_store.ts";
import { History } from "./history.ts";
import { withSql } from "./store.ts";
import { passTo, Tier } from "./tier.ts";

/** How to set it up. */
export interface DeliveryStandOptions {
  /** Of the delivery, on top of what is usual here. */
  readonly env?: Readonly<Record<string, string>>;
  /** With a PostgreSQL of its own. */
  readonly ownPostgres?: boolean;
  /** On this database. */
  readonly databaseUrl?: string;
}

/** The parts, all running but the service. */
export interface DeliveryStand {
  readonly world: World;
  readonly databaseUrl: string;
  /** Its own, when it was asked for. */
  readonly postgres: OwnPostgres | undefined;
  readonly tier: Tier;
  /** Of what is posted. */
  readonly intake: History;
  readonly deliveries: DeliveryHistory;
  /** Starts a service that delivers to the tier. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningServer>;
  /** A key of a new tenant with a route. */
  routed(route?: { readonly crmUrl?: string; readonly email?: string }): Promise<IssuedKey>;
  /** Moves the service's clock on. */
  pass(seconds: number): Promise<void>;
  /** Waits until nothing waits to be delivered; moves the clock on when only time is missing. */
  drained(deadlineMs?: number): Promise<void>;
}

/** Quick, so that a test sees in seconds what takes days. */
const quick = {
  DELIVERY_SEND_TIMEOUT_MS: "8000",
  DELIVERY_LEASE_MS: "9000",
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_BACKOFF_CAP_MS: "1000",
  DELIVERY_ATTEMPTS_MAX: "100",
  DELIVERY_POLL_MS: "200",
  DELIVERY_CONCURRENCY: "8",
};

/** Sets a stand up for the tests of a file; it ends with them. */
export async function deliveryStand(options: DeliveryStandOptions = {}): Promise<DeliveryStand> {
  const own = options.ownPostgres ? await ownPostgres() : undefined;
  const world = await World.open(options.databaseUrl ?? own?.url);
  return await assemble(options, { own, world, tier: await Tier.open(), tls: {} });
}

/** The same with the actions process behind the tier, over mutual TLS all the way, and the customers' side. */
export interface ActionsStand extends DeliveryStand {
  readonly crm: CrmSink;
  readonly smtp: SmtpListener;
  /** The actions process that runs. */
  readonly actions: RunningActions;
  /** Starts it again. */
  startActions(): Promise<void>;
}

/** Sets one up; every tenant has its CRM and its address. */
export async function actionsStand(
  options: DeliveryStandOptions & { readonly actionsEnv?: Readonly<Record<string, string>> } = {},
): Promise<ActionsStand> {
  const authority = new Authority();
  const own = options.ownPostgres ? await ownPostgres() : undefined;
  const world = await World.open(options.databaseUrl ?? own?.url);
  const server = authority.issue({ name: "actions", use: "server" });
  const client = authority.issue({ name: "lead-intake", use: "client" });
  const crm = await startCrm(authority.issue({ name: "crm.test", use: "server" }));
  const smtp = await startSmtp();
  const role = await createRole(world.database.url, "lead_actions");
  const tier = await Tier.open({ authority, server });
  let actions: RunningActions | null = null;
  const startActions = async () => {
    actions = await startActionsProcess({
      databaseUrl: role.url,
      authority,
      server,
      env: {
        ACTIONS_ALLOWED_NETWORKS: "127.0.0.0/8",
        ACTIONS_EFFECT_TIMEOUT_MS: "3500",
        SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
        MAIL_FROM: "Leads <leads@intake.example>",
        NODE_EXTRA_CA_CERTS: authority.file,
        ...options.actionsEnv,
      },
    });
    const started = actions;
    started.ended.then(() => actions = actions === started ? null : actions);
  };
  await startActions();
  tier.answer = passTo(() => actions?.port ?? null, { authority, certificate: client });
  const stand = await assemble(options, { own, world, tier, tls: clientFiles(authority, client) });
  return {
    ...stand,
    routed: (route = {}) =>
      stand.routed({
        // No name: the machine's name server is no part of this, and may lose a question now and then.
        crmUrl: `https://127.0.0.1:${crm.port}/hook`,
        email: "sales@customer.example",
        ...route,
      }),
    crm,
    smtp,
    get actions() {
      if (actions === null) throw new Error("The actions process does not run");
      return actions;
    },
    startActions,
  };
}

function clientFiles(authority: Authority, client: Issued): Record<string, string> {
  return {
    ACTIONS_CA_FILE: authority.file,
    ACTIONS_CLIENT_CERT_FILE: client.certFile,
    ACTIONS_CLIENT_KEY_FILE: client.keyFile,
  };
}

function assemble(
  options: DeliveryStandOptions,
  parts: {
    readonly own: OwnPostgres | undefined;
    readonly world: World;
    readonly tier: Tier;
    readonly tls: Readonly<Record<string, string>>;
  },
): DeliveryStand {
  const { own, world, tier, tls } = parts;
  const databaseUrl = world.database.url;
  // Counts wait for a store that is killed, and its recovery may take longer than the time between two writes.
  if (own !== undefined) world.expectLogged("totals_kept");
  const intake = new History();
  const clock = { offsetSeconds: 0 };
  const pass = async (seconds: number) => {
    clock.offsetSeconds += seconds;
    await setClockOffset(databaseUrl, clock.offsetSeconds);
  };
  return {
    ...{ world, databaseUrl, tier, intake, pass },
    postgres: own,
    deliveries: new DeliveryHistory({ databaseUrl, intake, tier }),
    start: (env = {}) =>
      world.start({ ...quick, ACTIONS_URL: tier.url, ...tls, ...options.env, ...env }, { runtime: "node" }),
    async routed({ crmUrl, email = "leads@customer.example" } = {}) {
      const key = await world.issue();
      const secret = crmUrl === undefined ? null : `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
      await withSql(databaseUrl, (sql) =>
        sql`
          insert into actions.route (tenant_id, kind, address, secret)
          select ${key.tenant.id}, kind, address, secret
          from (values ('crm', ${
          crmUrl ?? null
        }, ${secret}), ('email', ${email}, null)) as r (kind, address, secret)
          where address is not null`);
      return key;
    },
    pass,
    drained: (deadlineMs = 60_000) => drained({ databaseUrl, tier, pass }, deadlineMs),
  };
}

// Nothing has moved for so long: whoever holds a lease then is dead, and whoever waits, waits for the clock.
const stillMs = 1_000;

async function drained(
  { databaseUrl, tier, pass }: {
    readonly databaseUrl: string;
    readonly tier: Tier;
    readonly pass: (seconds: number) => Promise<void>;
  },
  deadlineMs: number,
): Promise<void> {
  let last = "";
  let sinceMs = performance.now();
  await until(() =>
    withSql(databaseUrl, async (sql) => {
      const [row] = await sql<{ count: number; state: string; seconds: number }[]>`
        select count(*)::int as count, coalesce(string_agg(event_id || made || due_at || coalesce(lease::text, ''), ',' order by event_id), '') as state,
          coalesce(extract(epoch from min(coalesce(lease_until, due_at)) - service_clock()), 0)::float8 as seconds
        from outbox`;
      const { count = 0, state = "", seconds = 0 } = row ?? {};
      if (count === 0) return true;
      if (state !== last || tier.inFlight.length > 0) sinceMs = performance.now();
      last = state;
      if (performance.now() - sinceMs > stillMs && seconds > 0) await pass(seconds);
      return false;
    }), { deadlineMs, what: "nothing waits to be delivered", intervalMs: 100 });
}
