/** The console's routes: pages by GET, actions by POST, and a page for everything that goes wrong. */

import type { Exchange, Reply } from "../../http/exchange.ts";
import { type Markup, markup } from "../../http/markup.ts";
import type { Router } from "../../http/router.ts";
import { readOpenCollisions } from "../../store/operator/collisions.ts";
import { countHeld } from "../../store/operator/held.ts";
import { Unavailable } from "../../store/pool.ts";
import { InvalidParameter } from "../parameters.ts";
import { noteText, seeOther, Tokens } from "./request.ts";
import { auditPage } from "./audit.ts";
import { collisionPage, collisionsPage, settleAction } from "./collisions.ts";
import type { ActionHandler, ConsoleParts, Context, PageHandler } from "./context.ts";
import { markSpamAction, sendAgainAction, timelinePage } from "./timeline.ts";
import { deadPage, replayAction, replayAllAction, replayAllPage } from "./dead.ts";
import { formsPage } from "./forms.ts";
import { heldPage, reviewAction } from "./held.ts";
import { keysPage, sourcePage } from "./keys.ts";
import { reportPage } from "./report.ts";
import { type Frame, RefusedPage, render, styleHandler } from "./layout.ts";
import { leadsPage } from "./leads.ts";
import { overviewPage } from "./overview.ts";
import { boundedText, count, type PageClock, shown } from "./text.ts";
import { addTermAction, vocabularyPage } from "./vocabulary.ts";

interface Handlers {
  /** What the page is called in the navigation, if it stands there. */
  readonly name?: string;
  readonly get?: PageHandler;
  readonly post?: ActionHandler;
}

const routes: Readonly<Record<string, Handlers>> = {
  "/": { name: "Overview", get: overviewPage },
  "/leads": { name: "Leads", get: leadsPage },
  "/leads/send-again": { post: sendAgainAction },
  "/leads/mark-spam": { post: markSpamAction },
  "/leads/{event_id}": { get: timelinePage },
  "/report": { name: "Report", get: reportPage },
  "/dead": { name: "Dead", get: deadPage },
  "/dead/replay": { post: replayAction },
  "/dead/replay-all": { get: replayAllPage, post: replayAllAction },
  "/held": { name: "Held", get: heldPage },
  "/held/review": { post: reviewAction },
  "/collisions": { name: "Collisions", get: collisionsPage },
  "/collisions/{id}": { get: collisionPage },
  "/collisions/settle": { post: settleAction },
  "/vocabulary": { name: "Vocabulary", get: vocabularyPage },
  "/vocabulary/add": { post: addTermAction },
  "/keys": { name: "Keys", get: keysPage },
  "/keys/{id}": { get: sourcePage },
  "/forms": { name: "Forms", get: formsPage },
  "/audit": { name: "Audit", get: auditPage },
};

/** The pages that stand in the navigation. */
export const navigation = Object.entries(routes).flatMap(([path, { name }]) =>
  name === undefined ? [] : [{ path, name }]
);

const noSection = { navigation, section: null, message: null, wanting: new Map<string, string>() };

/** Adds the console's routes to those of the operator's surface. */
export function addConsole(router: Router, parts: ConsoleParts): void {
  const tokens = new Tokens(parts.secret, () => parts.now().getTime());
  for (const [pattern, handlers] of Object.entries(routes)) {
    router.any(pattern, (exchange) => answer(handlers, { parts, tokens, exchange }));
  }
  router.get("/console/style.css", styleHandler);
}

/**
 * The page for an address that there is not, for who asks for pages: a browser; `null` for a program. The address is not
 * repeated.
 */
export function consoleNotFound(exchange: Exchange, parts: ConsoleParts): Reply | null {
  const accepted = exchange.header("accept")?.toLowerCase().split(",") ?? [];
  if (!accepted.some((type) => type.split(";")[0]?.trim() === "text/html")) return null;
  return render({
    status: 404,
    title: "Page not found",
    body: markup`<h1>Page not found</h1>
<p>The address may be mistyped. What there is stands above; an event is found by its id under
<a href="/leads">Leads</a>.</p>
<p><a href="/">To the overview</a></p>`,
  }, { ...noSection, clock: clockOf(parts), wanting: deadOf(parts) });
}

function clockOf({ now, zone }: Pick<ConsoleParts, "now" | "zone">): PageClock {
  return { nowMs: now().getTime(), zone };
}

/**
 * The page for a fault that nobody foresaw, which the edge has logged; `null` when the request was not for a page of the
 * console.
 */
export function consoleFault(exchange: Exchange, parts: Pick<ConsoleParts, "now" | "zone">): Reply | null {
  if (routes[exchange.route] === undefined) return null;
  return render({
    status: 503,
    title: "This page has failed",
    body: markup`<h1>This page failed</h1>
<p>The log tells why, in the line <code>fault</code> with the request id <code>${
      shown(exchange.requestId)
    }</code>. Whether an action
that was just asked for has been done is not known: look again, and repeat it then; that does no harm.</p>
<p><a href="/">To the overview</a></p>`,
  }, { ...noSection, clock: clockOf(parts) });
}

async function answer(
  { get, post }: Handlers,
  request: { readonly parts: ConsoleParts; readonly tokens: Tokens; readonly exchange: Exchange },
): Promise<Reply> {
  const { method } = request.exchange;
  const { query, message } = withoutNote(request);
  const context: Context = { ...request, query, clock: clockOf(request.parts) };
  const allow = [...(get === undefined ? [] : ["GET", "HEAD"]), ...(post === undefined ? [] : ["POST"])];
  try {
    if (get !== undefined && (method === "GET" || method === "HEAD")) {
      const section = `/${request.exchange.route.split("/")[1]}`;
      const [page, wanting] = await Promise.all([get(context), readWanting(context.parts)]);
      return render(page, { ...frame(context), section, message, wanting });
    }
    if (post !== undefined && method === "POST") return seeOther(await post(context));
    throw new RefusedPage(405, "Method not allowed", markup`<p>Allowed: ${allow.join(", ")}.</p>`);
  } catch (error) {
    const reply = refusalPage(error, context);
    return reply.status === 405
      ? { ...reply, headers: { ...reply.headers, Allow: allow.join(", ") } }
      : reply;
  }
}

function frame({ clock, parts }: Context): Frame {
  return { ...noSection, clock, wanting: deadOf(parts) };
}

/** The dead letters, as last known. */
function deadOf({ health }: ConsoleParts): Frame["wanting"] {
  const { dead } = health();
  return new Map(dead === 0 ? [] : [["/dead", count(dead)]]);
}

/** What the navigation says: the dead, and as the overview counts them the held and the open collisions. */
async function readWanting(parts: ConsoleParts): Promise<Frame["wanting"]> {
  const wanting = new Map(deadOf(parts));
  try {
    const [held, collisions] = await Promise.all([
      countHeld(parts.pool, { tenantId: null, verdict: "spam" }),
      readOpenCollisions(parts.pool),
    ]);
    const open = collisions.reduce((sum, one) => sum + one.count, 0);
    if (held.count > 0) wanting.set("/held", boundedText(held));
    if (open > 0) wanting.set("/collisions", count(open));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
  return wanting;
}

/** Takes the note of an action that was just done from the query: the pages know nothing of it. */
function withoutNote(
  { exchange, tokens }: { readonly exchange: Exchange; readonly tokens: Tokens },
): { query: string; message: Markup | null } {
  const match = /(?:^|&)done=([\w.-]+)$/.exec(exchange.query);
  if (match === null) return { query: exchange.query, message: null };
  const note = tokens.readNote(match[1] as string);
  return {
    query: exchange.query.slice(0, match.index),
    message: note === null ? null : noteText(note),
  };
}

/** A page for what a handler threw; a bug is thrown on, to the edge that logs it. */
function refusalPage(error: unknown, context: Context): Reply {
  if (error instanceof InvalidParameter) {
    const advice = markup`<p>${error.message}.</p>`;
    return refusalPage(new RefusedPage(400, "The request cannot be read", advice), context);
  }
  if (error instanceof RefusedPage) {
    return render({
      status: error.status,
      title: error.message,
      body: markup`<h1>${error.message}</h1>${error.advice}<p><a href="/">To the overview</a></p>`,
    }, frame(context));
  }
  if (error instanceof Unavailable) {
    return render({
      status: 503,
      title: "The store is away",
      body: markup`<div class="bad status"><h1>The store is unavailable</h1>
<p>The database does not answer, so this page cannot be made. Whether an action that was just asked for has been done is
not known: look again when the store is back, and repeat it then; that does no harm.</p></div>
<p><a href="/">The overview</a> says when the store takes writes again.</p>`,
    }, frame(context));
  }
  throw error;
}
