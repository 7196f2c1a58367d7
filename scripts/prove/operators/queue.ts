/**
 * Operations that queue events, and results of claims that are recorded late.
 *
 * @module
 */

import { waitFor } from "../clock.ts";
import { moveClock } from "../faults.ts";
import {
  type Change,
  effectsOf,
  idsOf,
  isHeld,
  nonNull,
  type Row,
  rowAt,
  type Rows,
  rowsOf,
  scopeOf,
  unclaimed,
} from "../model.ts";
import { lastAttempt, minuteMs, type OperatorRun, runsMin, stepTimeoutMs } from "./operator_run.ts";

/** A row that `claim_outbox` returned. */
interface Claimed {
  readonly event_id: string;
  readonly number: number;
  readonly is_replay: boolean;
}

/** The lease of a claim on effects that is not meant to expire. */
const effectLeaseMs = 15_000;
const uuids = ["1", "2"].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`);
const [firstLease, secondLease] = uuids as [string, string];

/** Sends events again while all receivers fail: each must be dead after one attempt. */
export async function refuseSentAgain(run: OperatorRun): Promise<void> {
  const { sql } = run.testEnv;
  const rows = await run.read();
  run.deadIds = run.resendable(rows).slice(0, runsMin);
  await run.whileFailing(async () => {
    for (const id of run.deadIds) await run.ctl.run("lead", "send-again", id);
    return async () => (await sql`select count(*)::int as left from outbox`)[0]?.left === 0;
  });
  const after = await run.read();
  for (const id of run.deadIds) {
    const more = lastAttempt(after, id) - lastAttempt(rows, id);
    if (!after.has(`dead_letter ${id}`) || more !== 1) {
      run.differences.push(`${id} was sent again: ${more} attempts, expected 1 and a dead letter`);
    }
  }
  run.count("event refused when sent again", runsMin);
}

/**
 * Sends events again, each to an actions tier that resets the connection once: none may be dead, because no response refused
 * them. The actions process would report a reset by a CRM as a refusal.
 */
export async function resetSentAgain(run: OperatorRun): Promise<void> {
  const { plan, sink, sql, nodes: [node, ...others] } = run.testEnv;
  if (plan.hasActions || node === undefined) return;
  const before = await run.read();
  // One process sends all events, each once in vain, so that its circuit breaker must stay closed.
  for (const { process } of others) process.signal("SIGSTOP");
  const logged = node.process.log.length;
  sink.isConsistent = sink.isOnce = true;
  for (const id of run.resendable(before).slice(-runsMin)) {
    await sink.setBehavior("reset");
    await run.ctl.run("lead", "send-again", id);
    const isSent = await waitFor(
      async () => (await sql`select from outbox where event_id = ${id}`).length === 0,
      { deadlineMs: stepTimeoutMs },
    );
    if (isSent === null) run.differences.push(`${id} was not sent again after a lost response`);
    const resets = await sql`
      select from attempt
      where event_id = ${id} and number > ${lastAttempt(before, id)} and outcome = 'unreachable'`;
    run.count("event without a response when sent again", Math.min(1, resets.length));
    const dead = await sql`select from dead_letter where event_id = ${id}`;
    if (dead.length > 0) run.differences.push(`${id} was sent again and is dead, but was not refused`);
  }
  sink.isConsistent = sink.isOnce = false;
  await sink.setBehavior("normal");
  for (const { process } of others) process.signal("SIGCONT");
  // On a busy machine, it may open because of a timeout.
  if (/"breaker".*"open".*"cause":"closed"/.test(node.process.log.slice(logged))) {
    run.differences.push("the circuit breaker opened, but every second attempt got a response");
  }
}

/** Runs the operations that queue events, and settles claims late. */
export async function changeQueue(run: OperatorRun): Promise<void> {
  const queued = (before: Rows, id: string, more: Row): Change => [`outbox ${id}`, {
    event_id: id,
    tenant_id: rowAt(before, `event ${id}`).tenant_id,
    due_at: nonNull,
    ...more,
  }];
  const start = await run.read();
  const held = idsOf(start, "submission", (row) => isHeld(row) && row.dismissed_at === null);
  const clean = idsOf(start, "submission", ({ verdict }) => verdict === "clean");
  // Some submissions of related people are released; the others are still held when these people are erased.
  const ofRelated = held.filter((id) => run.isRelated(start, id));
  const ofOthers = held.filter((id) => !run.isRelated(start, id));
  const released = [...ofRelated.slice(0, runsMin / 2), ...ofOthers.slice(0, runsMin)];
  const release = (ids: readonly string[]) =>
    run.apply("submission.release", ids, ["form", "release"], (before, id) => [
      [`submission ${id}`, { released_at: nonNull, label: "ham", labelled_at: nonNull }],
      queued(before, id, { reason: "released" }),
    ]);
  await release(released);
  await run.apply("submission.dismiss", ofOthers.slice(-runsMin), ["form", "dismiss"], (_, id) => [
    [`submission ${id}`, { dismissed_at: nonNull, label: "spam", labelled_at: nonNull }],
  ]);
  // A dismissed submission can still be released.
  await release(ofOthers.slice(-runsMin / 2));
  await run.apply("submission.spam", clean.slice(0, runsMin), ["form", "spam"], (_, id) => [
    [`submission ${id}`, { label: "spam", labelled_at: nonNull }],
  ]);

  const open = rowsOf(start, "collision").filter(({ settled_at: since }) => since === null);
  const byKind = Map.groupBy(open, ({ form_id: form }) => form === null);
  const [ofLeads, ofForms] = [true, false].map((isLead) =>
    byKind.get(isLead)?.map(({ id }) => `${id}`) ?? []
  );
  const collisions = (from: number) =>
    [ofLeads, ofForms].flatMap((all = []) => all.slice(from, from + runsMin / 2));
  await run.apply(
    "collision.accept",
    collisions(0),
    ["collision", "accept"],
    (before, key, after) => {
      const one = rowAt(before, `collision ${key}`);
      const id = String(rowAt(after, `collision ${key}`).accepted_event_id);
      const { kind, tenant_id } = rowAt(before, `event ${one.event_id}`);
      const { phone, email, name, form_id, score, reasons, content_digest } = one;
      const { key_id, request_id, flags, lead, extra, raw } = one;
      const none = {
        lead: null,
        extra: null,
        raw: null,
        request_id: null,
        phone: null,
        email: null,
        name: null,
      };
      return [
        [`collision ${key}`, { settled_at: nonNull, accepted_event_id: nonNull, ...none }],
        [`event ${id}`, {
          event_id: id,
          kind,
          tenant_id,
          key_id,
          request_id,
          received_at: nonNull,
          flags,
          lead,
          extra,
          raw,
          content_digest,
          dedupe_space: kind === "lead" ? "c" : "C",
        }],
        [`outbox ${id}`, { event_id: id, tenant_id, due_at: nonNull }],
        ...(kind === "lead" ? [] : [
          [`submission ${id}`, {
            event_id: id,
            tenant_id,
            form_id,
            verdict: "clean",
            score,
            reasons,
            phone,
            email,
            name,
          }] as const,
        ]),
      ];
    },
  );
  await run.apply("collision.dismiss", collisions(runsMin), ["collision", "dismiss"], (_, id) => [
    [`collision ${id}`, { settled_at: nonNull }],
  ]);

  const rows = await run.read();
  const sent = run.resendable(rows);
  const [again, done] = [sent.slice(runsMin, 2 * runsMin), sent.slice(2 * runsMin, 3 * runsMin)];
  const dead = run.deadIds;
  // Marks refused effects as done, as `ctl restored` does, so that the replay must not repeat them.
  const { sql } = run.testEnv;
  await sql`select mark_effects_done(${dead}, ${dead.map(() => null)}::text[])`;
  await run.makeDead(done);
  const requeued = (before: Rows, id: string, reason: string, sentBefore: unknown) =>
    queued(before, id, {
      made: lastAttempt(before, id),
      sent_before: sentBefore,
      is_replay: true,
      reason,
    });
  const effects = (before: Rows, id: string) =>
    effectsOf(before, id).map((one) => ({ ...one, known: before.get(one.key) }));
  const replayed = (before: Rows, id: string): Change[] => [
    [`dead_letter ${id}`, null],
    requeued(before, id, "replayed", rowAt(before, `dead_letter ${id}`).sent_before),
  ];
  await compareLists(run);
  await run.apply("dead.replay", dead, ["dead", "replay"], replayed);
  await run.apply("dead.done", done, ["dead", "done"], (before, id) => [
    [`dead_letter ${id}`, null],
    [`attempt ${id}/${lastAttempt(before, id) + 1}`, {
      event_id: id,
      number: lastAttempt(before, id) + 1,
      at: nonNull,
      outcome: "marked",
      spent: false,
    }],
    ...effects(before, id).flatMap(({ key, route, known }): Change[] =>
      known?.is_done ? [] : [[key, {
        event_id: id,
        route_id: route.id,
        effect: route.kind,
        is_done: true,
        settled_at: nonNull,
        ...unclaimed,
        reason: null,
        marked_by: nonNull,
      }]]
    ),
  ]);
  const startedAgain = (known: Row): Row => ({
    round: Number(known.round) + 1,
    is_done: false,
    ...unclaimed,
    settled_at: null,
    reason: null,
    status: null,
    answer: null,
    headers: null,
    marked_by: null,
  });
  await run.apply("event.send_again", again, ["lead", "send-again"], (before, id) => [
    requeued(before, id, "sent_again", lastAttempt(before, id)),
    ...effects(before, id).flatMap(({ key, known }): Change[] =>
      known === undefined ? [] : [[key, startedAgain(known)]]
    ),
  ]);
  // The other effects of the first kind's events are marked as done, even those that never started.
  const partly = sent.slice(3 * runsMin, 4 * runsMin);
  await run.apply(
    "event.send_again",
    partly,
    (id) => ["lead", "send-again", id, "--effect", "crm"],
    (before, id) => [
      requeued(before, id, "sent_again", lastAttempt(before, id)),
      ...effects(before, id).flatMap(({ key, route, known }): Change[] => {
        if (route.kind === "crm") return known === undefined ? [] : [[key, startedAgain(known)]];
        const added = { event_id: id, route_id: route.id, effect: route.kind, is_done: true };
        return known === undefined ? [[key, added]] : [];
      }),
    ],
  );
  // The new route has the same address, so the CRM must not receive its events again.
  const sameCrm = ["--crm-url", `${run.testEnv.sink.url}/hook/north`];
  const north = sent.filter((id) => scopeOf(rows, id).tenant === "north").slice(-runsMin);
  await run.makeDead(north);
  await run.ctl.run("tenant", "route", "north", "--clear", "crm");
  run.testEnv.sink.setSecret("north", await run.changeRoute("north", ...sameCrm), "replaced");
  const before = await run.read();
  // The pending ones among them must not change.
  await sql`select replay_dead(${[...dead, ...north]})`;
  const changes = new Map(north.flatMap((id) => replayed(before, id)));
  run.compare("replaying dead and pending events", before, await run.read(), changes);
  run.count("route replaced before a replay", north.length);
  const isSandboxed = ({ event_id: id }: Row) => scopeOf(rows, String(id)).tenant === "sandbox";
  const sandboxed = idsOf(rows, "event", isSandboxed);
  await run.expectRefusal(["form", "release"], clean);
  await run.expectRefusal(["form", "dismiss"], clean);
  await run.expectRefusal(["form", "spam"], ofRelated.slice(runsMin / 2));
  await run.expectRefusal(["lead", "send-again"], [
    ...ofRelated.slice(runsMin / 2, runsMin),
    ...sandboxed.slice(0, runsMin / 2),
  ]);
  await run.expectRefusal(["tenant", "route", "--email", "a@sandbox.example"], ["sandbox"]);
  await run.expectRefusal(["dead", "replay"], again);
  await run.expectRefusal(["dead", "done"], again);
  await settleLate(run);
  await settleEffects(run);
  const routes = rowsOf(await run.read(), "actions.route").filter(({ address }) =>
    String(address).endsWith("/hook/north")
  );
  run.rotatedSecret = await run.changeRoute("north", "--rotate-secret");
  run.testEnv.sink.setSecret("north", run.rotatedSecret, "rotated");
  const rotatedRoute = rowsOf(await run.read(), "actions.route").find(({ id }) => id === routes[0]?.id);
  if (rotatedRoute?.secret_before !== routes[0]?.secret) {
    run.differences.push("a rotation did not keep the previous secret");
  }
  // A disabled tenant's pending events are still delivered.
  await run.setDisabled(true);
}

/** Compares what ctl lists, for all tenants and for one, with the rows. */
async function compareLists(run: OperatorRun): Promise<void> {
  const rows = await run.read();
  const north = rowAt(rows, "tenant north").id;
  const list = async (words: string, field: string, listed: readonly Row[], own: readonly Row[]) => {
    for (const [scope, wanted] of [[[], listed], [["--tenant", "north"], own]] as const) {
      const printed: string[] = JSON.parse(await run.ctl.run(...words.split(" "), ...scope))
        .map((row: Row) => String(row[field]));
      const expected = wanted.map((row) => String(row[field]));
      const [isPrinted, isExpected] = [new Set(printed), new Set(expected)];
      const wrong = [...printed, ...expected].filter((name) => isPrinted.has(name) !== isExpected.has(name));
      if (wrong.length > 0) {
        run.differences.push(`ctl ${words} ${scope.join(" ")} and the rows differ in ${wrong.slice(0, 3)}`);
      }
      run.count(`row listed by ctl ${words.split(" --")[0]}`, printed.length);
    }
  };
  const eventOf = (row: Row) => rowAt(rows, `event ${row.event_id}`);
  const all = (table: string, isListed: (row: Row) => boolean = () => true) => {
    const listed = rowsOf(rows, table).filter(isListed).map((row) => ({
      ...row,
      submission_id: row.event_id,
    }));
    return [
      listed,
      listed.filter((row: Row) => (row.tenant_id ?? eventOf(row).tenant_id) === north),
    ] as const;
  };
  await list("lead list --limit 10000", "event_id", ...all("event"));
  await list("dead list --limit 10000", "event_id", ...all("dead_letter"));
  await list("key list", "id", ...all("api_key"));
  await list(
    "collision list --open --limit 10000",
    "id",
    ...all("collision", (row) => row.settled_at === null),
  );
  const isWaiting = (verdict: string) => (row: Row) =>
    isHeld(row) && row.verdict === verdict && row.dismissed_at === null && eventOf(row).removed_at === null;
  await list("form held --limit 10000", "submission_id", ...all("submission", isWaiting("spam")));
  await list(
    "form held --honeypot --limit 10000",
    "submission_id",
    ...all("submission", isWaiting("honeypot")),
  );
}

/** Claims effects twice, and settles them with each result, under either claim and for another round. */
async function settleEffects(run: OperatorRun): Promise<void> {
  const { sql } = run.testEnv;
  const rows = await run.read();
  // An accepted collision may be a sandbox's, which has no effects.
  const ids = idsOf(rows, "outbox", ({ is_replay: isReplay }) => !isReplay)
    .filter((id) => effectsOf(rows, id).length > 0);
  const effects = ids.flatMap((id) => effectsOf(rows, id).map((one) => ({ ...one, id })));
  const claimAll = async (lease: string, leaseMs: number, wanted: string) => {
    for (const id of ids) {
      const other = (await run.claimEffects(rows, id, lease, leaseMs)).find((state) => state !== wanted);
      if (other !== undefined) {
        run.differences.push(`the effects of ${id} are ${other}, expected ${wanted}`);
      }
    }
  };
  const check = async (operation: string, act: () => Promise<void>, model: Change[]) => {
    const before = await run.read();
    await act();
    run.compare(operation, before, await run.read(), new Map(model));
    run.count(operation, effects.length);
  };
  await check(
    "effect.begin",
    async () => {
      await claimAll(firstLease, 1_000, "due");
      await moveClock(run.testEnv, 2_000);
      await claimAll(secondLease, effectLeaseMs, "due");
      await claimAll(firstLease, effectLeaseMs, "busy");
    },
    effects.map(({ id, key, route }) => [key, {
      event_id: id,
      route_id: route.id,
      effect: route.kind,
      attempts: 2,
      lease: secondLease,
      lease_until: nonNull,
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
          is_done: reason === null,
          ...unclaimed,
          settled_at: nonNull,
          reason,
          status,
          answer: status === null ? null : "said",
        }]]
        : []
    ),
  );
}

/** Settles an event's effects as refused, with a response that may quote the lead. */
export async function failEffects(run: OperatorRun, id: string): Promise<void> {
  const { sql } = run.testEnv;
  await run.claimEffects(await run.read(), id, firstLease, effectLeaseMs);
  await sql`select actions.settle_effect(event_id, route_id, round, lease, 'http_422', 422, 'said')
    from actions.effect where event_id = ${id} and lease = ${firstLease}`;
}

/** Lets a claim expire, claims its rows again, and then settles them under the first claim. */
async function settleLate(run: OperatorRun): Promise<void> {
  const testEnv = run.testEnv;
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
    const before = await run.read();
    await settle(kind, firstLease, rows);
    run.compare(`a late ${kind}`, before, await run.read(), new Map(rows.flatMap(model)));
    run.count(`late ${kind}`, rows.length);
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
      event_id: row.event_id,
      number: row.number + 1,
      at: nonNull,
      outcome: "lost",
      spent: true,
    }],
  ]);
  secondClaim = secondClaim.filter((row) => !isAmong([...dead, ...held])(row));
  const before = await run.read();
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
  run.compare("a retry that spends no attempt", before, await run.read(), changes);
  run.count("retry that spends no attempt", secondClaim.length);
}
