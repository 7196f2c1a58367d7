/** Defines `ctl erase`. */

import { type Person, personByEmail, personByPhone } from "#src/lead/person.ts";
import { readEvents, readStates } from "#src/store/operator/events.ts";
import {
  type Candidate,
  type CollisionCandidate,
  type ErasedState,
  ErasureRun,
  findCandidates,
  findCollisionCandidates,
  readCollisionsOf,
} from "#src/store/operator/erasure.ts";
import { erasePosts } from "#src/store/operator/post_log.ts";
import type { Pool } from "#src/store/pool.ts";
import { counted, firstOf } from "./terminal.ts";
import { parseEventId } from "./values.ts";
import { type Command, type Input, Refused, type Reply, UsageError } from "./command.ts";

// A round repeats if a collision arrived between reading the event's collisions and erasing the event.
const roundsMax = 100;
// Sorts after every id, because ids are hexadecimal.
const afterAllIds = "g";

/** The result of a run; in a dry run, what the result would be. */
interface Report {
  readonly isDryRun: boolean;
  readonly erased: { readonly eventId: string; readonly state: ErasedState }[];
  collisions: number;
  /** Refused posts in the post log with the person's address or number in the Idempotency-Key or request id. */
  posts: number;
  /** Events whose text mentions the person; they are not erased. */
  readonly mentions: Set<string>;
  /** Collisions of erased events that are not erased, because they belong to another person. */
  readonly kept: string[];
  /** When the erasure of a person ended, ISO 8601, UTC; `null` for one event and in a dry run. */
  endedAt: string | null;
}

const erase: Command = {
  words: "erase",
  options: {
    email: { value: "E", description: "everything from the person with this address, ignoring case" },
    phone: { value: "P", description: "everything from the person with this number, in any format" },
    event: { value: "ID", description: "one event, with all collisions under its Idempotency-Key" },
    "dry-run": { description: "show what would be erased without changing anything" },
  },
  summary: "Erase a person: leads, submissions, bodies, waiting and dead events, collisions",
  notes: `With --email or --phone, an event belongs to the person if any value in it (any field, any member
of extra or of a form) equals the address or number, or if its email or phone field contains it.
Run the command for each address and number that the person has used. Ten bare digits also match
the same digits in leads from other countries; with a leading +1, those are only listed as mentions.

An event that contains it only in a longer text (another person's project_details, a message), or
only a value whose digits end in the number (03035554562), is not erased but listed under mentions:
check it with ctl lead show, and erase it with --event if it is about the person. A collision of an
erased event is erased too, unless it has another last name and no data of the person; then it is
listed as kept.

The log of posts that made no event has no content. The Idempotency-Key and request id are removed
from its rows for erased events, and from rows in which one of the two contains the address or number.

The data for statistics stays: when and with which key each event arrived, its flags, cost, attempts
and collisions. It does not identify the person; the audit has counts and event ids. A late retry with
the same Idempotency-Key is still a duplicate and stores nothing; one without a key is a new lead.

With --email or --phone, posts that have arrived when the command ends are erased too, even if they
are accepted up to half a minute later: their senders get a 202, but nothing is delivered. Posts that
arrive afterwards are new leads. If the command is interrupted, or if you are in doubt, run it again
until it reports 0 events.

Delivered leads stay with the customer, and an event that is being sent at this moment may still
arrive there, once. Backups contain the data until they expire; after a restore, ctl restored erases
it again. For all that remains, see "What remains after an erasure" in docs/operating.md.`,
  prepare(input) {
    const given = ["email", "phone", "event"].filter((name) => input.option(name) !== undefined);
    if (given.length !== 1) throw new UsageError("Give exactly one of --email, --phone and --event");
    const isDryRun = input.has("dry-run");
    const text = input.option("event");
    const eventId = text === undefined ? text : parseEventId(text, "--event");
    if (eventId !== undefined) return (pool) => eraseOne(pool, eventId, isDryRun);
    const person = parsePerson(input);
    return (pool) => erasePerson(pool, person, isDryRun);
  },
};

function parsePerson(input: Input): Person {
  const email = input.option("email");
  if (email !== undefined) {
    const person = personByEmail(email);
    if (person === null) {
      throw new UsageError("--email must be an address with one @; for anything else, use --event");
    }
    return person;
  }
  const person = personByPhone(input.required("phone"));
  if (person === null) {
    throw new UsageError("--phone must have at least seven digits; for anything else, use --event");
  }
  return person;
}

function newReport(isDryRun: boolean): Report {
  return { isDryRun, erased: [], collisions: 0, posts: 0, mentions: new Set(), kept: [], endedAt: null };
}

async function eraseOne(pool: Pool, eventId: string, isDryRun: boolean): Promise<Reply> {
  const [event] = await readEvents(pool, [eventId], { withRaw: false });
  if (!event) throw new Refused(`There is no event ${eventId}; see ctl lead list`);
  const report = newReport(isDryRun);
  if (isDryRun) {
    report.collisions = (await readCollisionsOf(pool, eventId)).length;
    if (event.lead !== null) report.erased.push({ eventId, state: event.state as ErasedState });
    return reply(report);
  }
  const run = await ErasureRun.start(pool, { subject: eventId, contacts: [] });
  const erased = await run.eraseEvent(eventId, { reviewed: null, kept: [] });
  if (erased.kind === "erased") report.erased.push({ eventId, state: erased.state });
  // The kind cannot be "changed" here, because `reviewed: null` compares no collisions.
  if (erased.kind !== "changed") report.collisions = erased.collisions;
  await run.end();
  return reply(report);
}

async function erasePerson(pool: Pool, person: Person, isDryRun: boolean): Promise<Reply> {
  const report = newReport(isDryRun);
  const run = isDryRun ? null : await ErasureRun.start(pool, { subject: null, contacts: person.contacts });
  const erasure = { person, run, report };
  // Each pass has an upper bound, so it ends no matter how many events arrive in the meantime.
  await eraseEvents(pool, erasure, { from: "", upTo: run?.startId ?? afterAllIds });
  if (run !== null) await eraseEvents(pool, erasure, { from: run.rescanAfterId, upTo: await run.watch() });
  await eraseCollisions(pool, erasure);
  const { pattern } = person;
  report.posts = await (run?.erasePosts(pattern) ?? erasePosts(pool, { pattern, isDryRun: true }));
  if (run !== null) report.endedAt = await run.end();
  return reply(report);
}

/** Erases the person's events after the id `from`, at least up to `upTo`, and records mentions. */
async function eraseEvents(
  pool: Pool,
  erasure: Erasure,
  { from, upTo }: { readonly from: string; readonly upTo: string },
): Promise<void> {
  const { person, run, report } = erasure;
  const { pattern } = person;
  for (let after: string | null = from;;) {
    await run?.renewWatch();
    const page: Awaited<ReturnType<typeof findCandidates>> = await findCandidates(pool, { after, pattern });
    for (const candidate of page.found) {
      const relation = person.relation(candidate.texts);
      await run?.renewWatch();
      if (relation === "contact") await eraseWithCollisions(pool, erasure, candidate);
      else if (relation === "mention") report.mentions.add(candidate.eventId);
    }
    if (page.edge === null || page.edge > upTo) return;
    after = page.edge;
  }
}

/** The state of an erasure; `run` is `null` in a dry run. */
interface Erasure {
  readonly person: Person;
  readonly run: ErasureRun | null;
  readonly report: Report;
}

async function eraseWithCollisions(pool: Pool, erasure: Erasure, event: Candidate): Promise<void> {
  const { run, report } = erasure;
  const { eventId } = event;
  for (let round = 1; round <= roundsMax; round++) {
    const collisions = await readCollisionsOf(pool, eventId);
    const kept = collisions.filter((one) => isFromOther(erasure.person, event, one)).map(({ id }) => id);
    if (run === null) {
      report.erased.push({ eventId, state: (await readStates(pool, [eventId]))[0] as ErasedState });
      report.collisions += collisions.length - kept.length;
      report.kept.push(...kept);
      return;
    }
    const erased = await run.eraseEvent(eventId, { reviewed: collisions.map(({ id }) => id), kept });
    if (erased.kind === "gone") return;
    if (erased.kind === "changed") continue;
    report.erased.push({ eventId, state: erased.state });
    report.collisions += erased.collisions;
    report.kept.push(...kept);
    return;
  }
  throw new Refused(`Event ${eventId} keeps getting new collisions; run the command again`);
}

/** Erases the person's remaining collisions, which are those with other people's events. */
async function eraseCollisions(pool: Pool, { person, run, report }: Erasure): Promise<void> {
  const erased = new Set(report.erased.map(({ eventId }) => eventId));
  const { pattern } = person;
  for (let after: string | null = "0";;) {
    const page: Awaited<ReturnType<typeof findCollisionCandidates>> = await findCollisionCandidates(pool, {
      after,
      pattern,
    });
    await run?.renewWatch();
    for (const collision of page.found) {
      await run?.renewWatch();
      // A dry run has already counted the collisions of these events.
      if (run === null && erased.has(collision.eventId)) continue;
      const relation = person.relation(collision.texts);
      if (relation === "mention") report.mentions.add(collision.eventId);
      if (relation !== "contact") continue;
      if (run === null || await run.eraseCollision(collision.id)) report.collisions += 1;
    }
    if (page.edge === null) break;
    after = page.edge;
  }
}

/** Whether a collision shares only the Idempotency-Key: it has another last name and none of the person's data. */
function isFromOther(person: Person, event: Candidate, collision: CollisionCandidate): boolean {
  const name = lastName(collision);
  const eventName = lastName(event);
  return name !== null && eventName !== null && name !== eventName &&
    person.relation(collision.texts) === "none";
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
      posts: report.posts,
      erased: report.erased.map(({ eventId, state }) => ({ event_id: eventId, state })),
      mentions: [...report.mentions].sort(),
      kept_collisions: report.kept,
      ended_at: report.endedAt,
    },
    text: reportText(report),
  };
}

function reportText({ isDryRun, erased, collisions, posts, mentions, kept, endedAt }: Report): string {
  const lines = [
    `${isDryRun ? "Would erase" : "Erased"} ${counted(erased.length, "event")} and ${
      counted(collisions, "collision")
    }${isDryRun ? "; nothing was changed" : ""}.`,
    ...firstOf(erased.map(({ eventId, state }) => `${eventId}  ${state}`)),
  ];
  if (erased.some(({ state }) => state === "sending")) {
    lines.push("Events that are being sent at this moment may still arrive at the customer, once.");
  }
  if (erased.some(({ state }) => state === "delivered")) {
    lines.push(
      "The customer has the delivered events too, such as in a CRM and an inbox: erase them there.",
    );
  }
  if (posts > 0) {
    lines.push(
      `${isDryRun ? "Would erase" : "Erased"} the Idempotency-Key and request id of ${
        counted(posts, "refused post")
      }.`,
    );
  }
  if (mentions.size > 0) {
    lines.push(
      "Not erased, because they mention the person only in a longer text or may mean another number; check them with ctl lead show EVENT_ID:",
      ...firstOf([...mentions].sort()),
    );
  }
  if (kept.length > 0) {
    lines.push(
      "Not erased, because they have another person's data under the same Idempotency-Key; check them with ctl collision show ID:",
      ...firstOf(kept),
    );
  }
  if (endedAt !== null) {
    lines.push(`Posts that had arrived by ${endedAt} are erased too; later ones are new leads.`);
  }
  return lines.join("\n");
}

export const eraseCommands: readonly Command[] = [erase];
