/** `ctl erase` */

import { type Person, personByEmail, personByPhone } from "#src/lead/person.ts";
import { readStates } from "#src/store/operator/events.ts";
import {
  type Candidate,
  type CollisionCandidate,
  type ErasedState,
  ErasureRun,
  findCandidates,
  findCollisionCandidates,
  findEvent,
  readCollisionsOf,
} from "#src/store/operator/erasure.ts";
import type { Pool } from "#src/store/pool.ts";
import { counted, firstOf } from "./terminal.ts";
import { type Command, type Input, Refused, type Reply, WrongUsage } from "./command.ts";

const idLengthMax = 100;
// A collision that arrives between reading and erasing means the event must be checked again.
const roundsMax = 100;
// No id sorts behind it.
const last = "g";

/** What a run has done, or would do. */
interface Report {
  readonly isDryRun: boolean;
  readonly erased: { readonly eventId: string; readonly state: ErasedState }[];
  collisions: number;
  /** Events with a text that mentions the person; they are left as they are. */
  readonly mentions: Set<string>;
  /** Collisions of erased events that are another person's. */
  readonly kept: string[];
  /** Of a person's erasure; ISO 8601, UTC. */
  endedAt: string | null;
}

const erase: Command = {
  words: "erase",
  options: {
    email: { value: "E", description: "everything of the person with this address, in any case" },
    phone: { value: "P", description: "everything of the person with this number, in any format" },
    event: { value: "ID", description: "one event, with all that was kept aside under its Idempotency-Key" },
    "dry-run": { description: "tell what would be erased, and change nothing" },
  },
  summary: "Erase a person: leads, submissions, bodies, what waits or is dead, collisions",
  notes: `With --email or --phone, an event belongs to the person if the address or number is a whole
value anywhere in it (any field, any member of extra or of a form), or part of its field email
or phone. Run the command for each address and number that the person has used. Ten bare digits
also match numbers stored as another country's; with +1 in front, only the North American one.

An event that contains it only in a longer text (another person's project_details, a message)
is not erased but listed under mentions: check it with ctl lead show, and erase it with --event
if it is about the person. A collision of an erased event is erased too, unless it has another
last name and nothing of the person's; then it is listed as kept.

What is counted stays: when and by which key each event came, its flags and its cost, attempts,
collisions. Nothing tells whose it was; the audit has counts and event ids. A late retry with the
same Idempotency-Key is still a duplicate and stores nothing; one without a key is a new lead.

Posts that have arrived when this ends are erased too, also those that are accepted after it
(up to half a minute later): they are answered as accepted, and nothing of them is delivered.
What arrives afterwards is a new lead. Stopped half-way or in doubt, run it again: it is done
when it says 0 events.

What was delivered stays at the customer's, and what is being sent at this moment may still
arrive there, once.
On the disk PostgreSQL overwrites what was deleted after its next VACUUM, in its WAL files
later; backups have it until they expire, and after a restore ctl restored erases again.`,
  prepare(input) {
    const given = ["email", "phone", "event"].filter((name) => input.option(name) !== undefined);
    if (given.length !== 1) throw new WrongUsage("Exactly one of --email, --phone and --event is needed");
    const isDryRun = input.has("dry-run");
    const eventId = input.option("event");
    if (eventId !== undefined) {
      // The text is not repeated: it may be an address that was pasted here.
      if (!/^[0-9a-z]+$/.test(eventId) || eventId.length > idLengthMax) {
        throw new WrongUsage("--event must be an event id, as ctl lead list shows it");
      }
      return (pool) => eraseOne(pool, eventId, isDryRun);
    }
    const person = personOf(input);
    return (pool) => erasePerson(pool, person, isDryRun);
  },
};

function personOf(input: Input): Person {
  const email = input.option("email");
  if (email !== undefined) {
    const person = personByEmail(email);
    if (person === null) {
      throw new WrongUsage("--email must be an address with one @; --event takes the rest");
    }
    return person;
  }
  const person = personByPhone(input.required("phone"));
  if (person === null) throw new WrongUsage("--phone must have seven digits or more; --event takes the rest");
  return person;
}

function newReport(isDryRun: boolean): Report {
  return { isDryRun, erased: [], collisions: 0, mentions: new Set(), kept: [], endedAt: null };
}

async function eraseOne(pool: Pool, eventId: string, isDryRun: boolean): Promise<Reply> {
  const found = await findEvent(pool, eventId);
  if (found === null) {
    throw new Refused(`There is no event ${eventId}; ctl lead list shows those there are`);
  }
  const report = newReport(isDryRun);
  if (isDryRun) {
    report.collisions = (await readCollisionsOf(pool, eventId)).length;
    if (found === "stored") {
      report.erased.push({ eventId, state: (await readStates(pool, [eventId]))[0] as ErasedState });
    }
    return reply(report);
  }
  const run = await ErasureRun.begin(pool, { subject: eventId, contacts: [] });
  const erased = await run.event(eventId, { seen: null, kept: [] });
  if (erased.kind === "erased") report.erased.push({ eventId, state: erased.state });
  // If no collision was checked, none can have arrived unchecked.
  if (erased.kind !== "changed") report.collisions = erased.collisions;
  await run.end();
  return reply(report);
}

async function erasePerson(pool: Pool, person: Person, isDryRun: boolean): Promise<Reply> {
  const report = newReport(isDryRun);
  const run = isDryRun ? null : await ErasureRun.begin(pool, { subject: null, contacts: person.contacts });
  const work = { person, run, report };
  // However many arrive meanwhile, and be they all the person's: each look has an end.
  await eraseEvents(pool, work, { from: "", upTo: run?.begunAt ?? last });
  if (run !== null) await eraseEvents(pool, work, { from: run.since, upTo: await run.watch() });
  await eraseCollisions(pool, work);
  if (run !== null) report.endedAt = await run.end();
  return reply(report);
}

/** What is the person's among the events after an id, and at least up to another one. */
async function eraseEvents(
  pool: Pool,
  work: Work,
  { from, upTo }: { readonly from: string; readonly upTo: string },
): Promise<void> {
  const { person, run, report } = work;
  const { pattern } = person;
  for (let after: string | null = from;;) {
    await run?.hold();
    const page: Awaited<ReturnType<typeof findCandidates>> = await findCandidates(pool, { after, pattern });
    for (const candidate of page.found) {
      const relation = person.relation(candidate.texts);
      await run?.hold();
      if (relation === "theirs") await eraseTheirs(pool, work, candidate);
      else if (relation === "mention") report.mentions.add(candidate.eventId);
    }
    if (page.edge === null || page.edge > upTo) return;
    after = page.edge;
  }
}

/** The parts of a run: without `run` nothing is changed. */
interface Work {
  readonly person: Person;
  readonly run: ErasureRun | null;
  readonly report: Report;
}

async function eraseTheirs(pool: Pool, work: Work, event: Candidate): Promise<void> {
  const { run, report } = work;
  const { eventId } = event;
  for (let round = 1; round <= roundsMax; round++) {
    const collisions = await readCollisionsOf(pool, eventId);
    const kept = collisions.filter((one) => isAnothers(work.person, event, one)).map(({ id }) => id);
    if (run === null) {
      report.erased.push({ eventId, state: (await readStates(pool, [eventId]))[0] as ErasedState });
      report.collisions += collisions.length - kept.length;
      report.kept.push(...kept);
      return;
    }
    const erased = await run.event(eventId, { seen: collisions.map(({ id }) => id), kept });
    if (erased.kind === "gone") return;
    if (erased.kind === "changed") continue;
    report.erased.push({ eventId, state: erased.state });
    report.collisions += erased.collisions;
    report.kept.push(...kept);
    return;
  }
  throw new Refused(`Event ${eventId} gets a new collision all the time; run it again`);
}

/** What is the person's among what was kept aside under other people's Idempotency-Keys. */
async function eraseCollisions(pool: Pool, { person, run, report }: Work): Promise<void> {
  const erased = new Set(report.erased.map(({ eventId }) => eventId));
  const { pattern } = person;
  for (let after: string | null = "0";;) {
    const page: Awaited<ReturnType<typeof findCollisionCandidates>> = await findCollisionCandidates(pool, {
      after,
      pattern,
    });
    await run?.hold();
    for (const collision of page.found) {
      await run?.hold();
      // With --dry-run they are still there, and counted already.
      if (run === null && erased.has(collision.eventId)) continue;
      const relation = person.relation(collision.texts);
      if (relation === "mention") report.mentions.add(collision.eventId);
      if (relation !== "theirs") continue;
      if (run === null || await run.collision(collision.id)) report.collisions += 1;
    }
    if (page.edge === null) break;
    after = page.edge;
  }
}

/** Another last name, and nothing of the person's: a lead that only has the Idempotency-Key in common. */
function isAnothers(person: Person, event: Candidate, collision: CollisionCandidate): boolean {
  const name = lastName(collision);
  const own = lastName(event);
  return name !== null && own !== null && name !== own && person.relation(collision.texts) === "none";
}

function lastName({ texts }: Candidate): string | null {
  const lead = texts.lead === null ? null : JSON.parse(texts.lead) as Record<string, unknown>;
  return typeof lead?.last_name === "string" ? lead.last_name.toLowerCase() : null;
}

function reply(report: Report): Reply {
  return {
    json: {
      dry_run: report.isDryRun,
      events: report.erased.length,
      collisions: report.collisions,
      erased: report.erased.map(({ eventId, state }) => ({ event_id: eventId, state })),
      mentions: [...report.mentions].sort(),
      kept_collisions: report.kept,
      ended_at: report.endedAt,
    },
    text: text(report),
  };
}

function text({ isDryRun, erased, collisions, mentions, kept, endedAt }: Report): string {
  const lines = [
    `${isDryRun ? "Would erase" : "Erased"} ${counted(erased.length, "event")} and ${
      counted(collisions, "collision")
    }${isDryRun ? "; nothing was changed" : ""}.`,
    ...firstOf(erased.map(({ eventId, state }) => `${eventId}  ${state}`)),
  ];
  if (erased.some(({ state }) => state === "sending")) {
    lines.push("What is being sent at this moment may still arrive downstream, once.");
  }
  if (erased.some(({ state }) => state === "delivered")) {
    lines.push(
      "What was delivered is with the customer too, such as in a CRM and an inbox: that is to be erased there.",
    );
  }
  if (mentions.size > 0) {
    lines.push(
      "Mentioned inside longer texts, and not erased; ctl lead show EVENT_ID, ctl erase --event EVENT_ID:",
      ...firstOf([...mentions].sort()),
    );
  }
  if (kept.length > 0) {
    lines.push(
      "Kept, as another person's under the same Idempotency-Key; ctl collision show ID:",
      ...firstOf(kept),
    );
  }
  if (endedAt !== null) {
    lines.push(`What had arrived by ${endedAt} goes as well; what arrives afterwards is a new lead.`);
  }
  return lines.join("\n");
}

/** The command; it has no verb. */
export const eraseCommands: readonly Command[] = [erase];
