/** `/audit`: the log of operator actions. */

import { type Markup, markup } from "../../http/markup.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, filterForm, table } from "./layout.ts";
import {
  idPattern,
  parseQuery,
  queryString,
  rowIdPattern,
  selectedTenant,
  slugPattern,
  tenantSelect,
} from "./request.ts";
import { eventLink, formatCount, safeText, tenantLink, timeElement, truncated } from "./text.ts";
import { looksLike } from "./wrong_id.ts";
import { type AuditEntry, type AuditLink, listAudit, readAuditHead } from "../../store/operator/audit.ts";

// The first words of each action's description; other actions are shown by name.
const actionTexts: Readonly<Record<string, string>> = {
  "tenant.add": "Added tenant",
  "tenant.set": "Changed the settings of tenant",
  "tenant.disable": "Disabled tenant",
  "tenant.enable": "Enabled tenant",
  "tenant.pause": "Paused the deliveries of tenant",
  "tenant.resume": "Resumed the deliveries of tenant",
  "tenant.route": "Changed the route of tenant",
  "tenant.route_test": "Tested the route of tenant",
  "tenant.retention": "Set the retention of tenant",
  "tenant.export_contacts": "Exported the leads' contacts of tenant",
  "campaign.add": "Added campaign",
  "key.issue": "Issued key",
  "key.revoke": "Revoked key",
  "key.limit": "Changed the rate limit for key",
  "ip.limit": "Raised the rate limit for network",
  "ip.clear": "Removed the raised rate limit for network",
  "form.add": "Added form",
  "form.change": "Changed form",
  "form.remove": "Removed form",
  "area.confirm": "Confirmed the term",
  "area.propose": "Proposed the term",
  "area.retire": "Retired the term",
  "plan.put": "Added or replaced plan",
  "plan.remove": "Removed plan",
  "lead.return": "Returned",
  "lead.undo_return": "Undid the return of",
  "event.erase": "Erased",
  "event.hold": "Held for review after a restore:",
  "event.send_again": "Sent again",
  "collision.erase": "Erased collision",
  "collision.accept": "Accepted a collision as a separate lead:",
  "collision.dismiss": "Dismissed the collision under",
  "dead.replay": "Replayed dead letter",
  "dead.done": "Marked as done, nothing was sent:",
  "database.restore": "Restored the database to",
  "submission.release": "Released submission",
  "submission.dismiss": "Dismissed submission",
  "submission.spam": "Reported as spam:",
  "submission.not_spam": "Withdrew the spam report for",
  "spam.forget": "Reset the spam score's learning; labels:",
  "person.erase_begin": "Started erasing",
  "person.erase": "Erased a person; events:",
};

/** Describes an action, with links to its events. */
export function describeAction(entry: AuditEntry): Markup {
  const { action, detail: json } = entry;
  const detail: unknown = json === null ? null : JSON.parse(json);
  const pairs = typeof detail === "object" && detail !== null ? Object.entries(detail) : [];
  return markup`${actionTexts[action] ?? withSpaces(action.replace(".", ": "))} ${subjectList(entry)}${
    pairs.length > 0 && markup` (${memberList(pairs)})`
  }`;
}

function memberList(pairs: readonly (readonly [string, unknown])[]): Markup {
  return markup`${
    pairs.map(([name, value], index) =>
      markup`${index > 0 && ", "}${truncated(withSpaces(name))} ${
        name === "tenant" && typeof value === "string" && slugPattern.test(value)
          ? tenantLink(value)
          : truncated(valueText(value), 120)
      }`
    )
  }`;
}

function valueText(value: unknown): string {
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? formatCount(value) : String(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function withSpaces(name: string): string {
  return name.replaceAll("_", " ");
}

// Matches the actions whose subject may be an event.
const eventActions = /^(dead|submission|event|lead|person|collision)\./;

function subjectList({ action, subjects, count }: AuditEntry): Markup {
  const moreCount = count - subjects.length;
  return markup`${
    subjects.map((subject, index) => markup`${index > 0 && ", "}${subjectLink(action, subject)}`)
  }${moreCount > 0 && markup` <span class="quiet">and ${formatCount(moreCount)} more</span>`}`;
}

function subjectLink(action: string, subject: string): Markup {
  if (action.startsWith("tenant.") && slugPattern.test(subject)) return tenantLink(subject);
  // The other subjects of these actions are shorter or contain spaces.
  if (!eventActions.test(action) || !idPattern.test(subject) || subject.length < 20) {
    return markup`<strong>${truncated(subject, 120)}</strong>`;
  }
  return eventLink(subject);
}

const listedMax = 100;

export async function auditPage({ parts, query, clock }: Context): Promise<ConsolePage> {
  const { pool } = parts;
  const form = parseQuery(query, ["from", "tenant", "subject"]);
  const fromId = form.matching("from", rowIdPattern);
  const subject = form.text("subject");
  const tenant = await selectedTenant(pool, form);
  const [rows, head] = await Promise.all([
    listAudit(pool, { fromId, subject, tenantId: tenant.id, limit: listedMax + 1 }),
    readAuditHead(pool),
  ]);
  const entries = rows.slice(0, listedMax);
  const next = rows[listedMax];
  return {
    title: "Audit",
    body: markup`<h1>Audit</h1>
<p>Actions taken with the command (<code>ctl</code>) or on these pages (<code>console</code>): an unverified name and the database
login. The name is that of the account on the machine, or of the proxy's <code>X-Forwarded-User</code>. Each row contains a digest of
the row before it, which reveals later changes. ${newestRowNote(head)}</p>
${
      filterForm("/audit", [
        await tenantSelect(pool, tenant.slug),
        markup`<div><label for="subject">Id, slug or term</label><input id="subject" name="subject" value="${
          subject ?? ""
        }" autocomplete="off" spellcheck="false"></div>`,
      ])
    }
${
      table(
        ["When", "Who", "What"],
        entries.map((entry) => ({
          cells: [
            timeElement(entry.at, clock),
            actorText(entry),
            describeAction(entry),
          ],
        })),
        {
          label: "Audit",
          empty: subject === null
            ? markup`No actions${tenant.slug !== null && markup` on this tenant`} yet.`
            : markup`No actions on it.${looksLike(subject, "event")}`,
        },
      )
    }
${
      next !== undefined &&
      markup`<p><a class="button" href="/audit${
        queryString({ tenant: tenant.slug, subject, from: next.id })
      }">Earlier</a></p>`
    }`,
  };
}

function actorText({ actor, claimed }: AuditEntry): Markup {
  return markup`${claimed !== null && markup`${safeText(claimed)}<br>`}<span class="quiet">${
    safeText(actor)
  }</span>`;
}

function newestRowNote({ id, digest }: AuditLink): Markup {
  if (id === 0) return markup``;
  return markup`The last row is <code>${id}:${digest}</code>. Keep a copy elsewhere, so that
<code>ctl audit verify --head</code> can check later that the row still exists.`;
}
