/**
 * Who did what, when.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { type AuditEntry, listAudit } from "../../store/audit.ts";
import type { Context } from "./context.ts";
import { type Page, table } from "./layout.ts";
import { idShape, numberShape, parseQuery } from "./query.ts";
import { count, shortened, shown, time } from "./text.ts";

const listedMax = 100;

/** `/audit` */
export async function auditPage({ parts, query, nowMs }: Context): Promise<Page> {
  const fromId = parseQuery(query, ["from"]).shaped("from", numberShape);
  const found = await listAudit(parts.pool, { fromId, limit: listedMax + 1 });
  const entries = found.slice(0, listedMax);
  const next = found[listedMax];
  return {
    title: "Audit",
    section: "audit",
    body: markup`<h1>Audit</h1>
<p>What was done with the command (<code>ctl</code> and the database role) or on these pages (<code>console</code> and the
client's address). It cannot be changed from here.</p>
${
      table(
        ["When", "Who", "What", "To", "Detail"],
        entries.map((entry) => ({
          cells: [
            time(entry.at, nowMs),
            shown(entry.actor),
            markup`<code>${entry.action}</code>`,
            subjects(entry),
            entry.detail === null ? "–" : markup`<code>${shortened(entry.detail, 200)}</code>`,
          ],
        })),
        { label: "Audit", empty: markup`Nothing was done yet.` },
      )
    }
${next !== undefined && markup`<p><a class="button" href="/audit?from=${next.id}">Earlier</a></p>`}`,
  };
}

function subjects(entry: AuditEntry): Markup {
  const more = entry.count - entry.subjects.length;
  return markup`${
    entry.subjects.map((subject, index) =>
      markup`${index > 0 && markup`<br>`}${subjectOf(entry.action, subject)}`
    )
  }${more > 0 && markup`<br><span class="quiet">and ${count(more)} more</span>`}`;
}

// The actions whose subject is an event.
const ofEvents = /^(dead|submission|event|lead)\./;

function subjectOf(action: string, subject: string): Markup {
  if (!ofEvents.test(action) || !idShape.test(subject)) return shortened(subject, 120);
  return markup`<a class="id" href="/leads/${subject}">${subject}</a>`;
}
