/**
 * Who did what, when.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { type AuditEntry, listAudit } from "../../store/operator/audit.ts";
import { type AuditLink, readAuditHead } from "../../store/operator/audit_chain.ts";
import type { Context } from "./context.ts";
import { type ConsolePage, table } from "./layout.ts";
import { idShape, numberShape, parseQuery } from "./query.ts";
import { count, shortened, shown, time } from "./text.ts";

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
        ["When", "Who", "What", "To", "Detail"],
        entries.map((entry) => ({
          cells: [
            time(entry.at, clock),
            who(entry),
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

function subjects(entry: AuditEntry): Markup {
  const more = entry.count - entry.subjects.length;
  return markup`${
    entry.subjects.map((subject, index) =>
      markup`${index > 0 && markup`<br>`}${subjectOf(entry.action, subject)}`
    )
  }${more > 0 && markup`<br><span class="quiet">and ${count(more)} more</span>`}`;
}

// The actions whose subject is an event.
const ofEvents = /^(dead|submission|event|lead|collision)\./;

function subjectOf(action: string, subject: string): Markup {
  if (!ofEvents.test(action) || !idShape.test(subject)) return shortened(subject, 120);
  return markup`<a class="id" href="/leads/${subject}">${subject}</a>`;
}
