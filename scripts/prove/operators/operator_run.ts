/**
 * What all operations of operators share: commands, waits, and the comparison of all tables with the model before and after.
 *
 * @module
 */

import type { Callers } from "../callers.ts";
import { waitFor } from "../clock.ts";
import { Ctl } from "../ctl.ts";
import {
  type Change,
  type Changes,
  expectedDelivery,
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
} from "../model.ts";
import type { TestEnv } from "../test_env.ts";

/** How often each operation must run. */
export const runsMin = 10;
/** The time limit of a step that ends when the processes have reacted. */
export const stepTimeoutMs = 90_000;
/** The last retention period of `north`, in days. */
export const retentionDays = 2;
export const minuteMs = 60_000;
export const hourMs: number = 60 * minuteMs;
export const dayMs: number = 24 * hourMs;

/** Runs the operators' commands and records every difference from the model. */
export class OperatorRun {
  readonly differences: string[] = [];
  /** How often each operation ran, by name. */
  readonly operations: Record<string, number> = {};
  readonly testEnv: TestEnv;
  readonly callers: Callers;
  readonly ctl: Ctl;
  /** The events that died when they were sent again. */
  deadIds: readonly string[] = [];
  /** The keys of the tenants that ctl added, which callers do not use. */
  customerKeys: readonly string[] = [];
  hasRemovedExpired = false;
  rotatedSecret = "";

  constructor(testEnv: TestEnv, callers: Callers) {
    this.testEnv = testEnv;
    this.callers = callers;
    this.ctl = new Ctl(testEnv.options.tree, testEnv.databaseUrl);
  }

  /** Counts the runs of an operation. */
  count(operation: string, count: number): void {
    this.testEnv.options.report?.(operation);
    this.operations[operation] = (this.operations[operation] ?? 0) + count;
  }

  /** Runs an operation for each name, compares rows and audit entries, and runs it again, which must change nothing. */
  async apply(
    operation: string,
    names: readonly string[],
    words: readonly string[] | ((name: string) => readonly string[]),
    model: (before: Rows, name: string, after: Rows) => readonly Change[],
  ): Promise<void> {
    const run = (name: string) =>
      this.ctl.run(...(typeof words === "function" ? words(name) : [...words, name]));
    const before = await this.read();
    for (const name of names) {
      await run(name).catch((error) => this.differences.push(`${operation}: ${(error as Error).message}`));
    }
    const after = await this.read();
    this.compare(operation, before, after, new Map(names.flatMap((name) => model(before, name, after))));
    const auditRows = rowsOf(after, "audit").filter(({ id, action }) =>
      !before.has(`audit ${id}`) && action === operation
    );
    // Accepting a collision is audited for both of its events.
    const entries = names.length * (operation === "collision.accept" ? 2 : 1);
    if (auditRows.length !== entries) {
      this.differences.push(`${operation}: ${auditRows.length} audit entries, expected ${entries}`);
    }
    for (const name of names) await run(name).catch(() => {});
    this.compare(`repeating ${operation}`, after, await this.read(), new Map());
    this.count(operation, names.length);
  }

  /** Runs a command on names to which it does not apply: it must fail and change nothing. */
  async expectRefusal(words: readonly string[], names: readonly string[]): Promise<void> {
    const command = words.join(" ");
    const before = await this.read();
    for (const name of names.slice(0, runsMin)) {
      await this.ctl.run(...words, name).then(
        () => this.differences.push(`${command} ${name} did not fail`),
        () => {},
      );
    }
    this.compare(`a failed ${command}`, before, await this.read(), new Map());
  }

  /** Reads all compared tables. */
  async read(): Promise<Rows> {
    return await readRows(this.testEnv.sql);
  }

  /** Records every row that differs from the model. */
  compare(operation: string, before: Rows, after: Rows, expected: Changes): void {
    // Expired leads lose their terms, but are still included in the terms' counts.
    const wrong = findDifferences(before, after, { expected, hasTerms: !this.hasRemovedExpired });
    this.differences.push(...wrong.map((what) => `after ${operation}: ${what.slice(0, 400)}`));
  }

  /** Runs `act` while all processes are paused, resumes them, and compares the deliveries with the model. */
  async whilePaused(act: () => Promise<void>): Promise<void> {
    const { nodes, actions, sink, plan } = this.testEnv;
    const processes = [...nodes.map(({ process }) => process), ...(actions === null ? [] : [actions])];
    for (const process of processes) process.signal("SIGSTOP");
    await this.waitUntilIdle();
    const from = sink.deliveries.length;
    await act();
    const before = await this.read();
    for (const process of processes) process.signal("SIGCONT");
    await this.waitUntilDelivered();
    const after = await this.read();
    const { changes, deliveries: expected } = expectedDelivery(before, after, plan.hasActions);
    this.compare("delivery", before, after, changes);
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

  /** Makes all receivers fail while `act` runs and until the condition that it returns is met. */
  async whileFailing(act: () => Promise<() => Promise<boolean>>): Promise<void> {
    const { sink } = this.testEnv;
    sink.isConsistent = true;
    await sink.setBehavior("failing");
    const isMet = await waitFor(await act(), { deadlineMs: stepTimeoutMs, everyMs: 100 });
    if (isMet === null) this.differences.push("too few events died while all receivers failed");
    sink.isConsistent = false;
    await sink.setBehavior("normal");
  }

  /** Waits until no event is pending and all are indexed for the search. */
  async waitUntilDelivered(): Promise<void> {
    const isDone = await waitFor(async () => {
      const [row] = await this.testEnv.sql`
        select (select count(*) from outbox) + (select count(*) from search_todo) as left`;
      return Number(row?.left) === 0;
    }, { deadlineMs: stepTimeoutMs, everyMs: 100 });
    if (isDone === null) this.differences.push("events that operators queued were not delivered");
  }

  /** Waits until the document of each process passes a check. */
  async waitUntilServed(path: Parameters<Callers["get"]>[1], isExpected: (text: string) => boolean) {
    for (const { index } of this.testEnv.nodes) {
      const isServed = await waitFor(async () => isExpected(await this.callers.get(index, path)), {
        deadlineMs: stepTimeoutMs,
      });
      if (isServed === null) this.differences.push(`service ${index} does not serve the stored ${path}`);
    }
  }

  /** Waits until no process runs a statement. */
  async waitUntilIdle(): Promise<void> {
    await waitFor(async () => {
      const busy = await this.testEnv.sql`
        select from pg_stat_activity where state = 'active' and usename in ('proof_service', 'proof_actions')`;
      return busy.length === 0;
    }, { deadlineMs: 10_000 });
  }

  /** Changes a tenant's routes and returns the new webhook secret, or `""` if ctl prints none. */
  async changeRoute(slug: string, ...change: string[]): Promise<string> {
    return /"whsec_([^"]+)"/.exec(await this.ctl.run("tenant", "route", slug, ...change))?.[1] ?? "";
  }

  /** Returns the ids of events that can be sent again, starting with those of related people. */
  resendable(rows: Rows): string[] {
    const liveIds = new Set(rowsOf(rows, "tenant").filter(({ sandbox }) => !sandbox).map(({ id }) => id));
    const ids = idsOf(
      rows,
      "event",
      ({ event_id: id, tenant_id: tenant, removed_at: gone }) =>
        liveIds.has(tenant) && gone === null && !rows.has(`outbox ${id}`) &&
        !rows.has(`dead_letter ${id}`) &&
        !isHeld(rowAt(rows, `submission ${id}`)),
    );
    const isRelated = (id: string) => this.isRelated(rows, id);
    return [...ids.filter(isRelated), ...ids.filter((id) => !isRelated(id))];
  }

  /** Whether an event is from a related person. */
  isRelated(rows: Rows, id: string): boolean {
    return this.callers.related.some((email) => containsEmail(rowAt(rows, `event ${id}`), email));
  }

  /** Inserts dead letters for delivered events. */
  async makeDead(ids: readonly string[]): Promise<void> {
    const { sql } = this.testEnv;
    await sql`insert into dead_letter (event_id, tenant_id, died_at, reason)
      select event_id, tenant_id, service_clock(), 'may_repeat' from event where event_id = any (${ids})`;
    await sql`insert into outbox_tally (state, delta) values ('dead', ${ids.length})`;
  }

  /** Claims an event's effects, and returns their states. */
  async claimEffects(rows: Rows, id: string, lease: string, leaseMs: number): Promise<string[]> {
    const { tenant, source, form } = scopeOf(rows, id);
    const effects = await this.testEnv.sql<{ state: string }[]>`
      select state from actions.begin_effects(${id}, ${tenant}, ${source}, ${form}, ${lease}, ${leaseMs})`;
    return effects.map(({ state }) => state);
  }

  /** Disables or enables `south`. */
  async setDisabled(isDisabled: boolean): Promise<void> {
    const change = isDisabled ? "disable" : "enable";
    const since = isDisabled ? nonNull : null;
    await this.apply(`tenant.${change}`, ["south"], ["tenant", change], (before, slug) => [
      [`tenant ${slug}`, { disabled_at: since }],
      ...rowsOf(before, "api_key").filter((key) =>
        key.tenant_id === rowAt(before, `tenant ${slug}`).id && key.revoked_at === null
      ).map((key): Change => [`api_key ${key.id}`, { suspended_at: since }]),
    ]);
  }
}

/** Whether the body of an event or collision contains an email address. */
export const containsEmail = ({ raw }: Row, email: string): boolean =>
  String(raw).replaceAll("\\u0040", "@").toLowerCase().includes(`"${email}"`);

/** Returns the number of an event's last attempt, or 0. */
export const lastAttempt = (rows: Rows, id: string): number =>
  Math.max(
    0,
    ...rowsOf(rows, "attempt").filter((one) => one.event_id === id).map(({ number }) => Number(number)),
  );

/** Returns a message for each operation that ran fewer than {@linkcode runsMin} times. */
export function rareOperations(operations: Readonly<Record<string, number>>): string[] {
  return Object.entries(operations).filter(([, count]) => count < runsMin)
    .map(([operation, count]) => `${operation} ran ${count} times, expected at least ${runsMin}`);
}
