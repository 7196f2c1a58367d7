/**
 * What is stored, against what clients were told.
 *
 * @module
 */

import { type Asked, type History, isPost, namedEvent, type StoredEvent } from "../history.ts";
import { byId, differs, inWords, type Rules, seconds, withoutCommit } from "./rule.ts";

/** The posts of one identity, and the events that they made. */
interface Matter {
  readonly identity: string;
  readonly posts: readonly Asked[];
  readonly events: readonly StoredEvent[];
  /** Within which a post counts as a repeat. */
  readonly windowMs: number;
}

/** What makes a post a repeat: its Idempotency-Key, or else its content; each tenant and surface has its own. */
function identityOf({ what, tenant, idempotencyKey, content }: Asked): string {
  const kind = what === "lead" ? "lead" : "form";
  return `${tenant} ${kind} ${idempotencyKey === null ? `content ${content}` : `key ${idempotencyKey}`}`;
}

function matters({ asked, tables }: History): Matter[] {
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
  return [...new Set([...byIdentity.keys(), ...events.keys()])].map((identity) => ({
    ...{ identity, posts: byIdentity.get(identity) ?? [], events: events.get(identity) ?? [] },
    windowMs: identity.includes(" key ")
      ? Infinity
      : identity.includes(" form ")
      ? 10 * 60_000
      : 24 * 3_600_000,
  }));
}

/** An answer that leaves open whether something was stored. */
const isOpen = ({ answer }: Asked) => answer === null || answer.status === 503;
const isAccepted = ({ answer }: Asked) => answer?.status === 202;

/** The rules. */
export const storeRules: Rules = {
  /**
   * SPEC, What the service does: each 202 is stored once, with the body byte for byte; nothing else is, but what got no
   * answer or 503, and that once.
   */
  stored: (history) => {
    const all = byId(history);
    return matters(history).flatMap(({ identity, posts, events, windowMs }) => {
      if (posts.length === 0) return events.map(({ eventId }) => `${eventId} was posted by nobody`);
      const accepted = posts.filter(isAccepted);
      const times = events.map(({ receivedAtMs }) => receivedAtMs).toSorted((a, b) => a - b);
      return [
        ...accepted.filter((one) => all.get(namedEvent(one))?.raw !== one.body)
          .map((one) => `${inWords(one)}, and is not stored as it was posted`),
        ...[...Map.groupBy(accepted, namedEvent)].filter(([, ofEvent]) => ofEvent.length > 1)
          .map(([id, ofEvent]) => `${id} was accepted ${ofEvent.length} times`),
        ...times.slice(1).filter((at, index) => at - (times[index] as number) < windowMs)
          .map(() => `${identity} is stored ${events.length} times`),
        ...events.flatMap(({ eventId, raw }) => {
          const could = posts.filter((one) => isAccepted(one) ? namedEvent(one) === eventId : isOpen(one));
          if (could.length === 0) return [`${eventId} (${identity}) is stored, and every answer was another`];
          return could.some(({ body }) => body === raw) ? [] : [`${eventId} has a body that nobody posted`];
        }),
      ];
    });
  },

  /** SPEC, What the service does: while no commit can be confirmed, nobody is told that one was. */
  promise: (history) => {
    const spans = withoutCommit(history);
    return history.asked.flatMap((one) => {
      if (!isPost(one) || one.answer === null || one.answer.status > 202) return [];
      const span = spans.find(({ fromMs, toMs }) => one.sentAtMs > fromMs && one.doneAtMs < toMs);
      return span === undefined
        ? []
        : [`${inWords(one)}, during ${span.kind} from ${seconds(span.fromMs)} on`];
    });
  },

  /** SPEC, States and transitions: each 200 names the event of the same tenant and key, or of the same content in its window. */
  duplicates: (history) =>
    matters(history).flatMap(({ posts, events, windowMs }) =>
      posts.filter(({ answer }) => answer?.status === 200).flatMap((one) => {
        const id = namedEvent(one);
        const event = events.find(({ eventId }) => eventId === id);
        if (event === undefined) return [`${inWords(one)}, naming ${id}, which is another's or not stored`];
        const ageMs = databaseTime(history, one.sentAtMs) - event.receivedAtMs;
        // A second for clocks that are read at different moments.
        return ageMs > windowMs + 1_000
          ? [`${inWords(one)}, naming ${id}, ${Math.round(ageMs / 3_600_000)} h old`]
          : [];
      })
    ),

  /** DECISIONS, The intake endpoint: another lead under a used key is kept aside; the same lead spelled otherwise is not. */
  collisions: (history) =>
    matters(history).flatMap(({ identity, posts, events: [event] }) => {
      if (event === undefined || !identity.includes(" key ") || event.kind === "form") return [];
      const own = posts.find(({ body }) => body === event.raw)?.content;
      const others = posts.filter(({ content }) => content !== own);
      const count = (some: readonly Asked[]) => new Set(some.map(({ content }) => content)).size;
      const least = count(others.filter(({ answer }) => answer?.status === 200));
      const rows = history.tables.collisions.filter(({ eventId }) => eventId === event.eventId).length;
      return rows < least || rows > count(others)
        ? [`${event.eventId} has ${rows} collisions, of ${least} to ${count(others)}`]
        : [];
    }),

  /** SPEC, Lead envelope: the stored lead is the posted one, normalized as the contract says. */
  content: (history) =>
    matters(history).flatMap(({ posts, events }) =>
      events.flatMap((event) => {
        const post = posts.find(({ body }) => body === event.raw);
        return post === undefined ? [] : wrongFields(post, event);
      })
    ),

  /** SPEC, Lead acknowledgement: event ids sort by acceptance. */
  order: ({ asked, tables }) => {
    const found: string[] = [];
    const accepted = asked.filter((one) => isPost(one) && isAccepted(one));
    const byDone = accepted.toSorted((a, b) => a.doneAtMs - b.doneAtMs);
    let newest = "";
    let next = 0;
    for (const one of accepted.toSorted((a, b) => a.sentAtMs - b.sentAtMs)) {
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

/** The database's clock at a time of the history, at the least. */
function databaseTime({ clockSteps }: History, atMs: number): number {
  const passed = clockSteps.filter(({ toMs }) => toMs <= atMs).reduce((sum, { stepMs }) => sum + stepMs, 0);
  return performance.timeOrigin + atMs + passed;
}

function wrongFields({ expected }: Asked, event: StoredEvent): string[] {
  let lead: Record<string, unknown>;
  try {
    lead = JSON.parse(event.lead);
  } catch {
    return [`${event.eventId} has no lead`];
  }
  const { flags, extra, ...fields } = expected;
  const isLead = event.kind === "lead";
  const lastName = String(lead.last_name).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const found = isLead
    ? [lead.phone, lead.email ?? null, lastName]
    : [null, expected.email, String(expected.name).split(" ").at(-1)?.toLowerCase()];
  const wrong = Object.entries(fields)
    .filter(([field, value]) => differs(lead[field] ?? (field === "website" ? value : undefined), value))
    .map(([field]) => `${event.eventId}: ${field} is not what was posted`);
  const others: Readonly<Record<string, boolean>> = {
    flags: isLead && differs(event.flags, flags),
    extra: isLead && (event.extra ?? "{}").replaceAll(/\s/g, "") !== extra,
    "what the search finds it by": differs([event.phone, event.email, event.lastName], found),
  };
  return [
    ...wrong,
    ...Object.entries(others).filter(([, isWrong]) => isWrong)
      .map(([what]) => `${event.eventId}: ${what} is not what was posted`),
  ];
}
