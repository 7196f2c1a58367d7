/**
 * What operators do at the end of a round, when nothing else goes on. Around each of their verbs all tables are read, and every
 * row must be what the model makes of the rows before: what changed as the model says, and nothing else.
 *
 * @module
 */

import type { Callers } from "./callers.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import { Ctl } from "./ctl.ts";
import { moveClock, revoked } from "./faults.ts";
import type { World } from "./world.ts";

/** How often each verb is done. */
export const times = 10;

type Row = Readonly<Record<string, unknown>>;
/** By table and key. */
type Rows = ReadonlyMap<string, Row>;
/** What the model says of rows: which columns become what, or that the row goes. */
type Changes = Map<string, Row | null>;

/** A row that was claimed. */
interface Claimed {
  readonly event_id: string;
  readonly number: number;
}

/** Something, whatever it is. */
const any = Symbol("any");

/** Tables with the keys of their rows; left out is what only helps the service. */
const tables: Readonly<Record<string, string>> = {
  ...{ tenant: "slug", campaign: "id", api_key: "id", ip_limit: "network", form: "id" },
  ...{ event: "event_id", submission: "event_id", outbox: "event_id", dead_letter: "event_id" },
  ...{ attempt: "event_id || '/' || number", collision: "id", lead_contact: "event_id" },
  ...{ "actions.route": "id", "actions.effect": "event_id || '/' || route_id", audit: "id" },
};

const minuteMs = 60_000;
/** A post this long before the edge of its window is sure to be within it. */
const edgeMs = 20_000;
const patienceMs = 90_000;

/** The operators of a round. */
export class Operators {
  /** What is not as the model says. */
  readonly found: string[] = [];
  /** How often each verb was done. */
  readonly verbs: Record<string, number> = {};
  readonly #world: World;
  readonly #callers: Callers;
  readonly #ctl: Ctl;
  #dead: readonly string[] = [];

  constructor(world: World, callers: Callers) {
    this.#world = world;
    this.#callers = callers;
    this.#ctl = new Ctl(world.options.tree, world.databaseUrl);
  }

  close(): void {
    this.#ctl.close();
  }

  /** Does what callers do seldom, and posts what the operators will need. */
  async post(): Promise<void> {
    await this.#callers.doEach(times);
    await this.#revoke();
    await this.#callers.postRelated(times);
  }

  /** Posts over the edges of content windows and just before PostgreSQL dies. */
  async prepare(): Promise<void> {
    const { found, verbs } = this;
    const callers = this.#callers;
    const world = this.#world;
    // Nothing but what is asked flushes the log then: what was answered and is not on disk is lost.
    world.isQuiet = true;
    for (const kind of ["trapped_form", "lead"] as const) {
      for (let round = 0; round < 3; round += 1) {
        const end = world.note("postgres_kill", null);
        await callers.postAtOnce(kind, times / 2, "bare");
        world.server.kill("SIGKILL");
        verbs[`${kind} answered just before PostgreSQL dies`] =
          (verbs[`${kind} answered just before PostgreSQL dies`] ?? 0) + times / 2;
        await world.server.restart();
        const backAtMs = nowMs();
        await waitFor(() => world.isHealthySince(backAtMs), { deadlineMs: patienceMs });
        end();
      }
    }
    world.isQuiet = false;
    for (const [kind, windowMs] of [["form", 10 * minuteMs], ["lead", 24 * 60 * minuteMs]] as const) {
      const posts = await callers.postAtOnce(kind, times, "south");
      for (const stepMs of [windowMs - edgeMs, edgeMs + 5_000]) {
        // It ends the leases of what is under way.
        const end = world.note("day_passes", null);
        await moveClock(world, stepMs);
        end();
        await callers.repeat(posts);
      }
      verbs[`${kind} over the edge of its window`] = times;
    }
    const early = world.sink.arrived.filter(({ tenant }) => tenant === "bare");
    found.push(...early.map(({ eventId }) => `${eventId} arrived though its tenant has no route`));
    const waiting = await world.sql<{ id: string }[]>`
      select o.event_id as id from outbox as o join tenant as t on t.id = o.tenant_id
      where t.slug = 'bare' and (o.made > 0 or o.spent > 0)`;
    found.push(...waiting.map(({ id }) => `${id} has spent an attempt though its tenant has no route`));
    const made = await this.#ctl.run("tenant", "route", "bare", "--crm-url", `${world.sink.url}/hook/bare`);
    const secret = /"whsec_([^"]+)"/.exec(made)?.[1] ?? "";
    world.sink.secrets.set("bare", Buffer.from(secret, "base64"));
  }

  /** Does every verb. */
  async work(): Promise<void> {
    await this.#refuse();
    await this.#halted(() => this.#withQueue());
    await this.#halted(() => this.#withContent());
    await this.#ctl.run("audit", "verify");
  }

  /** What is sent again, or replayed, and refused is dead at once. */
  async #refuse(): Promise<void> {
    const { sink, sql } = this.#world;
    const rows = await this.#read();
    const made = (all: Rows, id: string) => of(all, "attempt").filter((one) => one.event_id === id).length;
    this.#dead = this.#sent(rows).slice(0, times);
    sink.isSure = true;
    await sink.behave("failing");
    for (const id of this.#dead) await this.#ctl.run("lead", "send-again", id);
    await waitFor(async () => {
      const [row] = await sql`select count(*)::int as left from outbox`;
      return row?.left === 0;
    }, { deadlineMs: patienceMs, everyMs: 100 });
    sink.isSure = false;
    await sink.behave("well");
    const after = await this.#read();
    for (const id of this.#dead) {
      const more = made(after, id) - made(rows, id);
      if (!after.has(`dead_letter ${id}`) || more !== 1) {
        this.found.push(`${id} was sent again and refused, and made ${more} attempts`);
      }
    }
    this.#count("refused when sent again", times);
  }

  /** Events that can be sent again. */
  #sent(rows: Rows): string[] {
    const live = new Set(of(rows, "tenant").filter(({ sandbox }) => !sandbox).map(({ id }) => id));
    return of(rows, "event").filter(({ event_id: id, tenant_id: tenant }) =>
      live.has(tenant) && !rows.has(`outbox ${id}`) && !rows.has(`dead_letter ${id}`) &&
      !isHeld(at(rows, `submission ${id}`))
    ).map(({ event_id: id }) => String(id));
  }

  /** With all processes standing still; then they deliver what waits. */
  async #halted(act: () => Promise<void>): Promise<void> {
    const { nodes, actions, sink } = this.#world;
    const processes = [...nodes.map(({ process }) => process), ...(actions === null ? [] : [actions])];
    // What was begun ends at the server.
    for (const process of processes) process.signal("SIGSTOP");
    await this.#settled();
    const from = sink.arrived.length;
    await act();
    const before = await this.#read();
    for (const process of processes) process.signal("SIGCONT");
    const isDone = await waitFor(async () => {
      const [row] = await this.#world.sql`
        select (select count(*) from outbox) + (select count(*) from lead_contact_todo) as left`;
      return Number(row?.left) === 0;
    }, { deadlineMs: patienceMs, everyMs: 100 });
    if (isDone === null) this.found.push("what operators put in the queue is not delivered");
    const after = await this.#read();
    this.#compare("delivery", before, after, this.#delivered(before, from));
  }

  async #settled(): Promise<void> {
    await waitFor(async () => {
      const busy = await this.#world.sql`
        select from pg_stat_activity where state = 'active' and usename in ('proof_service', 'proof_actions')`;
      return busy.length === 0;
    }, { deadlineMs: 10_000 });
  }

  /** Verbs that put events into the queue, or settle what is in it. */
  async #withQueue(): Promise<void> {
    const ids = (rows: Rows, table: string, isMeant: (row: Row) => boolean) =>
      of(rows, table).filter(isMeant).map(({ event_id: id }) => String(id));
    const held = ids(await this.#read(), "submission", (row) => isHeld(row) && row.dismissed_at === null);
    const queued = (before: Rows, id: string, more: Row): [string, Row] => [`outbox ${id}`, {
      ...{ event_id: id, tenant_id: at(before, `event ${id}`).tenant_id, due_at: any, ...more },
    }];
    await this.#each(
      "submission.release",
      held.slice(0, times),
      (id) => this.#ctl.run("form", "release", id),
      (
        before,
        id,
      ) => [
        [`submission ${id}`, { released_at: any, label: "ham", labelled_at: any }],
        queued(before, id, { reason: "released" }),
      ],
    );
    await this.#each("submission.dismiss", held.slice(-times), (id) => this.#ctl.run("form", "dismiss", id), (
      _,
      id,
    ) => [[`submission ${id}`, { dismissed_at: any, label: "spam", labelled_at: any }]]);

    const clean = ids(await this.#read(), "submission", ({ verdict }) => verdict === "clean");
    await this.#each(
      "submission.spam",
      clean.slice(0, times),
      (id) => this.#ctl.run("form", "spam", id),
      (_, id) => [[`submission ${id}`, { label: "spam", labelled_at: any }]],
    );
    const open = of(await this.#read(), "collision").filter(({ settled_at: since }) => since === null);
    const keys = open.map(({ id }) => String(id));
    await this.#each(
      "collision.accept",
      keys.slice(0, times),
      (id) => this.#ctl.run("collision", "accept", id),
      (
        before,
        key,
        after,
      ) => {
        const one = at(before, `collision ${key}`);
        const id = String(at(after, `collision ${key}`).accepted_event_id);
        const { kind, tenant_id: tenant } = at(before, `event ${one.event_id}`);
        const { phone, email, last_name: lastName, form_id: form, score, reasons } = one;
        const contact = { phone: null, email: null, last_name: null };
        const { key_id: keyId, content_digest: content, flags, lead, extra, raw } = one;
        return [
          [`collision ${key}`, {
            ...{ settled_at: any, accepted_event_id: any, lead: null, extra: null, raw: null, ...contact },
          }],
          [`event ${id}`, {
            ...{
              event_id: id,
              kind,
              tenant_id: tenant,
              key_id: keyId,
              received_at: any,
              flags,
              lead,
              extra,
              raw,
            },
            ...{ content_digest: content, dedupe_space: kind === "lead" ? "c" : "C" },
          }],
          [`outbox ${id}`, { event_id: id, tenant_id: tenant, due_at: any }],
          ...(kind === "lead" ? [] : [[`submission ${id}`, {
            ...{ event_id: id, tenant_id: tenant, form_id: form, verdict: "clean", score, reasons },
            ...{ phone, email, last_name: lastName },
          }] as [string, Row]]),
        ];
      },
    );
    await this.#each(
      "collision.dismiss",
      keys.slice(-times),
      (id) => this.#ctl.run("collision", "dismiss", id),
      (
        _,
        id,
      ) => [[`collision ${id}`, { settled_at: any }]],
    );

    const rows = await this.#read();
    const sent = this.#sent(rows);
    const [again, done] = [sent.slice(times, 2 * times), sent.slice(2 * times, 3 * times)];
    const dead = this.#dead;
    // As after a restore: nobody knows whether the customer has them.
    const { sql } = this.#world;
    await sql`select mark_effects_done(${dead}, ${dead.map(() => null)}::text[])`;
    await sql`insert into dead_letter (event_id, tenant_id, died_at, reason)
      select event_id, tenant_id, service_clock(), 'may_repeat' from event where event_id = any (${done})`;
    await sql`insert into outbox_tally (state, delta) values ('dead', ${done.length})`;
    const made = (before: Rows, id: string) =>
      Math.max(
        0,
        ...of(before, "attempt")
          .filter((one) => one.event_id === id).map(({ number }) => Number(number)),
      );
    const repeat = (before: Rows, id: string, reason: string, sentBefore = 0) =>
      queued(before, id, { made: made(before, id), sent_before: sentBefore, is_replay: true, reason });
    const effects = (before: Rows, id: string) =>
      routesOf(before, id).map((route) => ({
        ...{ key: `actions.effect ${id}/${route.id}`, route: route.id, effect: route.kind },
        known: before.get(`actions.effect ${id}/${route.id}`),
      }));
    await this.#each("dead.replay", dead, (id) => this.#ctl.run("dead", "replay", id), (before, id) => [
      [`dead_letter ${id}`, null],
      repeat(before, id, "replayed", Number(at(before, `dead_letter ${id}`).sent_before)),
    ]);
    await this.#each("dead.done", done, (id) => this.#ctl.run("dead", "done", id), (before, id) => [
      [`dead_letter ${id}`, null],
      repeat(before, id, "replayed", Number(at(before, `dead_letter ${id}`).sent_before)),
      ...effects(before, id).flatMap(({ key, route, effect, known }): [string, Row][] =>
        known?.is_done ? [] : [[key, {
          ...{ event_id: id, route_id: route, effect, is_done: true, settled_at: any, lease: null },
          ...{ lease_until: null, reason: null },
        }]]
      ),
    ]);
    await this.#each(
      "event.send_again",
      again,
      (id) => this.#ctl.run("lead", "send-again", id),
      (before, id) => [
        repeat(before, id, "sent_again", made(before, id)),
        ...effects(before, id).flatMap(({ key, known }): [string, Row][] =>
          known === undefined ? [] : [[key, {
            ...{ round: Number(known.round) + 1, is_done: false, lease: null, lease_until: null },
            ...{ settled_at: null, reason: null, status: null, answer: null },
          }]]
        ),
      ],
    );
    await this.#lateSettlements();
    await this.#disable();
  }

  /** A claim runs out, another holder has the rows, and only then the first one says what became of its sends. */
  async #lateSettlements(): Promise<void> {
    const world = this.#world;
    const { sql } = world;
    const claim = async (lease: string): Promise<Claimed[]> => {
      const rows = await sql<Claimed[]>`
        select event_id, number from claim_outbox(${lease}, 1000, 100, (select array_agg(id) from tenant),
          (select array_agg('-infinity'::text) from tenant), (select array_agg(${times}::int) from tenant))`;
      return rows;
    };
    const settle = async (kind: string, lease: string, rows: readonly Claimed[]) => {
      const all = <T>(value: T) => rows.map(() => value);
      const [outcome, status] = kind === "delivered" ? ["delivered", 200] : ["refused", 500];
      await sql`select settle_outbox(${all(lease)}, ${rows.map((row) => row.event_id)},
        ${rows.map((row) => row.number)}, ${all(kind)}, ${all(outcome)}, ${all(status)}, ${all("late")},
        ${all(5)}, ${all("t")}, ${all(0)})`;
    };
    const [first, second] = ["1", "2"].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`) as [
      string,
      string,
    ];
    const early = await claim(first);
    await moveClock(world, minuteMs);
    let late = await claim(second);
    const check = async (
      kind: string,
      rows: readonly Claimed[],
      model: (row: Claimed) => [string, Row | null][],
    ) => {
      const before = await this.#read();
      await settle(kind, first, rows);
      this.#compare(`a late ${kind}`, before, await this.#read(), new Map(rows.flatMap(model)));
      this.#count(`late ${kind}`, rows.length);
    };
    const attempt = (
      { event_id: id, number }: Claimed,
      outcome: string,
      status: number,
    ): [string, Row] => [
      `attempt ${id}/${number}`,
      { outcome, status, reason: "late", duration_ms: 5, at: any },
    ];
    await check("retry", early, (row) => [attempt(row, "refused", 500)]);
    for (const kind of ["dead", "released"]) await check(kind, early, () => []);
    // Delivered is delivered, whoever has the row by now.
    const [dead, held] = [early.slice(0, times), early.slice(times, 2 * times)];
    const isOf = (some: readonly Claimed[]) => ({ event_id: id }: Claimed) =>
      some.some((row) => row.event_id === id);
    await settle("dead", second, late.filter(isOf(dead)));
    await check("delivered", dead, (row) => [
      attempt(row, "delivered", 200),
      [`dead_letter ${row.event_id}`, null],
    ]);
    await check("delivered", held, (row) => [
      attempt(row, "delivered", 200),
      [`outbox ${row.event_id}`, null],
      [`attempt ${row.event_id}/${row.number + 1}`, {
        ...{ event_id: row.event_id, number: row.number + 1, at: any, outcome: "lost", spent: true },
      }],
    ]);
    late = late.filter((row) => !isOf([...dead, ...held])(row));
    await settle("retry", second, late);
  }

  /** Revokes keys, and disables a customer and enables it again, while posts are on their way. */
  async #revoke(): Promise<void> {
    const { notes } = this.#world;
    const isActive = ({ id }: { readonly id: number }) =>
      !notes.revoked.some(({ keyId, until }) => keyId === id && until === undefined);
    const spare = notes.keys.filter((key) => key.label.startsWith("spare-") && isActive(key));
    for (const key of spare.slice(-times)) {
      const act = () => this.#ctl.run("key", "revoke", String(key.id));
      await this.#callers.postMeanwhile([key], () => revoked(this.#world, [key.id], act));
      this.#count("key.revoke", 1);
    }
    const keys = notes.keys.filter((key) => key.tenant === "south" && isActive(key));
    const set = (verb: string) => this.#ctl.run("tenant", verb, "south");
    const until = { meanwhile: () => this.#callers.postBy(keys), undo: () => set("enable") };
    const disable = () => revoked(this.#world, keys.map(({ id }) => id), () => set("disable"), until);
    for (let time = 0; time < times; time += 1) await this.#callers.postMeanwhile(keys, disable);
    for (const verb of ["tenant.disable", "tenant.enable"]) this.#count(verb, times);
  }

  /** Disables a customer and enables it again. */
  async #disable(): Promise<void> {
    for (const [verb, isDisabled] of [["disable", true], ["enable", false]] as const) {
      const since = isDisabled ? any : null;
      await this.#each(
        `tenant.${verb}`,
        ["south"],
        (slug) => this.#ctl.run("tenant", verb, slug),
        (before, slug) => [
          [`tenant ${slug}`, { disabled_at: since }],
          ...of(before, "api_key").filter((key) =>
            key.tenant_id === at(before, `tenant ${slug}`).id && key.revoked_at === null
          ).map((key): [string, Row] => [`api_key ${key.id}`, { suspended_at: since }]),
        ],
      );
    }
  }

  /** Verbs that take content away. */
  async #withContent(): Promise<void> {
    const erased = await this.#callers.related;
    for (const email of erased) {
      const before = await this.#read();
      await this.#ctl.run("erase", "--email", email);
      const isTheirs = (row: Row) => String(row.raw).toLowerCase().includes(`"${email}"`);
      // With an event goes what is aside under its key, unless it is clearly another person's.
      const isAside = (one: Row) => {
        const event = at(before, `event ${one.event_id}`);
        const names = [one, event].map(({ lead }) => (lead as Row | null)?.last_name);
        return isTheirs(one) || isTheirs(event) && (names.includes(undefined) || names[0] === names[1]);
      };
      this.#compare(
        "person.erase",
        before,
        await this.#read(),
        removed(before, "erasure", isTheirs, isAside),
      );
      this.#count("person.erase", 1);
    }
    const dayMs = 24 * 60 * minuteMs;
    for (let days = times + 1; days > 1; days -= 1) {
      const set = (slug: string) => this.#ctl.run("tenant", "retention", slug, "--days", String(days));
      await this.#each(
        "tenant.retention",
        ["north"],
        set,
        () => [["tenant north", { retention_days: days }]],
      );
    }
    await moveClock(this.#world, 2 * dayMs + minuteMs);
    const before = await this.#read();
    const tenant = at(before, "tenant north").id;
    for (let examined = 1; examined > 0;) {
      const [row] = await this.#world.sql<
        { examined: number | null }[]
      >`select examined from expire_content(500)`;
      examined = row?.examined ?? 1;
      if (row?.examined === null) await pause(100);
    }
    const changes = removed(
      before,
      "retention",
      // What waits or is dead keeps its content.
      ({ event_id: id, tenant_id: of }) =>
        of === tenant && !before.has(`outbox ${id}`) && !before.has(`dead_letter ${id}`),
      (collision) => at(before, `event ${collision.event_id}`).tenant_id === tenant,
    );
    this.#compare("retention", before, await this.#read(), changes);
    this.#count("event.expire", [...changes.keys()].filter((key) => key.startsWith("event ")).length);
  }

  #count(verb: string, count: number): void {
    this.verbs[verb] = (this.verbs[verb] ?? 0) + count;
  }

  /** One verb, to each of several things, with its notes in the audit. */
  async #each(
    verb: string,
    names: readonly string[],
    act: (name: string) => Promise<unknown>,
    model: (before: Rows, name: string, after: Rows) => (readonly [string, Row | null])[],
  ): Promise<void> {
    const before = await this.#read();
    for (const name of names) {
      await act(name).catch((error) => this.found.push(`${verb}: ${(error as Error).message}`));
    }
    const after = await this.#read();
    this.#compare(verb, before, after, new Map(names.flatMap((name) => model(before, name, after))));
    const noted = of(after, "audit").filter(({ id, action }) =>
      !before.has(`audit ${id}`) && action === verb
    );
    // What was accepted is noted beside both events.
    if (noted.length !== names.length * (verb === "collision.accept" ? 2 : 1)) {
      this.found.push(`${verb}: the audit has ${noted.length} of ${names.length}`);
    }
    this.#count(verb, names.length);
  }

  async #read(): Promise<Rows> {
    const rows = new Map<string, Row>();
    for (const [table, key] of Object.entries(tables)) {
      const all = await this.#world.sql.unsafe(
        `select ${key} as key, to_jsonb(t) - 'last_used_at' as row from ${table} as t order by 1`,
      );
      for (const { key, row } of all) rows.set(`${table} ${key}`, row);
    }
    const { sql } = this.#world;
    for (
      const { state, sum } of await sql`select state, sum(delta)::int as sum from outbox_tally group by state`
    ) {
      rows.set(`tally ${state}`, { sum });
    }
    for (
      const { id, sum } of await sql`select campaign_id as id, spend_cents::int as sum from campaign_spend`
    ) {
      rows.set(`spend ${id}`, { sum });
    }
    for (
      const { id, term, sum } of await sql`
        select tenant_id as id, term, count::int as sum from unknown_area`
    ) {
      rows.set(`area ${id} ${term}`, { sum });
    }
    return rows;
  }

  /** Every row that is not what the model says, and every sum that is not that of its rows. */
  #compare(verb: string, before: Rows, after: Rows, expected: Changes): void {
    const wrong: string[] = [];
    for (const key of new Set([...before.keys(), ...after.keys(), ...expected.keys()])) {
      if (/^(audit|tally|spend|area) /.test(key)) continue;
      const change = expected.get(key);
      const [is, was] = [after.get(key), before.get(key)];
      if (change === null ? is !== undefined : change === undefined ? isNot(is, was) : is === undefined) {
        wrong.push(`${key} is ${JSON.stringify(is) ?? "gone"} and was ${JSON.stringify(was) ?? "not there"}`);
      }
      for (const column of Object.keys(change && is ? is : {})) {
        const value = is?.[column];
        const wanted = column in (change ?? {}) ? change?.[column] : was?.[column];
        const isWrong = wanted === any
          ? value === null
          : wanted === undefined
          ? !isEmpty(value)
          : isNot(value, wanted);
        if (isWrong) wrong.push(`${key}: ${column} is ${JSON.stringify(value)}`);
      }
    }
    const campaigns = new Map(of(after, "api_key").map((key) => [key.id, key.campaign_id]));
    const spend = (id: unknown) =>
      of(after, "event").filter((event) => event.kind === "lead" && campaigns.get(event.key_id) === id)
        .reduce(
          (sum, { lead, cost_cents: kept }) => sum + Number(kept ?? (lead as Row | null)?.cost_cents ?? 0),
          0,
        );
    const known = new Map<string, number>();
    for (const { tenant_id: tenant, flags, lead } of of(after, "event")) {
      if (!(flags as string[]).includes("project_area_unknown") || lead === null) continue;
      const term = `area ${tenant} ${(lead as Row).project_area}`;
      known.set(term, (known.get(term) ?? 0) + 1);
    }
    // A retention takes terms, and not their counts.
    const terms = verb === "retention" ? [] : [...known];
    const sums = [
      ...terms,
      ["tally pending", of(after, "outbox").length],
      ["tally dead", of(after, "dead_letter").length],
      ...of(after, "campaign").map(({ id }) => [`spend ${id}`, spend(id)] as const),
    ] as const;
    for (const [name, sum] of sums) {
      const is = after.get(name)?.sum ?? 0;
      if (is !== sum) wrong.push(`${name} is ${is} and not ${sum}`);
    }
    this.found.push(...wrong.map((what) => `after ${verb}: ${what.slice(0, 400)}`));
  }

  /** What a delivery of all that waits changes, and whether each arrived where and as often as it should. */
  #delivered(before: Rows, from: number): Changes {
    const { plan, sink } = this.#world;
    const changes: Changes = new Map();
    const wanted: string[] = [];
    for (const { event_id: id, kind, lead } of of(before, "event")) {
      if (kind !== "lead" || lead === null || before.has(`lead_contact ${id}`)) continue;
      const { phone, email = null, last_name: last } = lead as Row;
      const lastName = String(last).replace(/[A-Z]/g, (one) => one.toLowerCase());
      changes.set(`lead_contact ${id}`, { event_id: id, phone, email, last_name: lastName });
    }
    for (const { event_id: id, made, tenant_id: tenant } of of(before, "outbox")) {
      const number = Number(made) + 1;
      changes.set(`outbox ${id}`, null);
      changes.set(`attempt ${id}/${number}`, {
        ...{
          event_id: id,
          number,
          at: any,
          outcome: "delivered",
          status: any,
          duration_ms: any,
          spent: true,
        },
      });
      const slug = of(before, "tenant").find((one) => one.id === tenant)?.slug;
      if (!plan.hasActions) wanted.push(`${id} ${slug}`);
      for (const route of plan.hasActions ? routesOf(before, String(id)) : []) {
        const key = `actions.effect ${id}/${route.id}`;
        const known = before.get(key);
        if (known?.is_done) continue;
        wanted.push(`${id} ${String(route.address).split("/hook/")[1]}`);
        changes.set(key, {
          ...{ event_id: id, route_id: route.id, effect: route.kind, round: known?.round ?? 0 },
          ...{
            attempts: Number(known?.attempts ?? 0) + 1,
            is_done: true,
            settled_at: any,
            status: 200,
            answer: any,
          },
        });
      }
    }
    const came = sink.arrived.slice(from).map(({ eventId, tenant, route }) =>
      `${eventId} ${route ?? tenant}`
    );
    const count = (all: readonly string[], one: string) => all.filter((other) => other === one).length;
    for (const one of new Set([...came, ...wanted])) {
      if (count(came, one) !== count(wanted, one)) {
        this.found.push(`${one} arrived ${count(came, one)} times and not ${count(wanted, one)}`);
      }
    }
    return changes;
  }
}

const of = (rows: Rows, table: string): Row[] =>
  [...rows].filter(([key]) => key.startsWith(`${table} `)).map(([, row]) => row);
const at = (rows: Rows, key: string): Row => rows.get(key) ?? {};
const isHeld = ({ verdict, released_at: since }: Row) =>
  verdict !== undefined && verdict !== "clean" && since === null;
const isNot = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
const isEmpty = (value: unknown) => value === null || value === false || value === 0 || String(value) === "";

/** The closest routes of an event. */
function routesOf(rows: Rows, id: string): Row[] {
  const { tenant_id: tenant, key_id: key } = at(rows, `event ${id}`);
  const source = at(rows, `api_key ${key}`).label;
  const form = at(rows, `form ${at(rows, `submission ${id}`).form_id}`).form_key ?? "";
  const all = of(rows, "actions.route").filter((route) =>
    route.tenant_id === tenant && (route.source === "" || route.source === source) &&
    (route.form === "" || route.form === form)
  );
  return all.filter(({ closeness }) =>
    closeness === Math.max(...all.map((route) => Number(route.closeness)))
  );
}

/** What takes the content out of events, and out of what was kept aside. */
function removed(
  rows: Rows,
  by: string,
  isMeant: (event: Row) => boolean,
  isAside: (collision: Row) => boolean = isMeant,
): Changes {
  const changes: Changes = new Map();
  const contact = { phone: null, email: null, last_name: null };
  const none = { lead: null, extra: null, raw: null, content_digest: null };
  const events = of(rows, "event").filter((event) => event.removed_at === null && isMeant(event));
  for (const event of events) {
    const { event_id: id, kind, lead, dedupe_space: space, dedupe_digest: digest } = event;
    const cost = kind === "lead" ? (lead as Row).cost_cents ?? null : null;
    const isOfKey = String(space).toLowerCase() === "k";
    changes.set(`event ${id}`, {
      ...{ ...none, idempotency_key: null, dedupe_digest: isOfKey ? digest : null, cost_cents: cost },
      ...{ removed_at: any, removed_by: by },
    });
    const submission = rows.get(`submission ${id}`);
    if (submission !== undefined) {
      const isOpen = isHeld(submission) && submission.dismissed_at === null;
      changes.set(`submission ${id}`, {
        ...{ ...contact, label: null, labelled_at: null },
        ...(isOpen ? { dismissed_at: any } : {}),
      });
    }
    for (const key of [`lead_contact ${id}`, `outbox ${id}`, `dead_letter ${id}`]) {
      if (rows.has(key)) changes.set(key, null);
    }
  }
  const ids = new Set(events.map(({ event_id: id }) => id));
  for (const { event_id: id, number } of of(rows, "attempt")) {
    if (ids.has(id)) changes.set(`attempt ${id}/${number}`, { reason: null });
  }
  for (const { event_id: id, route_id: route } of of(rows, "actions.effect")) {
    if (ids.has(id)) {
      changes.set(`actions.effect ${id}/${route}`, { reason: null, status: null, answer: null });
    }
  }
  for (const one of of(rows, "collision")) {
    const isGone = isAside(one) || ids.has(one.accepted_event_id);
    if (isGone && one.content_digest !== null) {
      changes.set(`collision ${one.id}`, { ...none, ...contact, settled_at: one.settled_at ?? any });
    }
  }
  return changes;
}

/** What a verb done less than ten times would not show. */
export function rarelyDone(verbs: Readonly<Record<string, number>>): string[] {
  return Object.entries(verbs).filter(([, count]) => count < times)
    .map(([verb, count]) => `${verb} was done ${count} times`);
}
