/**
 * What is stored, against what clients were told.
 *
 * @module
 */

import {
  type Asked,
  type History,
  isPost,
  namedEvent,
  type PostKind,
  type StoredEvent,
  verdicts,
} from "../history.ts";
import { byId, databaseTime, differs, inWords, type Rules, seconds, withoutCommit } from "./rule.ts";

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
        ...accepted.filter((one) => {
          const { raw, keyId, idempotencyKey } = all.get(namedEvent(one)) ?? {};
          return raw !== one.body || keyId !== one.keyId || idempotencyKey !== one.idempotencyKey;
        }).map((one) => `${inWords(one)}, and is not stored as it was posted`),
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

  /** DECISIONS, The intake endpoint: other content under a used key is kept aside; the same spelled otherwise is not. */
  collisions: (history) =>
    matters(history).flatMap(({ identity, posts, events: [event] }) => {
      if (event === undefined || !identity.includes(" key ")) return [];
      const own = posts.find(({ body }) => body === event.raw)?.content;
      const others = Map.groupBy(posts.filter(({ content }) => content !== own), ({ content }) => content);
      const rows = history.tables.collisions.filter(({ eventId }) => eventId === event.eventId);
      const aside = rows.map((row) => ({ row, post: posts.find(({ body }) => body === row.raw) }));
      const wrong = aside.flatMap(({ row, post }) => {
        if (post === undefined || post.content === own) {
          return [`${event.eventId} has a collision that nobody posted`];
        }
        const by = others.get(post.content)?.some(({ keyId, body }) =>
          keyId === row.keyId && body === row.raw
        );
        return [
          ...wrongFields(post, row),
          ...(by ? [] : [`${event.eventId} has a collision of another key`]),
        ];
      });
      for (const [content, all] of others) {
        const least = all.filter(({ answer }) => answer?.status === 200).length;
        const most = all.filter((one) => one.answer?.status === 200 || isOpen(one)).length;
        const count = aside.find(({ post }) => post?.content === content)?.row.count ?? 0;
        if (count < least || count > most) {
          wrong.push(`${event.eventId} has ${content} aside ${count} times, of ${least} to ${most}`);
        }
      }
      return wrong;
    }),

  /** SPEC, Lead envelope: the stored lead is the posted one, normalized as the contract says. */
  content: (history) =>
    matters(history).flatMap(({ posts, events }) =>
      events.flatMap((event) => {
        const post = posts.find(({ body }) => body === event.raw);
        return post === undefined ? [] : [...wrongFields(post, event), ...wrongPerson(post, event)];
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

/** What of the content is not as it was posted, and flags. */
function wrongFields(
  { expected, what }: Asked,
  row: Pick<StoredEvent, "eventId" | "lead" | "extra" | "flags">,
): string[] {
  const { flags, extra, ...fields } = expected;
  const lead = JSON.parse(row.lead || "{}");
  const is = { ...lead, flags: row.flags, extra: (row.extra ?? "{}").replaceAll(/\s/g, "") };
  const wanted: Record<string, unknown> = { ...fields, flags, extra };
  return [...new Set([...Object.keys(is), ...Object.keys(wanted)])].filter((name) =>
    differs(is[name], wanted[name])
  )
    .map((name) =>
      `${row.eventId} (${what}): ${name} is ${JSON.stringify(is[name])} and not ${
        JSON.stringify(wanted[name])
      }`
    );
}

/** What is found of it, and whom the search finds it by. */
function wrongPerson({ expected, what }: Asked, event: StoredEvent): string[] {
  const { phone, email, last_name: last = String(expected.name).split(" ").at(-1) } = expected;
  const lastName = String(last).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const normalized = what === "lead" || phone === undefined ? phone : `+1${phone}`;
  const pairs = {
    person: [[event.phone, event.email, event.lastName], [normalized ?? null, email ?? null, lastName]],
    verdict: [event.verdict, verdicts[what as PostKind]],
    reason: [
      event.reasons?.some((reason) => /honeypot|blocked/.test(reason)) ?? null,
      what === "lead" ? null : what !== "form",
    ],
  };
  return Object.entries(pairs).filter(([, [is, wanted]]) => differs(is, wanted))
    .map(([name, [is]]) => `${event.eventId} (${what}): ${name} is ${JSON.stringify(is)}`);
}
