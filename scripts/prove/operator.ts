/**
 * The operators' work after a round's steps. All tables are read before and after each operation, and every row is compared with
 * the one that the model computes.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Callers } from "./callers.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { Ctl } from "./ctl.ts";
import { acknowledgedId, type Delivery, type Key, type PostKind } from "./history.ts";
import { keyDigest, keyText, marker } from "./leads.ts";
import { moveClock, recordRevocation } from "./faults.ts";
import {
  type Change,
  type Changes,
  effectsOf,
  expectedDelivery,
  expectedRemoval,
  findDifferences,
  idsOf,
  isHeld,
  nonNull,
  readRows,
  type Row,
  rowAt,
  type Rows,
  rowsOf,
  scopeOf,
  unclaimed,
} from "./model.ts";
import { seededRandom } from "./random.ts";
import { daysOf, fetchReport } from "./tables.ts";
import { attemptsMax, linkSecret, type TestEnv } from "./test_env.ts";

/** How often each operation must run. */
export const runsMin = 10;

/** A row that `claim_outbox` returned. */
interface Claimed {
  readonly event_id: string;
  readonly number: number;
  readonly is_replay: boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The time before the end of a window at which a repeated post is certainly within the window. */
const marginMs = 20_000;
const stepTimeoutMs = 90_000;
/** The lease of a claim on effects that is not meant to expire. */
const effectLeaseMs = 15_000;
/** The last retention period of `north`, in days. */
const retentionDays = 2;
const uuids = ["1", "2"].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
const [firstLease, secondLease] = uuids as [string, string];

/** Runs the operators' commands and records every difference from the model. */
export class Operators {
  readonly differences: string[] = [];
  /** How often each operation ran, by name. */
  readonly operations: Record<string, number> = {};
  readonly #testEnv: TestEnv;
  readonly #callers: Callers;
  readonly #ctl: Ctl;
  #deadIds: readonly string[] = [];
  #hasRemovedExpired = false;
  #rotatedSecret = "";

  constructor(testEnv: TestEnv, callers: Callers) {
    this.#testEnv = testEnv;
    this.#callers = callers;
    this.#ctl = new Ctl(testEnv.options.tree, testEnv.databaseUrl);
  }

  close(): void {
    this.#ctl.close();
  }

  /** Completes the callers' rare operations, changes terms and keys while clients post, and posts leads for {@linkcode work}. */
  async post(): Promise<void> {
    await this.#callers.completeOperations(runsMin);
    await this.#changeVocabulary();
    await this.#addKeys();
    await this.#revoke();
    await this.#callers.postRelated(runsMin);
  }

  /** Uses keys before they are stored, and right after. */
  async #addKeys(): Promise<void> {
    const { sql, notes, plan } = this.#testEnv;
    const like = notes.keys.find(({ tenant, label }) => tenant === "north" && label === "kept") as Key;
    const random = seededRandom(plan.seed ^ 0x6e77);
    for (let index = 0; index < runsMin; index += 1) {
      const text = keyText(random, "lead_live_");
      await this.#callers.probeUnknown({ text, tenant: like.tenant });
      const label = `new-${index}`;
      const [row] = await sql<{ id: number }[]>`
        insert into api_key (tenant_id, campaign_id, surface, label, digest, last4, limit_per_minute, limit_burst, limit_until)
        select tenant_id, campaign_id, surface, ${label}, decode(${keyDigest(text)}, 'hex'), ${
        text.slice(-4)
      },
          limit_per_minute, limit_burst, limit_until
        from api_key where id = ${like.id} returning id`;
      const key = { ...like, id: row?.id as number, text, label };
      notes.keys.push(key);
      await this.#callers.postWith([key, key]);
    }
    this.#count("key used before and after it is stored", runsMin);
  }

  /** Adds and retires terms, and posts leads with them after each change. */
  async #changeVocabulary(): Promise<void> {
    const terms = Array.from({ length: runsMin }, (_, index) => `Gazebo ${index}`);
    for (const [change, isKnown] of [["add", true], ["retire", false]] as const) {
      for (const term of terms) await this.#ctl.run("vocabulary", change, term);
      await this.#waitUntilServed(
        "/v1/vocabulary",
        (text) => terms.every((term) => text.includes(`"${term}"`) === isKnown),
      );
      await this.#callers.postAreas(terms, isKnown);
      this.#count(`vocabulary.${change}`, runsMin);
    }
    const unknown = await this.#ctl.run("vocabulary", "unknown", "--tenant", "north", "--limit", "1000");
    const posted = this.#callers.exchanges.filter(({ response }) => response?.status === 202)
      .map(({ expected }) => expected.project_area);
    this.differences.push(
      ...terms.map((term) => term.toUpperCase())
        .filter((term) => posted.includes(term) && !unknown.includes(`"${term}"`))
        .map((term) => `ctl vocabulary unknown does not list ${term}`),
    );
  }

  /** Waits until the document of each process passes a check. */
  async #waitUntilServed(path: Parameters<Callers["get"]>[1], isExpected: (text: string) => boolean) {
    for (const { index } of this.#testEnv.nodes) {
      const isServed = await waitFor(async () => isExpected(await this.#callers.get(index, path)), {
        deadlineMs: stepTimeoutMs,
      });
      if (isServed === null) this.differences.push(`service ${index} does not serve the stored ${path}`);
    }
  }

  /**
   * Makes leads dead, loses last attempts, posts leads that differ in one digit or sign, posts right before PostgreSQL is killed,
   * repeats posts before and after their content window ends, and gives `bare` its first route.
   */
  async prepare(): Promise<void> {
    const differences = this.differences;
    const callers = this.#callers;
    const testEnv = this.#testEnv;
    await this.#whileFailing(async () => {
      await callers.postConcurrently("lead", runsMin, "north");
      return async () =>
        Number((await testEnv.sql`select count(*)::int as dead from dead_letter`)[0]?.dead) >= runsMin;
    });
    this.#count("lead refused until dead", runsMin);
    await this.#whileFailing(() => this.#loseLastAttempts());
    this.#count("last attempt lost", runsMin);
    await callers.postLongNumbers(runsMin);
    this.#count("leads that differ in one digit or sign", runsMin);
    // Without the proof's own commits nothing else flushes the WAL, so a kill loses an event acknowledged too early.
    testEnv.isQuiet = true;
    for (const kind of ["trapped_form", "lead"] as const) {
      for (let round = 0; round < 3; round += 1) {
        const end = testEnv.recordStep("postgres_kill", null);
        await callers.postConcurrently(kind, runsMin / 2, "bare");
        testEnv.server.kill("SIGKILL");
        this.#count(`${kind} acknowledged right before PostgreSQL is killed`, runsMin / 2);
        await testEnv.server.restart();
        const backAtMs = nowMs();
        await waitFor(() => testEnv.isHealthySince(backAtMs), { deadlineMs: stepTimeoutMs });
        end();
      }
    }
    testEnv.isQuiet = false;
    if (testEnv.plan.hasActions) await this.#loseRecords();
    for (const [kind, windowMs] of [["form", 10 * minuteMs], ["lead", dayMs]] as const) {
      const posts = await callers.postConcurrently(kind, runsMin, "south");
      for (const stepMs of [windowMs - marginMs, marginMs + 5_000]) {
        // The clock step ends leases, so that sends in flight may be repeated.
        const end = testEnv.recordStep("day_passes", null);
        await moveClock(testEnv, stepMs);
        end();
        await callers.repeat(posts);
      }
      this.#count(`${kind} repeated before and after its window ends`, runsMin);
    }
    // The newest content of the tenant with a retention period.
    await callers.postConcurrently("lead", runsMin, "north");
    const delivered = testEnv.sink.deliveries.filter(({ tenant }) => tenant === "bare");
    differences.push(
      ...delivered.map(({ eventId }) => `${eventId} was delivered, but its tenant has no route`),
    );
    const attempted = await testEnv.sql<{ id: string }[]>`
      select o.event_id as id from outbox as o join tenant as t on t.id = o.tenant_id
      where t.slug = 'bare' and (o.made > 0 or o.spent > 0)`;
    differences.push(...attempted.map(({ id }) => `${id} made an attempt, but its tenant has no route`));
    await this.#addRoutes();
  }

  /** Gives `bare` a route for one source, which must deliver that source's waiting events, and then one for all. */
  async #addRoutes(): Promise<void> {
    const { sql, sink, notes } = this.#testEnv;
    const kept = notes.keys.find(({ tenant, label }) => tenant === "bare" && label === "kept") as Key;
    await this.#callers.postWith(Array.from({ length: runsMin }, () => kept));
    const countWaiting = async () =>
      (await sql`
        select from outbox as o join event as e using (event_id) join api_key as k on k.id = e.key_id
        where k.label = 'kept' and k.tenant_id = (select id from tenant where slug = 'bare')`).length;
    this.#count("event that waits for its source's route", await countWaiting());
    const scoped = ["--source", "kept", "--crm-url", `${sink.url}/hook/bare/kept`];
    sink.setSecret("bare", await this.#changeRoute("bare", ...scoped), "first");
    const isDelivered = await waitFor(async () => (await countWaiting()) === 0, {
      deadlineMs: stepTimeoutMs,
      everyMs: 100,
    });
    if (isDelivered === null) this.differences.push("events still wait after their source got a route");
    await sql`
      insert into actions.route (tenant_id, kind, address, secret)
      select tenant_id, kind, ${`${sink.url}/hook/bare`}, secret from actions.route
      where tenant_id = (select id from tenant where slug = 'bare')`;
  }

  /**
   * Keeps the actions process from its database while CRMs respond, so that it can record effects only afterwards. Meanwhile, the
   * mail server defers the same events' mails, which must be sent later.
   */
  async #loseRecords(): Promise<void> {
    const { sink, sql } = this.#testEnv;
    const from = sink.deliveries.length;
    const isEach = (count: number, isSuitable: (one: Delivery) => boolean) => () => {
      const all = sink.deliveries.slice(from);
      return Promise.resolve(all.length >= count && all.every(isSuitable));
    };
    sink.isConsistent = true;
    sink.isMailDeferred = true;
    await sink.setBehavior("slow");
    for (const tenant of ["south", "north"]) await this.#callers.postConcurrently("lead", runsMin, tenant);
    await waitFor(isEach(runsMin / 2, () => true), { deadlineMs: stepTimeoutMs, everyMs: 20 });
    await sql`alter role proof_actions nologin`;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'proof_actions'`;
    await waitFor(isEach(0, ({ respondedAtMs }) => respondedAtMs !== null), { deadlineMs: 10_000 });
    await sql`alter role proof_actions login`;
    sink.isConsistent = false;
    sink.isMailDeferred = false;
    await sink.setBehavior("normal");
    // The next clock step would end the claims, which excuses a repeat.
    const isDelivered = await waitFor(
      async () =>
        (await sql`
          select from outbox as o join tenant as t on t.id = o.tenant_id where t.slug in ('south', 'north') limit 1`)
          .length === 0,
      { deadlineMs: stepTimeoutMs, everyMs: 100 },
    );
    if (isDelivered === null) this.differences.push("events whose effects could not be recorded still wait");
    this.#count("lead delivered while effects cannot be recorded", runsMin);
  }

  /** Changes a tenant's routes and returns the new webhook secret, or `""` if ctl prints none. */
  async #changeRoute(slug: string, ...change: string[]): Promise<string> {
    return /"whsec_([^"]+)"/.exec(await this.#ctl.run("tenant", "route", slug, ...change))?.[1] ?? "";
  }

  /** Makes all receivers fail while `act` runs and until the condition that it returns is met. */
  async #whileFailing(act: () => Promise<() => Promise<boolean>>): Promise<void> {
    const { sink } = this.#testEnv;
    sink.isConsistent = true;
    await sink.setBehavior("failing");
    const isMet = await waitFor(await act(), { deadlineMs: stepTimeoutMs, everyMs: 100 });
    if (isMet === null) this.differences.push("too few events died while all receivers failed");
    sink.isConsistent = false;
    await sink.setBehavior("normal");
  }

  /** Claims events for their last attempts, like a process that is then killed. Returns a condition: enough of them are dead. */
  async #loseLastAttempts(): Promise<() => Promise<boolean>> {
    const { sql } = this.#testEnv;
    await this.#callers.postConcurrently("lead", 2 * runsMin, "south");
    const claimed: string[] = [];
    return async () => {
      const rows = await sql<{ id: string }[]>`
        update outbox
        set lease = gen_random_uuid(), lease_until = service_clock(), made = made + 1, spent = spent + 1
        where spent = ${attemptsMax - 1} and lease is null
        returning event_id as id`;
      claimed.push(...rows.map(({ id }) => id));
      const [dead] = await sql<{ count: number }[]>`
        select count(*)::int as count from dead_letter where reason = 'lost' and event_id = any(${claimed})`;
      return dead?.count === claimed.length && claimed.length >= runsMin;
    };
  }

  /** Runs the operations that are compared with the model. */
  async work(): Promise<void> {
    await this.#postAfterErasure();
    await this.#openHeldLinks();
    await this.#refuseSentAgain();
    await this.#resetSentAgain();
    await this.#whilePaused(() => this.#changeQueue());
    await this.#whilePaused(() => this.#removeContent());
    await this.#whilePaused(() => this.#raiseRetention());
    await this.#changeForms();
    await this.#repeatRemoved();
    await this.#changePlans();
    await this.#compareReport();
    await this.#ctl.run("audit", "verify");
  }

  /** Waits until the report, with all hours rolled up again, matches the events and attempts. */
  async #compareReport(): Promise<void> {
    const { sql, nodes } = this.#testEnv;
    // The older an hour, the longer until it is rolled up again: an eighth of its age.
    await moveClock(this.#testEnv, 5 * dayMs);
    const [stored] = await sql<{ accepted: number; delivered: number }[]>`
      select count(*)::int as accepted, count(*) filter (
        where exists (select from attempt as a where a.event_id = e.event_id and a.outcome = 'delivered'))::int as delivered
      from event as e`;
    let report: Awaited<ReturnType<typeof fetchReport>> = null;
    const isEqual = await waitFor(async () => {
      await sql`select roll_up_hours(1000)`;
      report = await fetchReport(nodes[0]?.opsPort ?? 0, daysOf(this.#testEnv));
      return report?.accepted === stored?.accepted && report?.delivered === stored?.delivered;
    }, { deadlineMs: 30_000, everyMs: 200 });
    if (isEqual === null) {
      this.differences.push(`the report has ${JSON.stringify(report)}, expected ${JSON.stringify(stored)}`);
    }
  }

  /** Erases people who then post again, under no Idempotency-Key and under two that differ only in their encoding. */
  async #postAfterErasure(): Promise<void> {
    const erased: string[] = [];
    const kept: { readonly what: string; readonly id: string }[] = [];
    for (let index = 0; index < runsMin; index += 1) {
      const phone = `646555${1_000 + index}`;
      const lead = { first_name: "Eve", last_name: `${marker}again`, phone };
      erased.push(await this.#callers.postUnrecorded(lead));
      await this.#ctl.run("erase", "--phone", phone).catch((error) => this.differences.push(String(error)));
      const keys = {
        "post after an erasure": "",
        "Idempotency-Key in Latin-1": `clé ${index}`,
        "Idempotency-Key in UTF-8": Buffer.from(`clé ${index}`).toString("latin1"),
      };
      for (const [what, key] of Object.entries(keys)) {
        kept.push({ what, id: await this.#callers.postUnrecorded({ ...lead, project_details: what }, key) });
      }
    }
    await this.#waitUntilDelivered();
    const rows = await this.#read();
    const hasLead = (id: string) => (rowAt(rows, `event ${id}`).lead ?? null) !== null;
    this.differences.push(...erased.filter(hasLead).map((id) => `${id} is not erased`));
    for (const { what, id } of kept) {
      if (hasLead(id)) this.#count(what, 1);
      else this.differences.push(`${what}: the lead is ${id === "" ? "not accepted" : "erased"}`);
    }
  }

  /** Opens links of digests: only a POST to a valid link releases its submission, and only the first. */
  async #openHeldLinks(): Promise<void> {
    await this.#ctl.run("tenant", "set", "north", "--digest-actions", "on");
    const before = await this.#read();
    const { id: tenant } = rowAt(before, "tenant north");
    const routes = rowsOf(before, "actions.route").filter(({ kind }) => kind === "email");
    const own = routes.find(({ tenant_id: of }) => of === tenant)?.id;
    const ids = idsOf(before, "submission", (row) => isHeld(row) && row.tenant_id === tenant)
      .filter((id) => !this.#isRelated(before, id)).slice(0, runsMin);
    const [clock] = await this.#testEnv.sql`select extract(epoch from service_clock())::int as seconds`;
    const open = async (method: string, { expiresS = 600, route = own, secret = linkSecret } = {}) => {
      for (const id of ids) {
        const text = `${id}.${route}.${Number(clock?.seconds) + expiresS}`;
        const signature = createHmac("sha256", secret).update(`/held/${text}`).digest("base64url");
        await this.#callers.openHeldLink(method, `${text}.${signature}`);
      }
    };
    for (const method of ["HEAD", "GET", "PUT"]) await open(method);
    for (const wrong of [{ expiresS: -60 }, { route: -1 }, { secret: "x" }]) await open("POST", wrong);
    this.#compare("opening links", before, await this.#read(), new Map());
    for (let time = 0; time < 2; time += 1) await open("POST");
    await this.#waitUntilDelivered();
    const after = await this.#read();
    const queued = ids.map((id) => [`outbox ${id}`, { event_id: id, made: 0 }] as const);
    const { changes } = expectedDelivery(
      new Map([...before, ...queued]),
      after,
      this.#testEnv.plan.hasActions,
    );
    for (const id of ids) {
      changes.set(`submission ${id}`, { released_at: nonNull, label: "ham", labelled_at: nonNull });
    }
    this.#compare("pressing the button of links", before, after, changes);
    this.#count("submission released by a link", ids.length);
  }

  /** Waits until no event is pending and the contacts of all leads are indexed. */
  async #waitUntilDelivered(): Promise<void> {
    const isDone = await waitFor(async () => {
      const [row] = await this.#testEnv.sql`
        select (select count(*) from outbox) + (select count(*) from lead_contact_todo) as left`;
      return Number(row?.left) === 0;
    }, { deadlineMs: stepTimeoutMs, everyMs: 100 });
    if (isDone === null) this.differences.push("events that operators queued were not delivered");
  }

  /** Sends events again while all receivers fail: each must be dead after one attempt. */
  async #refuseSentAgain(): Promise<void> {
    const { sql } = this.#testEnv;
    const rows = await this.#read();
    this.#deadIds = this.#resendable(rows).slice(0, runsMin);
    await this.#whileFailing(async () => {
      for (const id of this.#deadIds) await this.#ctl.run("lead", "send-again", id);
      return async () => (await sql`select count(*)::int as left from outbox`)[0]?.left === 0;
    });
    const after = await this.#read();
    for (const id of this.#deadIds) {
      const more = lastAttempt(after, id) - lastAttempt(rows, id);
      if (!after.has(`dead_letter ${id}`) || more !== 1) {
        this.differences.push(`${id} was sent again: ${more} attempts, expected 1 and a dead letter`);
      }
    }
    this.#count("event refused when sent again", runsMin);
  }

  /**
   * Sends events again while the actions tier resets connections: none may be dead, because no response refused them. The actions
   * process would report a reset by a CRM as a refusal.
   */
  async #resetSentAgain(): Promise<void> {
    const { plan, sink, sql } = this.#testEnv;
    if (plan.hasActions) return;
    const before = await this.#read();
    sink.isConsistent = true;
    // One at a time, because three failures in a row open the circuit breaker.
    for (const id of this.#resendable(before).slice(-runsMin)) {
      await sink.setBehavior("reset");
      await this.#ctl.run("lead", "send-again", id);
      const isReset = await waitFor(async () => {
        const rows = await sql`
          select from attempt
          where event_id = ${id} and number > ${lastAttempt(before, id)} and outcome = 'unreachable'`;
        return rows.length > 0;
      }, { deadlineMs: stepTimeoutMs });
      await sink.setBehavior("normal");
      await waitFor(async () => (await sql`select from outbox where event_id = ${id}`).length === 0, {
        deadlineMs: stepTimeoutMs,
      });
      if (isReset !== null) this.#count("event without a response when sent again", 1);
      const dead = await sql`select from dead_letter where event_id = ${id}`;
      if (dead.length > 0) this.differences.push(`${id} was sent again and is dead, but was not refused`);
    }
    sink.isConsistent = false;
  }

  /** Returns the ids of events that can be sent again, starting with those of related people. */
  #resendable(rows: Rows): string[] {
    const liveIds = new Set(rowsOf(rows, "tenant").filter(({ sandbox }) => !sandbox).map(({ id }) => id));
    const ids = idsOf(
      rows,
      "event",
      ({ event_id: id, tenant_id: tenant, removed_at: gone }) =>
        liveIds.has(tenant) && gone === null && !rows.has(`outbox ${id}`) &&
        !rows.has(`dead_letter ${id}`) &&
        !isHeld(rowAt(rows, `submission ${id}`)),
    );
    const isRelated = (id: string) => this.#isRelated(rows, id);
    return [...ids.filter(isRelated), ...ids.filter((id) => !isRelated(id))];
  }

  #isRelated(rows: Rows, id: string): boolean {
    return this.#callers.related.some((email) => containsEmail(rowAt(rows, `event ${id}`), email));
  }

  /** Runs `act` while all processes are paused, resumes them, and compares the deliveries with the model. */
  async #whilePaused(act: () => Promise<void>): Promise<void> {
    const { nodes, actions, sink, plan } = this.#testEnv;
    const processes = [...nodes.map(({ process }) => process), ...(actions === null ? [] : [actions])];
    for (const process of processes) process.signal("SIGSTOP");
    await this.#waitUntilIdle();
    const from = sink.deliveries.length;
    await act();
    const before = await this.#read();
    for (const process of processes) process.signal("SIGCONT");
    await this.#waitUntilDelivered();
    const after = await this.#read();
    const { changes, deliveries: expected } = expectedDelivery(before, after, plan.hasActions);
    this.#compare("delivery", before, after, changes);
    const deliveries = sink.deliveries.slice(from);
    const received = deliveries.map(({ eventId, tenant, route }) => `${eventId} ${route ?? tenant}`);
    const count = (all: readonly string[], one: string) => all.filter((other) => other === one).length;
    for (const one of new Set([...received, ...expected])) {
      if (count(received, one) !== count(expected, one)) {
        this.differences.push(`${one}: ${count(received, one)} deliveries, expected ${count(expected, one)}`);
      }
    }
    const unsigned = deliveries.filter(({ isSigned }) => !isSigned);
    this.differences.push(
      ...unsigned.map(({ eventId, route }) => `${eventId} was delivered to ${route} with a wrong signature`),
    );
  }

  async #waitUntilIdle(): Promise<void> {
    await waitFor(async () => {
      const busy = await this.#testEnv.sql`
        select from pg_stat_activity where state = 'active' and usename in ('proof_service', 'proof_actions')`;
      return busy.length === 0;
    }, { deadlineMs: 10_000 });
  }

  /** Runs the operations that queue events, and settles claims late. */
  async #changeQueue(): Promise<void> {
    const queued = (before: Rows, id: string, more: Row): Change => [`outbox ${id}`, {
      ...{ event_id: id, tenant_id: rowAt(before, `event ${id}`).tenant_id, due_at: nonNull, ...more },
    }];
    const start = await this.#read();
    const held = idsOf(start, "submission", (row) => isHeld(row) && row.dismissed_at === null);
    const clean = idsOf(start, "submission", ({ verdict }) => verdict === "clean");
    // Some submissions of related people are released; the others are still held when these people are erased.
    const ofRelated = held.filter((id) => this.#isRelated(start, id));
    const ofOthers = held.filter((id) => !this.#isRelated(start, id));
    const released = [...ofRelated.slice(0, runsMin / 2), ...ofOthers.slice(0, runsMin)];
    const release = (ids: readonly string[]) =>
      this.#apply("submission.release", ids, ["form", "release"], (before, id) => [
        [`submission ${id}`, { released_at: nonNull, label: "ham", labelled_at: nonNull }],
        queued(before, id, { reason: "released" }),
      ]);
    await release(released);
    await this.#apply("submission.dismiss", ofOthers.slice(-runsMin), ["form", "dismiss"], (_, id) => [
      [`submission ${id}`, { dismissed_at: nonNull, label: "spam", labelled_at: nonNull }],
    ]);
    // A dismissed submission can still be released.
    await release(ofOthers.slice(-runsMin / 2));
    await this.#apply("submission.spam", clean.slice(0, runsMin), ["form", "spam"], (_, id) => [
      [`submission ${id}`, { label: "spam", labelled_at: nonNull }],
    ]);

    const open = rowsOf(start, "collision").filter(({ settled_at: since }) => since === null);
    const byKind = Map.groupBy(open, ({ form_id: form }) => form === null);
    const [ofLeads, ofForms] = [true, false].map((isLead) =>
      byKind.get(isLead)?.map(({ id }) => `${id}`) ?? []
    );
    const collisions = (from: number) =>
      [ofLeads, ofForms].flatMap((all = []) => all.slice(from, from + runsMin / 2));
    await this.#apply(
      "collision.accept",
      collisions(0),
      ["collision", "accept"],
      (before, key, after) => {
        const one = rowAt(before, `collision ${key}`);
        const id = String(rowAt(after, `collision ${key}`).accepted_event_id);
        const { kind, tenant_id } = rowAt(before, `event ${one.event_id}`);
        const { phone, email, last_name, form_id, score, reasons, content_digest } = one;
        const { key_id, flags, lead, extra, raw } = one;
        const none = { lead: null, extra: null, raw: null, phone: null, email: null, last_name: null };
        return [
          [`collision ${key}`, { settled_at: nonNull, accepted_event_id: nonNull, ...none }],
          [`event ${id}`, {
            ...{ event_id: id, kind, tenant_id, key_id, received_at: nonNull, flags, lead, extra, raw },
            ...{ content_digest, dedupe_space: kind === "lead" ? "c" : "C" },
          }],
          [`outbox ${id}`, { event_id: id, tenant_id, due_at: nonNull }],
          ...(kind === "lead" ? [] : [
            [`submission ${id}`, {
              ...{ event_id: id, tenant_id, form_id, verdict: "clean" },
              ...{ score, reasons, phone, email, last_name },
            }] as const,
          ]),
        ];
      },
    );
    await this.#apply("collision.dismiss", collisions(runsMin), ["collision", "dismiss"], (_, id) => [
      [`collision ${id}`, { settled_at: nonNull }],
    ]);

    const rows = await this.#read();
    const sent = this.#resendable(rows);
    const [again, done] = [sent.slice(runsMin, 2 * runsMin), sent.slice(2 * runsMin, 3 * runsMin)];
    const dead = this.#deadIds;
    // Marks refused effects as done, as `ctl restored` does, so that the replay must not repeat them.
    const { sql } = this.#testEnv;
    await sql`select mark_effects_done(${dead}, ${dead.map(() => null)}::text[])`;
    await this.#makeDead(done);
    const requeued = (before: Rows, id: string, reason: string, sentBefore: unknown) =>
      queued(before, id, {
        ...{ made: lastAttempt(before, id), sent_before: sentBefore, is_replay: true, reason },
      });
    const effects = (before: Rows, id: string) =>
      effectsOf(before, id).map((one) => ({ ...one, known: before.get(one.key) }));
    const replayed = (before: Rows, id: string): Change[] => [
      [`dead_letter ${id}`, null],
      requeued(before, id, "replayed", rowAt(before, `dead_letter ${id}`).sent_before),
    ];
    await this.#apply("dead.replay", dead, ["dead", "replay"], replayed);
    await this.#apply("dead.done", done, ["dead", "done"], (before, id) => [
      ...replayed(before, id),
      ...effects(before, id).flatMap(({ key, route, known }): Change[] =>
        known?.is_done ? [] : [[key, {
          ...{ event_id: id, route_id: route.id, effect: route.kind, is_done: true, settled_at: nonNull },
          ...{ ...unclaimed, reason: null },
        }]]
      ),
    ]);
    await this.#apply("event.send_again", again, ["lead", "send-again"], (before, id) => [
      requeued(before, id, "sent_again", lastAttempt(before, id)),
      ...effects(before, id).flatMap(({ key, known }): Change[] =>
        known === undefined ? [] : [[key, {
          ...{ round: Number(known.round) + 1, is_done: false, ...unclaimed },
          ...{ settled_at: null, reason: null, status: null, answer: null },
        }]]
      ),
    ]);
    // The new route has the same address, so the CRM must not receive its events again.
    const sameCrm = ["--crm-url", `${this.#testEnv.sink.url}/hook/north`];
    const north = sent.filter((id) => scopeOf(rows, id).tenant === "north").slice(-runsMin);
    await this.#makeDead(north);
    await this.#ctl.run("tenant", "route", "north", "--clear", "crm");
    this.#testEnv.sink.setSecret("north", await this.#changeRoute("north", ...sameCrm), "replaced");
    const before = await this.#read();
    // The pending ones among them must not change.
    await sql`select replay_dead(${[...dead, ...north]})`;
    const changes = new Map(north.flatMap((id) => replayed(before, id)));
    this.#compare("replaying dead and pending events", before, await this.#read(), changes);
    this.#count("route replaced before a replay", north.length);
    const isSandboxed = ({ event_id: id }: Row) => scopeOf(rows, String(id)).tenant === "sandbox";
    const sandboxed = idsOf(rows, "event", isSandboxed);
    await this.#expectRefusal(["form", "release"], clean);
    await this.#expectRefusal(["form", "dismiss"], clean);
    await this.#expectRefusal(["form", "spam"], ofRelated.slice(runsMin / 2));
    await this.#expectRefusal(["lead", "send-again"], [
      ...ofRelated.slice(runsMin / 2, runsMin),
      ...sandboxed.slice(0, runsMin / 2),
    ]);
    await this.#expectRefusal(["tenant", "route", "--email", "a@sandbox.example"], ["sandbox"]);
    await this.#expectRefusal(["dead", "replay"], again);
    await this.#expectRefusal(["dead", "done"], again);
    await this.#settleLate();
    await this.#settleEffects();
    const routes = rowsOf(await this.#read(), "actions.route").filter(({ address }) =>
      String(address).endsWith("/hook/north")
    );
    this.#rotatedSecret = await this.#changeRoute("north", "--rotate-secret");
    this.#testEnv.sink.setSecret("north", this.#rotatedSecret, "rotated");
    const rotatedRoute = rowsOf(await this.#read(), "actions.route").find(({ id }) => id === routes[0]?.id);
    if (rotatedRoute?.secret_before !== routes[0]?.secret) {
      this.differences.push("a rotation did not keep the previous secret");
    }
    // A disabled tenant's pending events are still delivered.
    await this.#setDisabled(true);
  }

  /** Inserts dead letters for delivered events. */
  async #makeDead(ids: readonly string[]): Promise<void> {
    const { sql } = this.#testEnv;
    await sql`insert into dead_letter (event_id, tenant_id, died_at, reason)
      select event_id, tenant_id, service_clock(), 'may_repeat' from event where event_id = any (${ids})`;
    await sql`insert into outbox_tally (state, delta) values ('dead', ${ids.length})`;
  }

  /** Claims effects twice, and settles them with each result, under either claim and for another round. */
  async #settleEffects(): Promise<void> {
    const { sql } = this.#testEnv;
    const rows = await this.#read();
    // An accepted collision may be a sandbox's, which has no effects.
    const ids = idsOf(rows, "outbox", ({ is_replay: isReplay }) => !isReplay)
      .filter((id) => effectsOf(rows, id).length > 0);
    const effects = ids.flatMap((id) => effectsOf(rows, id).map((one) => ({ ...one, id })));
    const claimAll = async (lease: string, leaseMs: number, wanted: string) => {
      for (const id of ids) {
        const other = (await this.#claimEffects(rows, id, lease, leaseMs)).find((state) => state !== wanted);
        if (other !== undefined) {
          this.differences.push(`the effects of ${id} are ${other}, expected ${wanted}`);
        }
      }
    };
    const check = async (operation: string, act: () => Promise<void>, model: Change[]) => {
      const before = await this.#read();
      await act();
      this.#compare(operation, before, await this.#read(), new Map(model));
      this.#count(operation, effects.length);
    };
    await check(
      "effect.begin",
      async () => {
        await claimAll(firstLease, 1_000, "due");
        await moveClock(this.#testEnv, 2_000);
        await claimAll(secondLease, effectLeaseMs, "due");
        await claimAll(firstLease, effectLeaseMs, "busy");
      },
      effects.map(({ id, key, route }) => [key, {
        ...{ event_id: id, route_id: route.id, effect: route.kind, attempts: 2 },
        ...{ lease: secondLease, lease_until: nonNull },
      }]),
    );
    const cases = [
      { lease: firstLease, round: 0, reason: "http_500", status: 500, counts: false },
      { lease: firstLease, round: 0, reason: null, status: 200, counts: true },
      { lease: secondLease, round: 0, reason: null, status: 299, counts: true },
      { lease: secondLease, round: 0, reason: "bad_response", status: 200, counts: true },
      { lease: secondLease, round: 0, reason: "timeout_answer", status: null, counts: true },
      { lease: secondLease, round: 1, reason: null, status: 200, counts: false },
    ] as const;
    const settled = effects.map((one, index) => ({
      ...one,
      ...cases[index % cases.length] as typeof cases[number],
    }));
    await check(
      "effect.settle",
      async () => {
        for (const { id, route, round, lease, reason, status } of settled) {
          await sql`select actions.settle_effect(${id}, ${Number(route.id)}, ${round}, ${lease}, ${reason},
            ${status}, ${status === null ? null : "said"})`;
        }
      },
      settled.flatMap(({ key, reason, status, counts }): Change[] =>
        counts
          ? [[key, {
            ...{ is_done: reason === null, ...unclaimed, settled_at: nonNull, reason, status },
            answer: status === null ? null : "said",
          }]]
          : []
      ),
    );
  }

  /** Claims an event's effects, and returns their states. */
  async #claimEffects(rows: Rows, id: string, lease: string, leaseMs: number): Promise<string[]> {
    const { tenant, source, form } = scopeOf(rows, id);
    const effects = await this.#testEnv.sql<{ state: string }[]>`
      select state from actions.begin_effects(${id}, ${tenant}, ${source}, ${form}, ${lease}, ${leaseMs})`;
    return effects.map(({ state }) => state);
  }

  /** Settles an event's effects as refused, with a response that may quote the lead. */
  async #failEffects(id: string): Promise<void> {
    const { sql } = this.#testEnv;
    await this.#claimEffects(await this.#read(), id, firstLease, effectLeaseMs);
    await sql`select actions.settle_effect(event_id, route_id, round, lease, 'http_422', 422, 'said')
      from actions.effect where event_id = ${id} and lease = ${firstLease}`;
  }

  /** Lets a claim expire, claims its rows again, and then settles them under the first claim. */
  async #settleLate(): Promise<void> {
    const testEnv = this.#testEnv;
    const { sql } = testEnv;
    const claim = async (lease: string): Promise<Claimed[]> => {
      const rows = await sql<Claimed[]>`
        select event_id, number, is_replay from claim_outbox(${lease}, 1000, 100, (select array_agg(id) from tenant),
          (select array_agg('-infinity'::text) from tenant), (select array_agg(${runsMin}::int) from tenant))`;
      // Replayed rows come first: the first ones are removed below, and the effects of the others are claimed later.
      return rows.toSorted((a, b) => Number(b.is_replay) - Number(a.is_replay));
    };
    const settle = async (kind: string, lease: string, rows: readonly Claimed[], spent = "t") => {
      const all = <T>(value: T) => rows.map(() => value);
      const [outcome, status] = kind === "delivered" ? ["delivered", 200] : ["refused", 500];
      await sql`select settle_outbox(${all(lease)}, ${rows.map((row) => row.event_id)},
        ${rows.map((row) => row.number)}, ${all(kind)}, ${all(outcome)}, ${all(status)}, ${all("late")},
        ${all(5)}, ${all(spent)}, ${all(0)})`;
    };
    const firstClaim = await claim(firstLease);
    await moveClock(testEnv, minuteMs);
    let secondClaim = await claim(secondLease);
    const check = async (kind: string, rows: readonly Claimed[], model: (row: Claimed) => Change[]) => {
      const before = await this.#read();
      await settle(kind, firstLease, rows);
      this.#compare(`a late ${kind}`, before, await this.#read(), new Map(rows.flatMap(model)));
      this.#count(`late ${kind}`, rows.length);
    };
    const attempt = ({ event_id: id, number }: Claimed, outcome: string, status: number): Change => [
      `attempt ${id}/${number}`,
      { outcome, status, reason: "late", duration_ms: 5, at: nonNull },
    ];
    await check("retry", firstClaim, (row) => [attempt(row, "refused", 500)]);
    for (const kind of ["dead", "released"]) await check(kind, firstClaim, () => []);
    // A delivery counts even if another claim holds the row.
    const [dead, held] = [firstClaim.slice(0, runsMin / 2), firstClaim.slice(runsMin / 2, runsMin)];
    const isAmong = (some: readonly Claimed[]) => ({ event_id: id }: Claimed) =>
      some.some((row) => row.event_id === id);
    await settle("dead", secondLease, secondClaim.filter(isAmong(dead)));
    await check("delivered", dead, (row) => [
      attempt(row, "delivered", 200),
      [`dead_letter ${row.event_id}`, null],
    ]);
    await check("delivered", held, (row) => [
      attempt(row, "delivered", 200),
      [`outbox ${row.event_id}`, null],
      [`attempt ${row.event_id}/${row.number + 1}`, {
        ...{ event_id: row.event_id, number: row.number + 1, at: nonNull, outcome: "lost", spent: true },
      }],
    ]);
    secondClaim = secondClaim.filter((row) => !isAmong([...dead, ...held])(row));
    const before = await this.#read();
    await settle("retry", secondLease, secondClaim, "f");
    const changes = new Map(secondClaim.flatMap((row): Change[] => {
      const { event_id, number } = row;
      const [key, columns] = attempt(row, "refused", 500);
      const spent = Number(rowAt(before, `outbox ${event_id}`).spent) - 1;
      return [
        [key, { ...columns, event_id, number }],
        [`outbox ${event_id}`, { ...unclaimed, due_at: nonNull, reason: "late", spent }],
      ];
    }));
    this.#compare("a retry that spends no attempt", before, await this.#read(), changes);
    this.#count("retry that spends no attempt", secondClaim.length);
  }

  /** Revokes keys, and disables and enables a tenant, while clients post. */
  async #revoke(): Promise<void> {
    const { notes } = this.#testEnv;
    const isActive = ({ id }: { readonly id: number }) =>
      !notes.revocations.some(({ keyId, reactivated }) => keyId === id && reactivated === undefined);
    const spare = notes.keys.filter((key) => key.label.startsWith("spare-") && isActive(key));
    for (const key of spare.slice(-runsMin)) {
      const act = () => this.#ctl.run("key", "revoke", String(key.id));
      await this.#callers.postMeanwhile([key], () => recordRevocation(this.#testEnv, [key.id], act));
      this.#count("key.revoke", 1);
    }
    const keys = notes.keys.filter((key) => key.tenant === "south" && isActive(key));
    const set = (change: string) => this.#ctl.run("tenant", change, "south");
    const until = { meanwhile: () => this.#callers.postWith(keys), undo: () => set("enable") };
    const disable = () =>
      recordRevocation(this.#testEnv, keys.map(({ id }) => id), () => set("disable"), until);
    for (let time = 0; time < runsMin; time += 1) await this.#callers.postMeanwhile(keys, disable);
    for (const operation of ["tenant.disable", "tenant.enable"]) this.#count(operation, runsMin);
  }

  /** Disables or enables `south`. */
  async #setDisabled(isDisabled: boolean): Promise<void> {
    const change = isDisabled ? "disable" : "enable";
    const since = isDisabled ? nonNull : null;
    await this.#apply(`tenant.${change}`, ["south"], ["tenant", change], (before, slug) => [
      [`tenant ${slug}`, { disabled_at: since }],
      ...rowsOf(before, "api_key").filter((key) =>
        key.tenant_id === rowAt(before, `tenant ${slug}`).id && key.revoked_at === null
      ).map((key): Change => [`api_key ${key.id}`, { suspended_at: since }]),
    ]);
  }

  /** Erases people, including their pending and dead events, and removes expired content. */
  async #removeContent(): Promise<void> {
    await this.#setDisabled(false);
    const { related } = this.#callers;
    const start = await this.#read();
    const isNorth = (id: string) => scopeOf(start, id).tenant === "north";
    // Events from related people, and more events of the tenant with a retention period.
    const sent = this.#resendable(start);
    const chosen = [
      ...sent.slice(0, 2 * runsMin),
      ...sent.slice(2 * runsMin).filter(isNorth).slice(0, 2 * runsMin),
    ];
    await this.#makeDead(chosen.filter((_, index) => index % 2 === 0));
    for (const id of chosen.filter((_, index) => index % 2 === 1)) {
      await this.#ctl.run("lead", "send-again", id);
      await this.#failEffects(id);
    }
    for (const email of related) {
      const before = await this.#read();
      await this.#ctl.run("erase", "--email", email);
      const matches = (row: Row) => containsEmail(row, email);
      // An event is erased with the collisions under its key, except those with another last name.
      const matchesCollision = (one: Row) => {
        const event = rowAt(before, `event ${one.event_id}`);
        const names = [one, event].map(({ lead }) => (lead as Row | null)?.last_name);
        return matches(one) || matches(event) && (names.includes(undefined) || names[0] === names[1]);
      };
      this.#compare(
        "person.erase",
        before,
        await this.#read(),
        expectedRemoval(before, "erasure", { matches, matchesCollision }),
      );
      this.#count("person.erase", 1);
    }
    await this.#eraseOthers();
    const removed = idsOf(await this.#read(), "event", ({ removed_by: by }) => by === "erasure");
    const erased = removed.slice(0, runsMin);
    for (const words of [["form", "release"], ["form", "spam"], ["lead", "send-again"], ["dead", "replay"]]) {
      await this.#expectRefusal(words, erased);
    }
    const days = Array.from({ length: runsMin }, (_, index) => String(retentionDays + runsMin - 1 - index));
    await this.#apply("tenant.retention", days, ["tenant", "retention", "north", "--days"], () => [
      ["tenant north", { retention_days: retentionDays }],
    ]);
    // The clock steps below exceed the day for which the previous secret still signs.
    this.#testEnv.sink.setSecret("north", this.#rotatedSecret, "replaced");
    // Checks one hour before the newest events expire, and again after that.
    this.#hasRemovedExpired = true;
    await this.#expire(retentionDays * dayMs - hourMs);
    await this.#expire(hourMs + minuteMs);
  }

  /** Raises a retention period, which keeps the events that were pending when they expired, and restores it. */
  async #raiseRetention(): Promise<void> {
    const { sql } = this.#testEnv;
    this.#count("event kept by a raised retention", (await sql`select from retention_deferred`).length);
    for (const days of [10 * retentionDays, retentionDays]) {
      await this.#ctl.run("tenant", "retention", "north", "--days", String(days));
      await this.#expire(2 * hourMs, days);
    }
  }

  /** Adds, changes, removes and restores forms. */
  async #changeForms(): Promise<void> {
    const keys = Array.from({ length: runsMin }, (_, index) => `form-${index}`);
    const steps: readonly [command: string, options: readonly string[], columns: Row][] = [
      ["add", ["--required", "name,email", "--threshold", "70", "--blocked", "a,b"], {
        ...{ required: ["name", "email"], threshold: 70, blocked: ["a", "b"] },
      }],
      ["change", ["--blocked", "c"], { blocked: ["c"] }],
      ["remove", [], { removed_at: nonNull }],
      ["add", ["--required", "phone"], {
        required: ["phone"],
        threshold: null,
        blocked: [],
        removed_at: null,
      }],
    ];
    for (const [command, options, columns] of steps) {
      await this.#apply(
        `form.${command}`,
        keys,
        (key) => ["form", command, "bare", key, ...options],
        (before, key, after) => {
          const hasKey = (row: Row) => row.form_key === key;
          const { id, tenant_id } = rowsOf(after, "form").find(hasKey) ?? {};
          const added = { id, tenant_id, form_key: key, created_at: nonNull };
          return [[`form ${id}`, { ...(rowsOf(before, "form").some(hasKey) ? {} : added), ...columns }]];
        },
      );
    }
  }

  /** Erases leads of people without a collision by their phone number, and others by their event id. */
  async #eraseOthers(): Promise<void> {
    const start = await this.#read();
    const keys = ["lead_contact", "submission", "collision"].flatMap((table) => rowsOf(start, table));
    const isAlone = (id: string) => {
      const { phone } = rowAt(start, `lead_contact ${id}`);
      return /^\+1\d{10}$/.test(String(phone)) && rowAt(start, `event ${id}`).removed_at === null &&
        keys.filter((row) => row.phone === phone).length === 1 &&
        !rowsOf(start, "collision").some(({ event_id: of, accepted_event_id: own }) =>
          of === id || own === id
        );
    };
    const alone = idsOf(start, "lead_contact", () => true).filter(isAlone).slice(0, 2 * runsMin);
    for (const [index, id] of alone.entries()) {
      const { phone } = rowAt(start, `lead_contact ${id}`);
      const before = await this.#read();
      await this.#ctl.run("erase", ...(index < runsMin ? ["--phone", String(phone)] : ["--event", id]));
      const matches = ({ event_id: of }: Row) => of === id;
      const changes = expectedRemoval(before, "erasure", { matches, matchesCollision: () => false });
      this.#compare("erasing one lead", before, await this.#read(), changes);
    }
    this.#count("lead erased by its phone number or id", alone.length / 2);
  }

  /** Repeats posts whose content was removed, which must change nothing. */
  async #repeatRemoved(): Promise<void> {
    const before = await this.#read();
    const removedPosts = this.#callers.exchanges.filter((one) =>
      one.idempotencyKey !== null && one.response?.status === 202 &&
      typeof rowAt(before, `event ${acknowledgedId(one)}`).removed_by === "string"
    );
    const [leads, submissions] = [true, false].map((isLead) =>
      removedPosts.filter(({ kind }) => (kind === "lead") === isLead).slice(-runsMin)
    );
    const posts = [...leads ?? [], ...submissions ?? []];
    await this.#callers.repeat(posts.map(({ kind, tenant, idempotencyKey, body, content, expected }) => ({
      ...{ kind: kind as PostKind, tenant, idempotencyKey, body },
      content: { name: content, expected, spell: () => body },
    })));
    this.#count("post repeated after its removal", posts.length);
    this.#compare("repeating removed posts", before, await this.#read(), new Map());
  }

  /** Moves the clock, removes the content that has expired, and compares the rows. */
  async #expire(stepMs: number, days = retentionDays): Promise<void> {
    const { sql } = this.#testEnv;
    await moveClock(this.#testEnv, stepMs);
    const before = await this.#read();
    for (let examined = 1; examined > 0;) {
      const [row] = await sql<{ examined: number | null }[]>`select examined from expire_content(500)`;
      examined = row?.examined ?? 1;
      if (row?.examined === null) await pause(100);
    }
    const [clock] = await sql<{ ms: number }[]>`
      select (extract(epoch from service_clock()) * 1000)::float8 as ms`;
    const untilMs = (clock?.ms ?? 0) - days * dayMs;
    const tenant = rowAt(before, "tenant north").id;
    // Pending and dead events keep their content.
    const matches = ({ event_id: id, tenant_id: of, received_at: since }: Row) =>
      of === tenant && Date.parse(String(since)) < untilMs && !before.has(`outbox ${id}`) &&
      !before.has(`dead_letter ${id}`);
    const matchesCollision = ({ event_id: id }: Row) => matches(rowAt(before, `event ${id}`));
    const changes = expectedRemoval(before, "retention", { matches, matchesCollision });
    this.#compare("retention", before, await this.#read(), changes);
    this.#count("event.expire", [...changes.keys()].filter((key) => key.startsWith("event ")).length);
  }

  /** Adds, changes and removes plans, and checks that each process serves them byte for byte. */
  async #changePlans(): Promise<void> {
    const plans = Array.from({ length: runsMin + 1 }, (_, index) => `plan-${index}`).toSorted();
    const text = (slug: string, cents: number) =>
      `{"slug":"${slug}","name":"Roof","customer":"north","amount_cents":${cents},"interval":"month",` +
      `"items":[{"title":"Visit","detail":""}],"trial":1.10}`;
    const file = (slug: string) => join(this.#testEnv.folder, `${slug}.json`);
    for (const cents of [1_000, 2_000]) {
      for (const slug of plans) writeFileSync(file(slug), text(slug, cents));
      await this.#apply(
        "plan.put",
        plans,
        (slug) => ["plan", "put", file(slug)],
        (_, slug) => [[`plan ${slug}`, {
          ...{ slug, name: "Roof", customer: "north", amount_cents: cents, billing_interval: "month" },
          ...{ body: nonNull, updated_at: nonNull },
        }]],
      );
      const wanted = `[${plans.map((slug) => text(slug, cents)).join(",")}]`;
      await this.#waitUntilServed("/api/plans", (served) => served === wanted);
    }
    const [kept = "", ...others] = plans;
    await this.#apply("plan.remove", others, ["plan", "remove"], (_, slug) => [[`plan ${slug}`, null]]);
    await this.#waitUntilServed("/api/plans", (served) => served === `[${text(kept, 2_000)}]`);
  }

  #count(operation: string, count: number): void {
    this.operations[operation] = (this.operations[operation] ?? 0) + count;
  }

  /** Runs an operation for each name, compares rows and audit entries, and runs it again, which must change nothing. */
  async #apply(
    operation: string,
    names: readonly string[],
    words: readonly string[] | ((name: string) => readonly string[]),
    model: (before: Rows, name: string, after: Rows) => readonly Change[],
  ): Promise<void> {
    const run = (name: string) =>
      this.#ctl.run(...(typeof words === "function" ? words(name) : [...words, name]));
    const before = await this.#read();
    for (const name of names) {
      await run(name).catch((error) => this.differences.push(`${operation}: ${(error as Error).message}`));
    }
    const after = await this.#read();
    this.#compare(operation, before, after, new Map(names.flatMap((name) => model(before, name, after))));
    const auditRows = rowsOf(after, "audit").filter(({ id, action }) =>
      !before.has(`audit ${id}`) && action === operation
    );
    // Accepting a collision is audited for both of its events.
    const entries = names.length * (operation === "collision.accept" ? 2 : 1);
    if (auditRows.length !== entries) {
      this.differences.push(`${operation}: ${auditRows.length} audit entries, expected ${entries}`);
    }
    for (const name of names) await run(name).catch(() => {});
    this.#compare(`repeating ${operation}`, after, await this.#read(), new Map());
    this.#count(operation, names.length);
  }

  /** Runs a command on names to which it does not apply: it must fail and change nothing. */
  async #expectRefusal(words: readonly string[], names: readonly string[]): Promise<void> {
    const command = words.join(" ");
    const before = await this.#read();
    for (const name of names.slice(0, runsMin)) {
      await this.#ctl.run(...words, name).then(
        () => this.differences.push(`${command} ${name} did not fail`),
        () => {},
      );
    }
    this.#compare(`a failed ${command}`, before, await this.#read(), new Map());
  }

  async #read(): Promise<Rows> {
    return await readRows(this.#testEnv.sql);
  }

  /** Records every row that differs from the model. */
  #compare(operation: string, before: Rows, after: Rows, expected: Changes): void {
    // Expired leads lose their terms, but are still included in the terms' counts.
    const wrong = findDifferences(before, after, { expected, hasTerms: !this.#hasRemovedExpired });
    this.differences.push(...wrong.map((what) => `after ${operation}: ${what.slice(0, 400)}`));
  }
}

/** Whether the body of an event or collision contains an email address. */
const containsEmail = ({ raw }: Row, email: string): boolean =>
  String(raw).replaceAll("\\u0040", "@").toLowerCase().includes(`"${email}"`);

/** Returns the number of an event's last attempt, or 0. */
const lastAttempt = (rows: Rows, id: string): number =>
  Math.max(
    0,
    ...rowsOf(rows, "attempt").filter((one) => one.event_id === id).map(({ number }) => Number(number)),
  );

/** Returns a message for each operation that ran fewer than {@linkcode runsMin} times. */
export function rareOperations(operations: Readonly<Record<string, number>>): string[] {
  return Object.entries(operations).filter(([, count]) => count < runsMin)
    .map(([operation, count]) => `${operation} ran ${count} times, expected at least ${runsMin}`);
}
