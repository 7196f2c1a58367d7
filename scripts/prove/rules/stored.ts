/**
 * What is stored, against what clients were told.
 *
 * @module
 */

import { type Asked, type History, identityOf, isPost, namedEvent, type StoredEvent } from "../history.ts";
import { byId, differs, inWords, type Rule, seconds } from "./rule.ts";

const dayMs = 24 * 3_600_000;
const formWindowMs = 10 * 60_000;

/** The posts of one identity, and the events that they made. */
interface Matter {
  readonly posts: readonly Asked[];
  readonly events: readonly StoredEvent[];
}

/** Events are told apart as the contract says: by tenant and surface, then by key, or else by what was posted. */
function matters({ asked, tables }: History): Map<string, Matter> {
  const posts = asked.filter(isPost);
  const byIdentity = Map.groupBy(posts, identityOf);
  // Without a key an event belongs to whoever posted its body.
  const byBody = new Map(
    posts.filter(({ idempotencyKey }) => idempotencyKey === null)
      .map((one) => [`${one.tenant} ${one.body}`, identityOf(one)]),
  );
  const events = Map.groupBy(
    tables.events,
    ({ tenant, kind, idempotencyKey, raw }) =>
      idempotencyKey === null
        ? byBody.get(`${tenant} ${raw}`) ?? "nobody"
        : `${tenant} ${kind} key ${idempotencyKey}`,
  );
  return new Map(
    [...new Set([...byIdentity.keys(), ...events.keys()])]
      .map((id) => [id, { posts: byIdentity.get(id) ?? [], events: events.get(id) ?? [] }]),
  );
}

/** An answer that leaves open whether something was stored. */
const isOpen = ({ answer }: Asked) => answer === null || answer.status === 503;
const isAccepted = ({ answer }: Asked) => answer?.status === 202;

/** SPEC, What the service does: a 202 means the event is committed. */
export const storedOnce: Rule = {
  name: "stored",
  says:
    "each 202 is stored once, with the body byte for byte; nothing else is, but what got no answer or 503, and that once",
  broken: (history) => {
    const events = byId(history.tables.events);
    return [...matters(history)].flatMap(([identity, { posts, events: stored }]) => {
      if (posts.length === 0) {
        return stored.map(({ eventId }) => `${eventId} (${identity}) was posted by nobody`);
      }
      const found: string[] = [];
      for (const one of posts.filter(isAccepted)) {
        const event = events.get(namedEvent(one));
        if (event === undefined) found.push(`${inWords(one)}, and is not stored`);
        else if (event.raw !== one.body) found.push(`${inWords(one)}, and is stored with another body`);
      }
      const named = Map.groupBy(posts.filter(isAccepted), namedEvent);
      for (const [id, ofEvent] of named) {
        if (ofEvent.length > 1) found.push(`${id} was accepted ${ofEvent.length} times`);
      }
      found.push(...tooMany(identity, { posts, events: stored }));
      for (const event of stored) {
        const could = posts.filter((one) =>
          isAccepted(one) ? namedEvent(one) === event.eventId : isOpen(one)
        );
        if (could.length === 0) {
          found.push(`${event.eventId} (${identity}) is stored, and every answer was another`);
        } else if (!could.some(({ body }) => body === event.raw)) {
          found.push(`${event.eventId} has a body that nobody posted`);
        }
      }
      return found;
    });
  },
};

/** One event, or one in each window where the content decides. */
function tooMany(identity: string, { events }: Matter): string[] {
  const times = events.map(({ receivedAtMs }) => receivedAtMs).toSorted((a, b) => a - b);
  const windowMs = identity.includes(" key ") ? Infinity : identity.includes(" form ") ? formWindowMs : dayMs;
  return times.slice(1).flatMap((at, index) =>
    at - (times[index] as number) < windowMs ? [`${identity} is stored ${events.length} times`] : []
  );
}

/** SPEC, States and transitions. */
export const duplicatesName: Rule = {
  name: "duplicates",
  says:
    "each 200 names the event of the same tenant and Idempotency-Key, or of the same content within its window",
  broken: (history) => {
    const all = byId(history.tables.events);
    return [...matters(history)].flatMap(([identity, { posts, events }]) => {
      const own = new Set(events.map(({ eventId }) => eventId));
      const windowMs = identity.includes(" key ")
        ? Infinity
        : identity.includes(" form ")
        ? formWindowMs
        : dayMs;
      return posts.filter(({ answer }) => answer?.status === 200).flatMap((one) => {
        const id = namedEvent(one);
        if (!own.has(id)) {
          const other = all.get(id);
          const whose = other === undefined ? "an event that is not stored" : `an event of ${other.tenant}`;
          return [`${inWords(one)}, naming ${id}, ${whose}`];
        }
        const ageMs = databaseTime(history, one.sentAtMs) - (all.get(id)?.receivedAtMs ?? 0);
        // A second for clocks that are read at different moments.
        return ageMs > windowMs + 1_000
          ? [`${inWords(one)}, naming ${id}, ${Math.round(ageMs / 3_600_000)} h old`]
          : [];
      });
    });
  },
};

/** The database's clock at a time of the history, at the least. */
function databaseTime({ clockSteps }: History, atMs: number): number {
  const passed = clockSteps.filter(({ toMs }) => toMs <= atMs).reduce((sum, { stepMs }) => sum + stepMs, 0);
  return performance.timeOrigin + atMs + passed;
}

/** SPEC, Lead envelope: normalization. */
export const normalized: Rule = {
  name: "content",
  says: "the stored lead is the posted one, normalized as the contract says",
  broken: (history) =>
    [...matters(history).values()].flatMap(({ posts, events }) =>
      events.flatMap((event) => {
        const post = posts.find(({ body }) => body === event.raw);
        return post === undefined ? [] : wrongFields(post, event);
      })
    ),
};

function wrongFields({ expected, body }: Asked, event: StoredEvent): string[] {
  let lead: Record<string, unknown>;
  try {
    lead = JSON.parse(event.lead);
  } catch {
    return [`${event.eventId} has no lead`];
  }
  const wrong = Object.entries(expected)
    .filter(([field, value]) => differs(lead[field] ?? (field === "website" ? value : undefined), value))
    .map(([field]) => `${event.eventId}: ${field} is not what was posted`);
  const preserved = /"(crm_[a-z0-9]+)":\s*"12345678901234567890"/.exec(body);
  const isKept = preserved === null || (event.extra ?? "").includes(`"${preserved[1]}"`);
  return isKept ? wrong : [...wrong, `${event.eventId}: ${preserved?.[1]} is not preserved`];
}

/** SPEC, Lead acknowledgement: ids sort by acceptance. */
export const sorted: Rule = {
  name: "order",
  says: "event ids sort by acceptance: what was answered before another was sent has the smaller id",
  broken: ({ asked, tables }) => {
    const found: string[] = [];
    const accepted = asked.filter((one) => isPost(one) && isAccepted(one));
    const bySent = accepted.toSorted((a, b) => a.sentAtMs - b.sentAtMs);
    const byDone = accepted.toSorted((a, b) => a.doneAtMs - b.doneAtMs);
    let newest = "";
    let next = 0;
    for (const one of bySent) {
      for (; next < byDone.length && (byDone[next] as Asked).doneAtMs < one.sentAtMs; next += 1) {
        const id = namedEvent(byDone[next] as Asked);
        if (id > newest) newest = id;
      }
      if (namedEvent(one) < newest) {
        found.push(`${inWords(one)} as ${namedEvent(one)}, after ${newest} had been answered`);
      }
    }
    let last = Number.NEGATIVE_INFINITY;
    for (
      const { eventId, receivedAtMs } of tables.events.toSorted((a, b) => a.eventId < b.eventId ? -1 : 1)
    ) {
      if (receivedAtMs < last) found.push(`${eventId} sorts behind what was accepted later`);
      last = Math.max(last, receivedAtMs);
    }
    return found;
  },
};

/** SPEC, What the service does: no 202 that is not on disk. */
export const noFalseAnswer: Rule = {
  name: "promise",
  says: "while no commit can be confirmed, nobody is told that one was",
  broken: ({ asked, happened }) => {
    const spans = happened.flatMap(({ kind, noCommit }) => noCommit === null ? [] : [{ kind, ...noCommit }]);
    return asked.flatMap((one) => {
      if (!isPost(one) || one.answer === null || one.answer.status > 202) return [];
      const span = spans.find(({ fromMs, toMs }) => one.sentAtMs > fromMs && one.doneAtMs < toMs);
      return span === undefined
        ? []
        : [`${inWords(one)}, during ${span.kind} from ${seconds(span.fromMs)} on`];
    });
  },
};

/** DECISIONS, The intake endpoint (same key, other lead). */
export const collisionsKept: Rule = {
  name: "collisions",
  says: "another lead under a used Idempotency-Key is kept aside, and the same lead spelled otherwise is not",
  broken: (history) => {
    const kept = Map.groupBy(history.tables.collisions, ({ eventId }) => eventId);
    return [...matters(history)].flatMap(([identity, { posts, events }]) => {
      const [event] = events;
      if (event === undefined || !identity.includes(" key ") || event.kind === "form") return [];
      const own = posts.find(({ body }) => body === event.raw)?.content;
      const others = posts.filter(({ content }) => content !== own);
      const answered = new Set(
        others.filter(({ answer }) => answer?.status === 200).map(({ content }) => content),
      );
      const maybe = new Set(others.map(({ content }) => content));
      const rows = kept.get(event.eventId) ?? [];
      return rows.length < answered.size || rows.length > maybe.size
        ? [`${event.eventId} has ${rows.length} collisions, of ${answered.size} to ${maybe.size}`]
        : [];
    });
  },
};
