/**
 * Who did what, when.
 *
 * @module
 */

import { type Markup, markup } from "../../http/markup.ts";
import { type AuditEntry, type AuditLink, listAudit, readAuditHead } from "../../store/operator/audit.ts";
import type { Context } from "./context.ts";
import { deedOf } from "./deeds.ts";
import { type ConsolePage, table } from "./layout.ts";
import { numberShape, parseQuery } from "./query.ts";
import { shown, time } from "./text.ts";

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
