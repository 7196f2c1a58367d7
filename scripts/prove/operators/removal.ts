/**
 * Operations that remove content: erasure and retention.
 *
 * @module
 */

import { pause } from "../clock.ts";
import { moveClock } from "../faults.ts";
import { acknowledgedId, type PostKind } from "../history.ts";
import { marker } from "../leads.ts";
import { expectedRemoval, idsOf, type Row, rowAt, rowsOf, scopeOf } from "../model.ts";
import {
  containsEmail,
  dayMs,
  hourMs,
  minuteMs,
  type OperatorRun,
  retentionDays,
  runsMin,
} from "./operator_run.ts";
import { failEffects } from "./queue.ts";

/**
 * Erases people while they post other content under the same Idempotency-Key. They then post again, under no Idempotency-Key and
 * under two that differ only in their encoding.
 */
export async function postAfterErasure(run: OperatorRun): Promise<void> {
  const erased: string[] = [];
  const kept: { readonly what: string; readonly id: string }[] = [];
  for (let index = 0; index < runsMin; index += 1) {
    const phone = `646555${1_000 + index}`;
    const lead = { first_name: "Eve", last_name: `${marker}again`, phone };
    const post = (project_details: string, idempotencyKey: string) =>
      run.callers.postUnrecorded({ ...lead, project_details }, run.customerKeys[index] ?? "", idempotencyKey);
    const id = await post("", `erased ${index}`);
    if (id === "") run.differences.push("a lead to erase is not accepted");
    erased.push(id);
    const erase = run.ctl.run("erase", "--phone", phone).catch((error) =>
      run.differences.push(String(error))
    );
    let isErased = false;
    const collide = async () => {
      for (let time = 0; !isErased; time += 1) await post(`other ${time}`, `erased ${index}`);
    };
    await Promise.all([erase.then(() => isErased = true), collide()]);
    run.count("erasure during collisions", 1);
    const keys = {
      "post after an erasure": "",
      "Idempotency-Key in Latin-1": `clé ${index}`,
      "Idempotency-Key in UTF-8": Buffer.from(`clé ${index}`).toString("latin1"),
    };
    for (const [what, key] of Object.entries(keys)) {
      kept.push({ what, id: await post(what, key) });
    }
  }
  await run.waitUntilDelivered();
  const rows = await run.read();
  const hasLead = (id: string) => (rowAt(rows, `event ${id}`).lead ?? null) !== null;
  const collided = rowsOf(rows, "collision").filter(({ raw }) => raw !== null).map(({ event_id: id }) => id);
  const isLeft = (id: string) => hasLead(id) || collided.includes(id);
  run.differences.push(...erased.filter(isLeft).map((id) => `${id} is not erased with its collisions`));
  for (const { what, id } of kept) {
    if (hasLead(id)) run.count(what, 1);
    else run.differences.push(`${what}: the lead is ${id === "" ? "not accepted" : "erased"}`);
  }
}

/** Erases people, including their pending and dead events, and removes expired content. */
export async function removeContent(run: OperatorRun): Promise<void> {
  await run.setDisabled(false);
  const { related } = run.callers;
  const start = await run.read();
  const isNorth = (id: string) => scopeOf(start, id).tenant === "north";
  // Events from related people, and more events of the tenant with a retention period.
  const sent = run.resendable(start);
  const chosen = [
    ...sent.slice(0, 2 * runsMin),
    ...sent.slice(2 * runsMin).filter(isNorth).slice(0, 2 * runsMin),
  ];
  await run.makeDead(chosen.filter((_, index) => index % 2 === 0));
  for (const id of chosen.filter((_, index) => index % 2 === 1)) {
    await run.ctl.run("lead", "send-again", id);
    await failEffects(run, id);
  }
  for (const email of related) {
    const before = await run.read();
    await run.ctl.run("erase", "--email", email);
    const matches = (row: Row) => containsEmail(row, email);
    // An event is erased with the collisions under its key, except those with another last name.
    const matchesCollision = (one: Row) => {
      const event = rowAt(before, `event ${one.event_id}`);
      const names = [one, event].map(({ lead }) => (lead as Row | null)?.last_name);
      return matches(one) || matches(event) && (names.includes(undefined) || names[0] === names[1]);
    };
    run.compare(
      "person.erase",
      before,
      await run.read(),
      expectedRemoval(before, "erasure", { matches, matchesCollision }),
    );
    run.count("person.erase", 1);
  }
  await eraseOthers(run);
  const removed = idsOf(await run.read(), "event", ({ removed_by: by }) => by === "erasure");
  const erased = removed.slice(0, runsMin);
  for (const words of [["form", "release"], ["form", "spam"], ["lead", "send-again"], ["dead", "replay"]]) {
    await run.expectRefusal(words, erased);
  }
  const days = Array.from({ length: runsMin }, (_, index) => String(retentionDays + runsMin - 1 - index));
  await run.apply("tenant.retention", days, ["tenant", "retention", "north", "--days"], () => [
    ["tenant north", { retention_days: retentionDays }],
  ]);
  // The clock steps below exceed the day for which the previous secret still signs.
  run.testEnv.sink.setSecret("north", run.rotatedSecret, "replaced");
  // Checks one hour before the newest events expire, and again after that.
  run.hasRemovedExpired = true;
  await expire(run, retentionDays * dayMs - hourMs);
  await expire(run, hourMs + minuteMs);
}

/** Raises a retention period, which keeps the events that were pending when they expired, and restores it. */
export async function raiseRetention(run: OperatorRun): Promise<void> {
  const { sql } = run.testEnv;
  run.count("event kept by a raised retention", (await sql`select from retention_deferred`).length);
  for (const days of [10 * retentionDays, retentionDays]) {
    await run.ctl.run("tenant", "retention", "north", "--days", String(days));
    await expire(run, 2 * hourMs, days);
  }
}

/** Erases leads of people without a collision by their phone number, and others by their event id. */
async function eraseOthers(run: OperatorRun): Promise<void> {
  const start = await run.read();
  const entries = rowsOf(start, "search_entry");
  const phoneOf = (id: string) => String((rowAt(start, `event ${id}`).lead as Row | null)?.phone);
  const isAlone = (id: string) => {
    // The search finds a foreign number of ten digits as +1 too, and an erasure by +1 rightly leaves it.
    const { phone } = rowAt(start, `search_entry ${id}`);
    const { kind, removed_at: removedAt } = rowAt(start, `event ${id}`);
    return /^\+1\d{10}$/.test(phoneOf(id)) && kind === "lead" && removedAt === null &&
      entries.filter((row) => row.phone === phone).length === 1 &&
      !rowsOf(start, "collision").some(({ event_id: of, accepted_event_id: own }) => of === id || own === id);
  };
  const alone = entries.map(({ ref }) => String(ref)).filter(isAlone).slice(0, 2 * runsMin);
  for (const [index, id] of alone.entries()) {
    const before = await run.read();
    await run.ctl.run("erase", ...(index < runsMin ? ["--phone", phoneOf(id)] : ["--event", id]));
    const matches = ({ event_id: of }: Row) => of === id;
    const changes = expectedRemoval(before, "erasure", { matches, matchesCollision: () => false });
    run.compare("erasing one lead", before, await run.read(), changes);
  }
  run.count("lead erased by its phone number or id", alone.length / 2);
}

/** Repeats posts whose content was removed, which must change nothing. */
export async function repeatRemoved(run: OperatorRun): Promise<void> {
  const before = await run.read();
  const removedPosts = run.callers.exchanges.filter((one) =>
    one.idempotencyKey !== null && one.response?.status === 202 &&
    typeof rowAt(before, `event ${acknowledgedId(one)}`).removed_by === "string"
  );
  const [leads, submissions] = [true, false].map((isLead) =>
    removedPosts.filter(({ kind }) => (kind === "lead") === isLead).slice(-runsMin)
  );
  const posts = [...leads ?? [], ...submissions ?? []];
  await run.callers.repeat(posts.map(({ kind, tenant, idempotencyKey, body, content, expected }) => ({
    kind: kind as PostKind,
    tenant,
    idempotencyKey,
    body,
    content: { name: content, expected, spell: () => body },
  })));
  run.count("post repeated after its removal", posts.length);
  run.compare("repeating removed posts", before, await run.read(), new Map());
}

/** Moves the clock, removes the content that has expired, and compares the rows. */
export async function expire(run: OperatorRun, stepMs: number, days = retentionDays): Promise<void> {
  const { sql } = run.testEnv;
  await moveClock(run.testEnv, stepMs);
  const before = await run.read();
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
  run.compare("retention", before, await run.read(), changes);
  run.count("event.expire", [...changes.keys()].filter((key) => key.startsWith("event ")).length);
}
