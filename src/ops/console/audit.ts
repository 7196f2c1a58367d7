/** Who did what, when. */

import { type Markup, markup } from "../../http/markup.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { idShape, numberShape, parseQuery } from "./request.ts";
import { count, shortened, shown, time } from "./text.ts";
import { type AuditEntry, type AuditLink, listAudit, readAuditHead } from "../../store/operator/audit.ts";

// The first words of each action's line; any other action is shown by its name.
const verbs: Readonly<Record<string, string>> = {
  "tenant.add": "Added tenant",
  "tenant.set": "Changed the settings of tenant",
  "tenant.disable": "Disabled tenant",
  "tenant.enable": "Enabled tenant",
  "tenant.route": "Changed the route of tenant",
  "tenant.route_test": "Tested the route of tenant",
  "tenant.retention": "Set the retention of tenant",
  "campaign.add": "Added campaign",
  "key.issue": "Issued key",
  "key.revoke": "Revoked key",
  "key.limit": "Changed the limit of key",
  "ip.limit": "Raised the limit of network",
  "ip.clear": "Removed the raised limit of network",
  "form.add": "Added form",
  "form.change": "Changed form",
  "form.remove": "Removed form",
  "area.confirm": "Confirmed the term",
  "area.propose": "Proposed the term",
  "area.retire": "Retired the term",
  "plan.put": "Put plan",
  "plan.remove": "Removed plan",
  "event.erase": "Erased",
  "event.hold": "Held after a restore, until you decide:",
  "event.send_again": "Sent again",
  "collision.erase": "Erased collision",
  "collision.accept": "Accepted a collision as a separate lead:",
  "collision.dismiss": "Dismissed the collision under",
  "dead.replay": "Replayed dead letter",
  "dead.done": "Marked as received by the customer:",
  "database.restore": "Restored the database to",
  "submission.release": "Released submission",
  "submission.dismiss": "Dismissed submission",
  "submission.spam": "Reported as spam:",
  "submission.not_spam": "Withdrew the spam report:",
  "spam.forget": "Reset the spam score's learning; labels:",
  "person.erase_begin": "Started to erase",
  "person.erase": "Erased a person; events:",
};

/** What was done, in a sentence without its end; events are links. */
export function deedOf(entry: AuditEntry): Markup {
  const { action, detail: json } = entry;
  const detail: unknown = json === null ? null : JSON.parse(json);
  const pairs = typeof detail === "object" && detail !== null ? Object.entries(detail) : [];
  return markup`${verbs[action] ?? words(action.replace(".", ": "))} ${subjects(entry)}${
    pairs.length > 0 && markup` (${memberList(pairs)})`
  }`;
}

function memberList(pairs: readonly (readonly [string, unknown])[]): Markup {
  return markup`${
    pairs.map(([name, value], index) =>
      markup`${index > 0 && ", "}${shortened(words(name))} ${shortened(valueText(value), 120)}`
    )
  }`;
}

function valueText(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(value);
  return typeof value === "string" ? value : JSON.stringify(value);
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
<p>Actions with the command (<code>ctl</code>) or on these pages (<code>console</code>), with the database login and an unverified
name: the account on the machine, or the client's address. You cannot change the audit here: each row seals the one
before it. ${sealed(head)}</p>
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
