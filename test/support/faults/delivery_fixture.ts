/** A fixture for fault tests of delivery: a store, the service with delivery, and a tier. */

import type { RunningActions } from "../actions/actions_process.ts";
import type { CrmSink } from "../actions/crm_sink.ts";
import type { SmtpListener } from "../actions/smtp_listener.ts";
import { openFixture } from "../actions/fixture.ts";
import type { Authority, Issued } from "../authority.ts";
import { type IssuedKey, TestEnv } from "../test_env.ts";
import { type OwnPostgres, ownPostgres, withSql } from "../database.ts";
import type { RunningServer } from "../server.ts";
import { until } from "../until.ts";
import { DeliveryHistory } from "./delivery_history.ts";
import { History } from "./history.ts";
import { setClockOffset } from "./store.ts";
import { passTo, Tier } from "./tier.ts";

/** Options of the fixture. */
export interface DeliveryFixtureOptions {
  /** Additional settings of delivery. */
  readonly env?: Readonly<Record<string, string>>;
  /** With a separate PostgreSQL. */
  readonly ownPostgres?: boolean;
  /** With this database. */
  readonly databaseUrl?: string;
}

/** The running parts, except the service. */
export interface DeliveryFixture {
  readonly testEnv: TestEnv;
  readonly databaseUrl: string;
  /** The separate PostgreSQL, if requested. */
  readonly postgres: OwnPostgres | undefined;
  readonly tier: Tier;
  /** The history of posts. */
  readonly intake: History;
  readonly deliveries: DeliveryHistory;
  /** Starts a service that delivers to the tier. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningServer>;
  /** Issues a key of a new tenant with a route. */
  routed(route?: { readonly crmUrl?: string; readonly email?: string }): Promise<IssuedKey>;
  /** Advances the service's clock. */
  pass(seconds: number): Promise<void>;
  /** Waits until no delivery is left, advancing the clock when only time is missing. */
  drained(deadlineMs?: number): Promise<void>;
}

/** Short enough that a test sees in seconds what takes days. */
const quick = {
  DELIVERY_SEND_TIMEOUT_MS: "8000",
  DELIVERY_LEASE_MS: "9000",
  DELIVERY_BACKOFF_BASE_MS: "100",
  DELIVERY_BACKOFF_CAP_MS: "1000",
  DELIVERY_ATTEMPTS_MAX: "100",
  DELIVERY_POLL_MS: "200",
  DELIVERY_CONCURRENCY: "8",
};

/** Creates the fixture; it ends with the tests of the file. */
export async function deliveryFixture(options: DeliveryFixtureOptions = {}): Promise<DeliveryFixture> {
  const own = options.ownPostgres ? await ownPostgres() : undefined;
  const testEnv = await TestEnv.open(options.databaseUrl ?? own?.url);
  return await assemble(options, { own, testEnv, tier: await Tier.open(), tls: {} });
}

/** The same fixture with the actions process behind the tier, over mutual TLS, and the customers' servers. */
export interface ActionsFixture extends DeliveryFixture {
  readonly crm: CrmSink;
  readonly smtp: SmtpListener;
  /** The most recently started actions process. */
  readonly actions: RunningActions;
  /** Starts another one. */
  startActions(): Promise<void>;
}

/** Creates the fixture; every tenant has a CRM and an address. */
export async function actionsFixture(
  options: DeliveryFixtureOptions & { readonly actionsEnv?: Readonly<Record<string, string>> } = {},
): Promise<ActionsFixture> {
  const own = options.ownPostgres ? await ownPostgres() : undefined;
  const testEnv = await TestEnv.open(options.databaseUrl ?? own?.url);
  const behind = await openFixture({
    databaseUrl: testEnv.database.url,
    env: { ACTIONS_EFFECT_TIMEOUT_MS: "3500", ...options.actionsEnv },
  });
  const { authority, client, crm, smtp } = behind;
  const tier = await Tier.open(behind);
  let actions: RunningActions | null = null;
  const watch = (started: RunningActions) => {
    actions = started;
    started.ended.then(() => actions = actions === started ? null : actions);
  };
  watch(behind.actions);
  tier.answer = passTo(() => actions?.port ?? null, { authority, certificate: client });
  const fixture = await assemble(options, { own, testEnv, tier, tls: clientFiles(authority, client) });
  return {
    ...fixture,
    routed: (route = {}) =>
      fixture.routed({
        // An IP address, because the machine's name server may lose a query.
        crmUrl: `https://127.0.0.1:${crm.port}/hook`,
        email: "sales@customer.example",
        ...route,
      }),
    crm,
    smtp,
    get actions() {
      return behind.actions;
    },
    startActions: async () => watch(await behind.start()),
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
  options: DeliveryFixtureOptions,
  parts: {
    readonly own: OwnPostgres | undefined;
    readonly testEnv: TestEnv;
    readonly tier: Tier;
    readonly tls: Readonly<Record<string, string>>;
  },
): DeliveryFixture {
  const { own, testEnv, tier, tls } = parts;
  const databaseUrl = testEnv.database.url;
  // The counts wait while a killed store recovers, which may take longer than their interval.
  if (own !== undefined) testEnv.expectLogged("totals_kept");
  const intake = new History();
  const clock = { offsetSeconds: 0 };
  const pass = async (seconds: number) => {
    clock.offsetSeconds += seconds;
    await setClockOffset(databaseUrl, clock.offsetSeconds);
  };
  return {
    testEnv,
    databaseUrl,
    tier,
    intake,
    pass,
    postgres: own,
    deliveries: new DeliveryHistory({ databaseUrl, intake, tier }),
    start: (env = {}) =>
      testEnv.start({ ...quick, ACTIONS_URL: tier.url, ...tls, ...options.env, ...env }, { runtime: "node" }),
    async routed({ crmUrl, email = "leads@customer.example" } = {}) {
      const key = await testEnv.issue();
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
    drained: (deadlineMs = 60_000) => drained({ databaseUrl, tier, pass }, deadlineMs),
  };
}

// After this time without a change, the holder of a lease is dead and waiting rows need the clock to advance.
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
