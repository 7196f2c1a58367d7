/** The console's routes: pages by GET, actions by POST, and error pages. */

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
import {
  type ActionHandler,
  type ConsoleParts,
  type Context,
  operatorName,
  type PageHandler,
} from "./context.ts";
import { timelinePage } from "./timeline.ts";
import { deadPage, replayAction, replayAllAction, replayAllPage } from "./dead.ts";
import { findPage } from "./find.ts";
import { formsPage } from "./forms.ts";
import { heldPage, reviewAction } from "./held.ts";
import { keysPage, sourcePage } from "./keys.ts";
import { pauseAction, resumeAction } from "./pause.ts";
import { reportPage } from "./report.ts";
import { returnAction } from "./return.ts";
import { statementPage } from "./statement.ts";
import { findPath, type Frame, RefusedPage, render, stylesheetHandler } from "./layout.ts";
import { leadsPage } from "./leads.ts";
import { overviewPage } from "./overview.ts";
import { dryRunAction, sentPage } from "./dry_run.ts";
import { sendAgainAction } from "./effects.ts";
import { markSpamAction } from "./submission.ts";
import { tenantPage } from "./tenant.ts";
import { tenantsPage } from "./tenants.ts";
import { formatBoundedCount, formatCount, type PageClock, safeText } from "./text.ts";
import { addTermAction, vocabularyPage } from "./vocabulary.ts";
import { invalidRequest } from "./wrong_id.ts";

interface Handlers {
  /** The page's name in the navigation, which omits pages without a name. */
  readonly name?: string;
  readonly get?: PageHandler;
  readonly post?: ActionHandler;
}

const routes: Readonly<Record<string, Handlers>> = {
  "/": { name: "Overview", get: overviewPage },
  [findPath]: { get: findPage },
  "/leads": { name: "Leads", get: leadsPage },
  "/leads/send-again": { post: sendAgainAction },
  "/leads/mark-spam": { post: markSpamAction },
  "/leads/return": { post: returnAction },
  "/leads/{event_id}": { get: timelinePage },
  "/leads/{event_id}/sent": { get: sentPage },
  "/report": { name: "Report", get: reportPage },
  "/statement": { get: statementPage },
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
  "/tenants": { name: "Tenants", get: tenantsPage },
  "/tenants/{slug}": { get: tenantPage },
  "/tenants/{slug}/pause": { post: pauseAction },
  "/tenants/{slug}/resume": { post: resumeAction },
  "/tenants/{slug}/dry-run": { post: dryRunAction },
  "/keys": { name: "Keys", get: keysPage },
  "/keys/{id}": { get: sourcePage },
  "/forms": { name: "Forms", get: formsPage },
  "/audit": { name: "Audit", get: auditPage },
};

export const navigation = Object.entries(routes).flatMap(([path, { name }]) =>
  name === undefined ? [] : [{ path, name }]
);

/** The paths of all pages. */
export const pagePatterns = Object.keys(routes).filter((path) => routes[path]?.get !== undefined);

const emptyFrame = { navigation, section: null, message: null, attention: new Map<string, string>() };

/** Adds the console's routes to the operator's router. */
export function addConsole(router: Router, parts: ConsoleParts): void {
  const tokens = new Tokens(parts.secret, () => parts.now().getTime());
  for (const [pattern, handlers] of Object.entries(routes)) {
    router.any(pattern, (exchange) => handle(handlers, { parts, tokens, exchange }));
  }
  router.get("/console/style.css", stylesheetHandler);
}

/**
 * Returns the 404 page if the client accepts HTML, otherwise `null`. The page does not echo the URL.
 */
export function consoleNotFound(exchange: Exchange, parts: ConsoleParts): Reply | null {
  const accepted = exchange.header("accept")?.toLowerCase().split(",") ?? [];
  if (!accepted.some((type) => type.split(";")[0]?.trim() === "text/html")) return null;
  return render({
    status: 404,
    title: "Page not found",
    body: markup`<h1>Page not found</h1>
<p>Check the URL, or select a page above. To find a lead, use the search box.</p>
<p><a href="/">Go to the overview</a></p>`,
  }, { ...emptyFrame, clock: pageClock(parts), attention: deadCount(parts) });
}

function pageClock({ now, zone }: Pick<ConsoleParts, "now" | "zone">): PageClock {
  return { nowMs: now().getTime(), zone };
}

/**
 * Returns the page for an unexpected error, which has already been logged; `null` if the request was not for the console.
 */
export function consoleFault(exchange: Exchange, parts: Pick<ConsoleParts, "now" | "zone">): Reply | null {
  if (routes[exchange.route] === undefined) return null;
  return render({
    status: 503,
    title: "This page failed",
    body: markup`<h1>This page failed</h1>
<p>For the cause, see the log line <code>fault</code> with the request id <code>${
      safeText(exchange.requestId)
    }</code>. If you had just
requested an action, it may or may not have been done. Check, and repeat it if needed: repeating it does no harm.</p>
<p><a href="/">Go to the overview</a></p>`,
  }, { ...emptyFrame, clock: pageClock(parts) });
}

async function handle(
  { get, post }: Handlers,
  request: { readonly parts: ConsoleParts; readonly tokens: Tokens; readonly exchange: Exchange },
): Promise<Reply> {
  const { method } = request.exchange;
  const { query, message } = extractNote(request);
  const operator = operatorName(request.exchange, request.parts.trustedProxies);
  const context: Context = { ...request, operator, query, clock: pageClock(request.parts) };
  const allow = [...(get === undefined ? [] : ["GET", "HEAD"]), ...(post === undefined ? [] : ["POST"])];
  try {
    const section = `/${request.exchange.route.split("/")[1]}`;
    if (get !== undefined && (method === "GET" || method === "HEAD")) {
      const [page, attention] = await Promise.all([get(context), readAttention(context.parts)]);
      return render(page, { ...frameFor(context), section, message, attention });
    }
    if (post !== undefined && method === "POST") {
      const next = await post(context);
      if (typeof next === "string") return seeOther(next);
      return render(next, { ...frameFor(context), section, attention: await readAttention(context.parts) });
    }
    throw new RefusedPage(405, "Method not allowed", markup`<p>Allowed: ${allow.join(", ")}.</p>`);
  } catch (error) {
    const reply = errorPage(error, context);
    return reply.status === 405
      ? { ...reply, headers: { ...reply.headers, Allow: allow.join(", ") } }
      : reply;
  }
}

function frameFor({ clock, parts }: Context): Frame {
  return { ...emptyFrame, clock, attention: deadCount(parts) };
}

/** Returns the last known number of dead letters, for the navigation. */
function deadCount({ health }: ConsoleParts): Frame["attention"] {
  const { dead } = health();
  return new Map(dead === 0 ? [] : [["/dead", formatCount(dead)]]);
}

/** Counts dead letters, held submissions and open collisions for the navigation. */
async function readAttention(parts: ConsoleParts): Promise<Frame["attention"]> {
  const attention = new Map(deadCount(parts));
  try {
    const [held, collisions] = await Promise.all([
      countHeld(parts.pool, { tenantId: null, verdict: "spam" }),
      readOpenCollisions(parts.pool),
    ]);
    const openCount = collisions.reduce((sum, { count }) => sum + count, 0);
    if (held.count > 0) attention.set("/held", formatBoundedCount(held));
    if (openCount > 0) attention.set("/collisions", formatCount(openCount));
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
  return attention;
}

/** Removes the note about an action from the query and renders it. */
function extractNote(
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

/** Returns the page for an expected error; rethrows any other. */
function errorPage(error: unknown, context: Context): Reply {
  if (error instanceof InvalidParameter) {
    return errorPage(invalidRequest(error, context), context);
  }
  if (error instanceof RefusedPage) {
    return render({
      status: error.status,
      title: error.message,
      searched: error.searched,
      body: markup`<h1>${error.message}</h1>${error.advice}<p><a href="/">Go to the overview</a></p>`,
    }, frameFor(context));
  }
  if (error instanceof Unavailable) {
    return render({
      status: 503,
      title: "The store is unavailable",
      body: markup`<div class="bad status"><h1>The store is unavailable</h1>
<p>The database does not respond, so this page cannot be shown. If you had just requested an action, it may or may not have been
done. Check when the store is back, and repeat it if needed: repeating it does no harm.</p></div>
<p><a href="/">The overview</a> shows when the store accepts writes again.</p>`,
    }, frameFor(context));
  }
  throw error;
}
