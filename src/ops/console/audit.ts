/**
 * Who did what, when.
 *
 * @module
 */

import { type Markup, markup, type Value } from "../../http/markup.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { idShape, numberShape, parseQuery } from "./request.ts";
import { count, counted, dollars, shortened, shown, time } from "./text.ts";
import { type AuditEntry, type AuditLink, listAudit, readAuditHead } from "../../store/operator/audit.ts";

/** What an action was about and what is noted of it. */
interface Deed {
  /** Whom or what it was done to, ready to be read. */
  readonly to: Value;
  /** A member of the detail as text; empty when it is missing. */
  readonly text: (name: string) => Value;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly count: number;
}

const key = ({ to, text }: Deed) =>
  markup`key ${to} (${text("label")}, ${text("surface")}) of tenant ${text("tenant")}`;
const limit = ({ text }: Deed) =>
  markup`${text("per_minute")} a minute, burst ${text("burst")}, until ${text("until")}`;
const dead = (deed: Deed) =>
  markup`${deed.count === 1 ? "dead letter" : `${count(deed.count)} dead letters:`} ${deed.to}`;
const held = (deed: Deed) =>
  markup`${deed.count === 1 ? "submission" : `${count(deed.count)} submissions:`} ${deed.to}`;

const sentences: Readonly<Record<string, (deed: Deed) => Markup>> = {
  "tenant.add": ({ to, detail }) => markup`Added ${detail.sandbox === true ? "sandbox " : ""}tenant ${to}`,
  "tenant.set": ({ to, detail }) => markup`Set of tenant ${to}: ${memberList(Object.entries(detail))}`,
  "tenant.disable": ({ to, text }) => markup`Disabled tenant ${to}; keys suspended: ${text("keys")}`,
  "tenant.enable": ({ to, text }) => markup`Enabled tenant ${to}; keys in use again: ${text("keys")}`,
  "tenant.route": routed,
  "tenant.route_test": ({ to, detail: { sent, failed, ...scope } }) =>
    markup`Tried the route of tenant ${to}: ${String(sent)} sent, ${String(failed)} failed${
      members(Object.entries(scope))
    }`,
  "tenant.retention": ({ to, detail, text }) =>
    typeof detail.days === "number"
      ? markup`Set that content of tenant ${to} is kept for ${text("days")} days`
      : markup`Set that content of tenant ${to} is kept without an end`,
  "campaign.add": ({ to, text }) => markup`Added campaign ${to} of tenant ${text("tenant")}`,
  "key.issue": (deed) => markup`Issued ${key(deed)}`,
  "key.revoke": (deed) => markup`Revoked ${key(deed)}`,
  "key.limit": (deed) => markup`Changed the limit of ${key(deed)}`,
  "ip.limit": (deed) => markup`Raised the limit of the network ${deed.to} to ${limit(deed)}`,
  "ip.clear": ({ to }) => markup`Ended the raised limit of the network ${to}`,
  "form.add": ({ to }) => markup`Added form ${to}`,
  "form.change": ({ to }) => markup`Changed form ${to}`,
  "form.remove": ({ to }) => markup`Removed form ${to}`,
  "area.confirm": (deed) => markup`Confirmed the term ${deed.to}${before(deed)}`,
  "area.propose": (deed) => markup`Proposed the term ${deed.to}${before(deed)}`,
  "area.retire": (deed) => markup`Retired the term ${deed.to}${before(deed)}`,
  "plan.put": ({ to, detail, text }) =>
    markup`${detail.change === "added" ? "Added" : "Changed"} plan ${to}${
      typeof detail.amount_cents === "number" ? `, ${dollars(detail.amount_cents)}` : text("amount_cents")
    }`,
  "plan.remove": ({ to }) => markup`Removed plan ${to}`,
  "event.erase": ({ to, detail }) => markup`Erased ${to}${members(Object.entries(detail))}`,
  "collision.erase": ({ to }) => markup`Erased what was kept aside, number ${to}`,
  "event.hold": ({ to, count: n }) =>
    markup`Held until somebody decides, after a restore: ${n > 1 && `${count(n)} events: `}${to}`,
  "dead.done": (deed) => markup`Said that the customer has ${dead(deed)}`,
  "database.restore": ({ to, detail }) =>
    markup`Restored the database to ${to}${members(Object.entries(detail))}`,
  "dead.replay": (deed) => markup`Replayed ${dead(deed)}`,
  "event.send_again": ({ to, detail }) => markup`Sent ${to} again${members(Object.entries(detail))}`,
  "submission.release": (deed) => markup`Released ${held(deed)}`,
  "submission.dismiss": (deed) => markup`Dismissed ${held(deed)}: it stays held and is counted no more`,
  "collision.accept": ({ to, detail }) =>
    markup`Accepted what was kept aside as a lead of its own: ${to}${members(Object.entries(detail))}`,
  "collision.dismiss": ({ to, detail }) =>
    markup`Dismissed what was kept aside under ${to}${members(Object.entries(detail))}`,
  "person.erase_begin": ({ to }) => markup`Began to erase ${to}`,
  "person.erase": ({ detail }) => {
    const erased = Object.entries(detail).filter(([, n]) => typeof n === "number" && n > 0);
    return markup`Erased a person: ${
      erased.length === 0
        ? "nothing was found"
        : erased.map(([name, n], index) => markup`${index > 0 && ", "}${count(n as number)} ${words(name)}`)
    }`;
  },
};

/** What was done, in a sentence without its end; events are links. */
export function deedOf(entry: AuditEntry): Markup {
  const { action, detail: json } = entry;
  const detail = parsed(json);
  const deed: Deed = {
    to: subjects(entry),
    text: (name) => detail[name] === undefined || detail[name] === null ? "" : valueText(detail[name]),
    detail,
    count: entry.count,
  };
  return sentences[action]?.(deed) ?? inItsOwnWords(action, deed);
}

function parsed(json: string | null): Readonly<Record<string, unknown>> {
  const value: unknown = json === null ? null : JSON.parse(json);
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Readonly<Record<string, unknown>>
    : {};
}

const kinds: Readonly<Record<string, string>> = {
  crm: "CRM address",
  email: "mail address",
  slack: "Slack address",
};
const changes: Readonly<Record<string, string>> = {
  set: "gave it a",
  changed: "gave it a new",
  cleared: "took away its",
  kept: "kept its",
};

/** "Changed the route of tenant acme: gave it a new CRM address and a new secret". */
function routed({ to, detail }: Deed): Markup {
  const done = Object.entries(detail).flatMap(([kind, change]) => {
    const verb = changes[String(change)];
    return verb === undefined ? [] : [`${verb} ${kinds[kind] ?? `${words(kind)} address`}`];
  });
  const rest = Object.entries(detail).filter(([name, change]) =>
    name !== "new_secret" && change !== "none" && changes[String(change)] === undefined
  );
  const parts = [...done, ...(detail.new_secret === true ? ["made a new secret"] : [])];
  return markup`Changed the route of tenant ${to}${parts.length > 0 && `: ${listed(parts)}`}${members(rest)}`;
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

function before({ detail }: Deed): Value {
  return typeof detail.before === "string" && markup` (it was ${shortened(detail.before, 40)})`;
}

function inItsOwnWords(action: string, { to, detail }: Deed): Markup {
  const [noun = "", verb = ""] = action.split(".");
  return markup`${words(noun)}: ${words(verb)} ${to}${members(Object.entries(detail))}`;
}

// Long enough for what we note; a detail is for the page of ctl, where it is whole.
const membersMax = 12;

function members(pairs: readonly (readonly [string, unknown])[]): Value {
  return pairs.length > 0 && markup` (${memberList(pairs)})`;
}

function memberList(pairs: readonly (readonly [string, unknown])[]): Markup {
  return markup`${
    pairs.slice(0, membersMax).map(([name, value], index) =>
      markup`${index > 0 && ", "}${shortened(words(name), 60)} ${valueText(value)}`
    )
  }${pairs.length > membersMax && ", …"}`;
}

function valueText(value: unknown): Value {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(value);
  if (typeof value === "string") return shortened(value, 120);
  const inner = Array.isArray(value)
    ? value.map((one) => [null, one] as const)
    : Object.entries(value as Record<string, unknown>);
  if (inner.length === 0) return "nothing";
  return inner.slice(0, membersMax).map(([name, one], index) =>
    markup`${index > 0 && ", "}${name !== null && markup`${shortened(words(name), 60)} `}${
      typeof one === "object" && one !== null ? counted(Object.keys(one).length, "member") : valueText(one)
    }`
  );
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

// The actions whose subject is an event.
const ofEvents = /^(dead|submission|event|lead|person|collision)\./;

function subjects({ action, subjects: named, count: all }: AuditEntry): Markup {
  const more = all - named.length;
  return markup`${named.map((subject, index) => markup`${index > 0 && ", "}${subjectOf(action, subject)}`)}${
    more > 0 && markup` <span class="quiet">and ${count(more)} more</span>`
  }`;
}

function subjectOf(action: string, subject: string): Markup {
  // Ids of events have digits in them, and the words that stand for a person have spaces.
  if (!ofEvents.test(action) || !idShape.test(subject) || subject.length < 20) {
    return markup`<strong>${shortened(subject, 120)}</strong>`;
  }
  return markup`<a class="id" href="/leads/${subject}">${subject}</a>`;
}

const listedMax = 100;

/** `/audit` */
export async function auditPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const fromId = parseQuery(query, ["from"]).shaped("from", numberShape);
  const [found, head] = await Promise.all([
    listAudit(parts.pool, { fromId, limit: listedMax + 1 }),
    readAuditHead(parts.pool),
  ]);
  const entries = found.slice(0, listedMax);
  const next = found[listedMax];
  return {
    title: "Audit",
    body: markup`<h1>Audit</h1>
<p>What was done with the command (<code>ctl</code>) or on these pages (<code>console</code>), by which login of the
database, and what whoever did it says of himself: the account of his machine, the client's address. It cannot be changed
from here: each row seals the one before it. ${sealed(head)}</p>
${
      table(
        ["When", "Who", "What"],
        entries.map((entry) => ({
          cells: [
            time(entry.at, clock),
            who(entry),
            deedOf(entry),
          ],
        })),
        { label: "Audit", empty: markup`Nothing was done yet.` },
      )
    }
${next !== undefined && markup`<p><a class="button" href="/audit?from=${next.id}">Earlier</a></p>`}`,
  };
}

function who({ actor, claimed }: AuditEntry): Markup {
  return markup`${shown(actor)}${
    claimed !== null && markup`<br><span class="quiet">says: ${shown(claimed)}</span>`
  }`;
}

function sealed({ id, digest }: AuditLink): Markup {
  if (id === 0) return markup``;
  return markup`The last one is <code>${id}:${digest}</code>; written down elsewhere, <code>ctl audit verify --head</code>
tells later whether it is still there.`;
}
