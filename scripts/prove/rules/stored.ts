/**
 * Rules that compare stored events with clients' requests and responses.
 *
 * @module
 */

import {
  acknowledgedId,
  type Exchange,
  type History,
  isPost,
  type PostKind,
  type StoredEvent,
  verdicts,
} from "../history.ts";
import {
  byId,
  databaseTime,
  describe,
  differences,
  type Rules,
  seconds,
  spansWithoutCommit,
} from "./rule.ts";

/** The posts with one identity, and the events stored under it. */
interface IdentityGroup {
  readonly identity: string;
  readonly posts: readonly Exchange[];
  readonly events: readonly StoredEvent[];
  /** The time after an event in which a post with its identity counts as a repeat. */
  readonly windowMs: number;
}

/** Returns what repeats have in common: tenant, surface, and Idempotency-Key or else content. */
function identityOf({ kind, tenant, idempotencyKey, content }: Exchange): string {
  const surface = kind === "lead" ? "lead" : "form";
  return `${tenant} ${surface} ${idempotencyKey === null ? `content ${content}` : `key ${idempotencyKey}`}`;
}

/** Returns the key of the form to which a submission was posted, or `null` for a lead. */
const formKeyOf = ({ kind, expected }: Exchange): string | null =>
  kind === "lead" ? null : JSON.parse(String(expected.extra)).form_key;

function identityGroups({ exchanges, tables }: History): IdentityGroup[] {
  const posts = exchanges.filter(isPost);
  const byIdentity = Map.groupBy(posts, identityOf);
  // An event without an Idempotency-Key belongs to the post with the same body.
  const byBody = new Map(
    posts.filter(({ idempotencyKey }) => idempotencyKey === null)
      .map((one) => [`${one.tenant} ${formKeyOf(one)} ${one.body}`, identityOf(one)]),
  );
  const events = Map.groupBy(
    tables.events,
    ({ tenant, kind, idempotencyKey, form, raw }) =>
      idempotencyKey === null
        ? byBody.get(`${tenant} ${form} ${raw}`) ?? "nobody"
        : `${tenant} ${kind} key ${idempotencyKey}`,
  );
  return [...new Set([...byIdentity.keys(), ...events.keys()])].map((identity) => ({
    identity,
    posts: byIdentity.get(identity) ?? [],
    events: events.get(identity) ?? [],
    windowMs: identity.includes(" key ")
      ? Infinity
      : identity.includes(" form ")
      ? 10 * 60_000
      : 24 * 3_600_000,
  }));
}

/** Whether the post may have been stored or not, because it got 503 or no response. */
const isOpen = ({ response }: Exchange) => response === null || response.status === 503;
const isAccepted = ({ response }: Exchange) => response?.status === 202;

export const storeRules: Rules = {
  /**
   * SPEC, What the service does: each post that got 202 is stored once, byte for byte. A post that got 503 or no response may be
   * stored once; nothing else is.
   */
  stored: (history) => {
    const all = byId(history);
    return identityGroups(history).flatMap(({ identity, posts, events, windowMs }) => {
      if (posts.length === 0) return events.map(({ eventId }) => `${eventId} is stored, but was not posted`);
      const accepted = posts.filter(isAccepted);
      const times = events.map(({ receivedAtMs }) => receivedAtMs).toSorted((a, b) => a - b);
      return [
        ...accepted.filter((one) => {
          const { raw, keyId, idempotencyKey } = all.get(acknowledgedId(one)) ?? {};
          return raw !== one.body || keyId !== one.keyId || idempotencyKey !== one.idempotencyKey;
        }).map((one) => `${describe(one)}, but is not stored as posted`),
        ...[...Map.groupBy(accepted, acknowledgedId)].filter(([, ofEvent]) => ofEvent.length > 1)
          .map(([id, ofEvent]) => `${id} was accepted ${ofEvent.length} times`),
        ...times.slice(1).filter((at, index) => at - (times[index] as number) < windowMs)
          .map(() => `${identity} is stored ${events.length} times`),
        ...events.flatMap(({ eventId, raw }) => {
          const allows = (one: Exchange) => isAccepted(one) ? acknowledgedId(one) === eventId : isOpen(one);
          const candidates = posts.filter(allows);
          if (candidates.length === 0) {
            return [`${eventId} (${identity}) is stored, but no response allows that`];
          }
          return candidates.some(({ body }) => body === raw)
            ? []
            : [`${eventId} has a body that was not posted`];
        }),
      ];
    });
  },

  /** SPEC, What the service does: while no commit can be confirmed, none is acknowledged. */
  promise: (history) => {
    const spans = spansWithoutCommit(history);
    return history.exchanges.flatMap((one) => {
      if (!isPost(one) || one.response === null || one.response.status > 202) return [];
      const span = spans.find(({ fromMs, toMs }) => one.sentAtMs > fromMs && one.doneAtMs < toMs);
      return span === undefined
        ? []
        : [`${describe(one)}, during ${span.kind}, which started at ${seconds(span.fromMs)}`];
    });
  },

  /** SPEC, States and transitions: each 200 returns the id of the event with the same identity, within its window. */
  duplicates: (history) =>
    identityGroups(history).flatMap(({ posts, events, windowMs }) =>
      posts.filter(({ response }) => response?.status === 200).flatMap((one) => {
        const id = acknowledgedId(one);
        const event = events.find(({ eventId }) => eventId === id);
        if (event === undefined) {
          return [`${describe(one)}, naming ${id}, which has another identity or is not stored`];
        }
        const ageMs = databaseTime(history, one.sentAtMs) - event.receivedAtMs;
        // One second of tolerance, because the two clocks are read at different times.
        return ageMs > windowMs + 1_000
          ? [`${describe(one)}, naming ${id}, which is ${Math.round(ageMs / 3_600_000)} h old`]
          : [];
      })
    ),

  /** DECISIONS, The intake endpoint: other content under a used key is stored as a collision; another spelling of the same content is not. */
  collisions: (history) =>
    identityGroups(history).flatMap(({ identity, posts, events: [event] }) => {
      if (event === undefined || !identity.includes(" key ")) return [];
      const own = posts.find(({ body }) => body === event.raw)?.content;
      const others = Map.groupBy(posts.filter(({ content }) => content !== own), ({ content }) => content);
      const rows = history.tables.collisions.filter(({ eventId }) => eventId === event.eventId);
      const matched = rows.map((row) => ({ row, post: posts.find(({ body }) => body === row.raw) }));
      const wrong = matched.flatMap(({ row, post }) => {
        if (post === undefined) return [`${event.eventId} has a collision that was not posted`];
        if (post.content === own) return [`${event.eventId} has a collision with its own content`];
        const same = others.get(post.content)?.filter(({ body }) => body === row.raw);
        const isPosted = same?.some(({ keyId }) => keyId === row.keyId);
        return [
          ...fieldDifferences(post, row),
          ...(row.otherPerson === areDifferentPeople(post, posts.find(({ body }) => body === event.raw))
            ? []
            : [`${event.eventId} has a collision with a wrong other_person, ${row.otherPerson}`]),
          ...(isPosted ? [] : [`${event.eventId} has a collision under a key that did not post it`]),
        ];
      });
      for (const [content, all] of others) {
        const countMin = all.filter(({ response }) => response?.status === 200).length;
        const countMax = all.filter((one) => one.response?.status === 200 || isOpen(one)).length;
        const count = matched.find(({ post }) => post?.content === content)?.row.count ?? 0;
        if (count < countMin || count > countMax) {
          wrong.push(
            `${event.eventId} counts ${content} ${count} times, expected ${countMin} to ${countMax}`,
          );
        }
      }
      return wrong;
    }),

  /** SPEC, Lead envelope: the stored lead is the posted one, normalized by the contract. */
  content: (history) =>
    identityGroups(history).flatMap(({ posts, events }) =>
      events.flatMap((event) => {
        const post = posts.find(({ body }) => body === event.raw);
        return post === undefined
          ? []
          : [...fieldDifferences(post, event), ...columnDifferences(post, event)];
      })
    ),

  /** SPEC, Lead acknowledgement: event ids sort by time of acceptance. */
  order: ({ exchanges, tables, clockSteps }) => {
    const wrong: string[] = [];
    const accepted = exchanges.filter((one) => isPost(one) && isAccepted(one));
    const byDone = accepted.toSorted((a, b) => a.doneAtMs - b.doneAtMs);
    let newest = "";
    let next = 0;
    const setBacks = clockSteps.filter(({ stepMs }) => stepMs < 0).map(({ toMs }) => toMs);
    let sinceMs = Number.NEGATIVE_INFINITY;
    for (const one of accepted.toSorted((a, b) => a.sentAtMs - b.sentAtMs)) {
      // Events that were accepted before the clock was set back have later times.
      const lastMs = Math.max(Number.NEGATIVE_INFINITY, ...setBacks.filter((toMs) => toMs < one.sentAtMs));
      if (lastMs !== sinceMs) newest = "";
      sinceMs = lastMs;
      for (; next < byDone.length && (byDone[next] as Exchange).doneAtMs < one.sentAtMs; next += 1) {
        const id = acknowledgedId(byDone[next] as Exchange);
        if (id > newest && (byDone[next] as Exchange).sentAtMs > sinceMs) newest = id;
      }
      if (acknowledgedId(one) < newest) {
        wrong.push(`${describe(one)} with ${acknowledgedId(one)}, after ${newest} was acknowledged`);
      }
    }
    let last = Number.NEGATIVE_INFINITY;
    for (
      const { eventId, receivedAtMs } of tables.events.toSorted((a, b) => a.eventId < b.eventId ? -1 : 1)
    ) {
      if (receivedAtMs < last) wrong.push(`${eventId} sorts after an event that was accepted later`);
      last = Math.max(last, receivedAtMs);
    }
    return wrong;
  },
};

/** Returns a message for each stored field or flag that differs from the expected one. */
function fieldDifferences(
  { expected, kind }: Exchange,
  row: Pick<StoredEvent, "eventId" | "lead" | "extra" | "flags">,
): string[] {
  const { flags, extra, ...fields } = expected;
  const lead = JSON.parse(row.lead || "{}");
  const stored = { ...lead, flags: row.flags, extra: (row.extra ?? "{}").replaceAll(/\s/g, "") };
  const wanted: Record<string, unknown> = { ...fields, flags, extra };
  const names = Object.keys({ ...stored, ...wanted });
  return differences(Object.fromEntries(names.map((name) => [name, [stored[name], wanted[name]] as const])))
    .map((text) => `${row.eventId} (${kind}): ${text}`);
}

/** Returns the phone number and email address as stored; a form may have the phone number in another field. */
function contactsOf({ kind, expected }: Pick<Exchange, "kind" | "expected">) {
  const { phone = null, mobile = null, email = null } = expected;
  const sent = String(phone ?? "").trim() === "" ? mobile : phone;
  return [kind === "lead" || sent === null ? sent : `+1${sent}`, email];
}

/** Whether two posts are from different people: a contact differs, or no contact is in both. */
function areDifferentPeople(one: Exchange, other: Exchange | undefined): boolean {
  if (other === undefined) return true;
  const theirs = contactsOf(other);
  const pairs = contactsOf(one).map((contact, index) => [contact, theirs[index]])
    .filter((pair) => !pair.includes(null));
  return pairs.length === 0 || pairs.some(([a, b]) => a !== b);
}

/** Returns a message for each difference in the form, the verdict and the contact columns. */
function columnDifferences({ expected, kind }: Exchange, event: StoredEvent): string[] {
  const { last_name: last = String(expected.name).split(" ").at(-1) } = expected;
  const lastName = String(last).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const pairs: Parameters<typeof differences>[0] = {
    form: [event.form, formKeyOf({ kind, expected } as Exchange)],
    contact: [[event.phone, event.email, event.lastName], [...contactsOf({ kind, expected }), lastName]],
    verdict: [event.verdict, verdicts[kind as PostKind]],
    reason: [
      event.reasons?.some((reason) => /honeypot|blocked/.test(reason)) ?? null,
      kind === "lead" ? null : kind !== "form",
    ],
  };
  return differences(pairs).map((text) => `${event.eventId} (${kind}): ${text}`);
}
