/**
 * Runs a CRM recipe for an event: evaluates each step's request, sends it, and decides from the response how to go on.
 *
 *     event, route ──▶ token ──▶ evaluate ──▶ rate ──▶ send ──▶ judge ──▶ keep, save progress ──▶ next step
 *                        ▲          ▲                 401 │       │
 *                        └──────────┼──────── renew ◀─────┘       └──▶ done | refused | waiting | failed
 *                                   └── a retry starts at the first step that is not finished
 */

import { createHash } from "node:crypto";
import { parseExactly, stringifyExactly } from "../../lead/exact_numbers.ts";
import { isObject } from "../../lead/json.ts";
import { headerFields, type Response } from "../../http/outbound/response_parser.ts";
import type { RequestRate } from "../../limiter/request_rate.ts";
import type { RouteRecipe } from "../../store/delivery/effects.ts";
import { type CheckedPost, retryAfterSeconds } from "../checked_post.ts";
import type { EventToRender, SendRequest } from "../destination.ts";
import { type Failed, failed, type Outcome, responseText, waiting } from "../outcome.ts";
import { responseHeaders } from "../response_headers.ts";
import { Mask } from "../secret_mask.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { configure, type ConfiguredRecipe, parseStored, type Step } from "./recipe.ts";
import {
  authHeaders,
  evaluate,
  expressionFailed,
  type Fault,
  firstFault,
  isOAuth,
  type RecipeContext,
  type RenderedRequest,
  renderRequest,
  textOf,
} from "./request.ts";
import { shippedRecipe } from "./shipped.ts";
import type { Tokens } from "./tokens.ts";

export interface RecipeParts {
  readonly post: CheckedPost;
  readonly expressions: Expressions;
  readonly tokens: Tokens;
  readonly rates: RequestRate;
  /** The time limit of one request. */
  readonly effectTimeoutMs: number;
  readonly monotonicMs: () => number;
}

/** One event for one route. */
export type RecipeRun =
  & Pick<SendRequest, keyof EventToRender | "progress" | "saveProgress" | "onStep">
  & { readonly route: RouteRecipe };

interface Progress {
  /** The version of the recipe and its settings, secrets apart; the progress of another one is discarded. */
  readonly version: string;
  /** The index of the first step that is not finished. */
  readonly next: number;
  /** What each step kept; a later one counts. */
  readonly kept: KeptBySteps;
}

type KeptBySteps = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface StepDone {
  readonly kind: "done";
  readonly status: number | null;
  readonly answer: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the remaining steps are skipped. */
  readonly isLast: boolean;
}

type Verdict = "next" | "done" | "retry" | "refused" | "unauthorized";

/** What an `outcome` expression may return. */
export const verdicts: readonly string[] = "next done retry refused unauthorized".split(" ");

/**
 * Returns the time for an attempt. Chosen: 21 s, so that the response is always within the service's 25 s for a delivery, and a
 * slow CRM does not look like an unavailable actions tier. A longer limit for requests makes the service's at least twice as long.
 */
export function runTimeoutMs(effectTimeoutMs: number): number {
  return Math.max(21_000, 2 * effectTimeoutMs - 1_000);
}

const keptBytesMax = 60_000;

/** Returns a route's recipe with its settings; `null` if this release has no such recipe. */
export function configureRoute(route: RouteRecipe): ConfiguredRecipe | null {
  const recipe = route.text === null ? shippedRecipe(route.name) : parseStored(route.text);
  return recipe === null ? null : configure(recipe, route);
}

/** Sends an event with its route's recipe; rejects if the database is unavailable. */
export async function runRecipe(run: RecipeRun, parts: RecipeParts): Promise<Outcome> {
  const configured = configureRoute(run.route);
  // A release that no longer has the recipe must not lose leads; setting the route again makes them due at once.
  if (configured === null) return waiting("recipe_unusable", 300_000);
  return await new Attempt(run, configured, parts).run();
}

/** One attempt to send an event. */
class Attempt {
  readonly #run: RecipeRun;
  readonly #parts: RecipeParts;
  readonly #configured: ConfiguredRecipe;
  readonly #context: RecipeContext;
  readonly #startedAtMs: number;
  #next = 0;
  #kept: KeptBySteps;
  #isSaved = true;
  #isLate = false;

  constructor(run: RecipeRun, configured: ConfiguredRecipe, parts: RecipeParts) {
    const { event, tenant, isTest, earlier, progress } = run;
    const { expressions } = parts;
    const stored = progress === null ? null : parseExactly(progress) as Progress;
    const { next, kept: keptBySteps } = stored !== null && stored.version === versionOf(configured)
      ? stored
      : { next: 0, kept: {} };
    const kept = mergeKept(keptBySteps);
    const mask = new Mask([
      ...Object.values(configured.secrets),
      ...Object.values(authHeaders(configured, "")),
    ]);
    this.#run = run;
    this.#parts = parts;
    this.#configured = configured;
    this.#next = next;
    this.#kept = keptBySteps;
    this.#context = { expressions, event, tenant, isTest, earlier, configured, mask, kept, token: null };
    this.#startedAtMs = parts.monotonicMs();
  }

  async run(): Promise<Outcome> {
    const { steps, unconfirmed } = this.#configured.recipe;
    const first = this.#next;
    let last: Outcome = {
      kind: "done",
      isUnsent: true,
      answer: first === 0 ? "No step applies; nothing was sent." : null,
    };
    for (const [index, step] of steps.entries()) {
      if (index < first && step.always !== true) continue;
      const ended = await this.#runStep(step);
      if (ended === "skipped") continue;
      if (ended.kind !== "done") {
        await this.#save();
        // Otherwise, a CRM that is too slow for any step would be asked for ever.
        const isStuck = ended.reason === "crm_unfinished" && this.#isLate && this.#next === first;
        return isStuck ? { ...ended, kind: "failed" } : ended;
      }
      last = ended;
      if (ended.isLast) break;
      if (index < first || step.always === true || index === steps.length - 1) continue;
      this.#next = index + 1;
      this.#isSaved = false;
      await this.#save();
    }
    if (!unconfirmed || last.isUnsent) return last;
    return { ...last, answer: `Handed over; this CRM does not confirm. ${last.answer ?? ""}`.trim() };
  }

  /** Stores what is finished and kept, if that has changed. */
  async #save(): Promise<void> {
    if (this.#isSaved || this.#run.isTest) return;
    const progress: Progress = {
      version: versionOf(this.#configured),
      next: this.#next,
      kept: this.#kept,
    };
    await this.#run.saveProgress(stringifyExactly(progress) ?? "");
    this.#isSaved = true;
  }

  async #runStep(step: Step): Promise<"skipped" | Failed | StepDone> {
    if (!this.#hasTime()) return waiting("crm_unfinished", 1_000);
    const token = await this.#authorize(null);
    if (token !== null) return token;
    const request = await renderRequest(step, this.#context);
    if (request === null) return "skipped";
    if ("kind" in request) return request;
    let response = await this.#send(request);
    const { token: used } = this.#context;
    if (!("kind" in response) && response.head.status === 401 && used !== null) {
      const refused = await this.#authorize(used.accessToken);
      if (refused !== null) return refused;
      response = await this.#send(request);
    }
    const outcome = "kind" in response ? response : await this.#judge(step, response);
    const { status = null, answer = null } = outcome;
    const reason = outcome.kind === "done" ? null : outcome.reason;
    const url = this.#context.mask.hide(request.url);
    this.#run.onStep?.({ step: step.name, method: step.method, url, status, answer, reason });
    return outcome;
  }

  /** Gets the access token, if the recipe needs one; returns why there is none. */
  async #authorize(refused: string | null): Promise<Failed | null> {
    const { recipe: { auth } } = this.#configured;
    const { token: current, event: { tenant }, mask } = this.#context;
    if (!isOAuth(auth) || current !== null && refused === null) return null;
    if (!this.#hasTime()) return waiting("crm_unfinished", 1_000);
    const token = await this.#parts.tokens.get({ tenant, auth, configured: this.#configured, refused, mask });
    if ("kind" in token) return token;
    this.#context.token = token;
    mask.add(token.accessToken);
    return null;
  }

  /** Whether the attempt has the time for one more request. */
  #hasTime(): boolean {
    const { monotonicMs, effectTimeoutMs } = this.#parts;
    this.#isLate = monotonicMs() - this.#startedAtMs > runTimeoutMs(effectTimeoutMs) - effectTimeoutMs;
    return !this.#isLate;
  }

  /** Sends a request within the CRM's rate, unless there is no time left for it. */
  async #send({ url, method, headers, body }: RenderedRequest): Promise<Response | Failed> {
    const { recipe: { rate }, credential } = this.#configured;
    if (rate !== undefined && !this.#run.isTest) {
      const turn = this.#parts.rates.take(credential, rate, this.#parts.monotonicMs());
      if (turn.kind === "later") return waiting("crm_rate", turn.ms);
      if (turn.ms > 0) await new Promise((resolve) => setTimeout(resolve, turn.ms));
    }
    if (!this.#hasTime()) return waiting("crm_unfinished", 1_000);
    const auth = authHeaders(this.#configured, this.#context.token?.accessToken ?? "");
    const { tenant } = this.#context.event;
    return await this.#parts.post.request(url, { tenant, method, body, headers: { ...headers, ...auth } });
  }

  async #judge(step: Step, { head, body }: Response): Promise<Failed | StepDone> {
    const { status } = head;
    const text = body.toString("utf8");
    const headers = headerFields(head);
    // Masked as a whole, because the cut may be within a secret.
    const hide = (value: string) => this.#context.mask.hide(value);
    const received = {
      status,
      answer: responseText(Buffer.from(hide(text))),
      headers: responseHeaders(headers, hide),
    };
    const judged = await this.#evaluateResponse(step, { status, headers, text });
    if ("message" in judged) return { ...expressionFailed(step, judged, this.#context), status };
    const { verdict, kept } = judged;
    const reason = status >= 200 && status < 300 ? `crm_${verdict}` : `http_${status}`;
    switch (verdict) {
      case "unauthorized":
        return { ...waiting("crm_unauthorized", 60_000), ...received };
      case "retry":
        return failed(reason, retryAfterSeconds(head), received);
      case "refused":
        return { ...failed(reason, null, received), kind: "refused" };
      default:
        this.#isSaved &&= kept === this.#kept;
        this.#kept = kept;
        this.#context.kept = mergeKept(kept);
        return { kind: "done", ...received, isLast: verdict === "done" };
    }
  }

  async #evaluateResponse(
    { name, outcome, keep }: Step,
    response: {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly text: string;
    },
  ): Promise<{ readonly verdict: Verdict; readonly kept: KeptBySteps } | Fault> {
    const expressions: Expression[] = [
      ...(outcome === undefined ? [] : [{ name: "outcome", text: outcome, as: "text" } as const]),
      ...(keep === undefined ? [] : [{ name: "keep", text: keep, as: "value" } as const]),
    ];
    const values = expressions.length === 0
      ? []
      : await evaluate(expressions, this.#context, { response }) ?? [];
    const verdict = (textOf(values, "outcome") ?? defaultVerdict(response.status)) as Verdict;
    if (!verdicts.includes(verdict)) {
      return { name: "outcome", message: `'${verdict.slice(0, 40)}' is none of ${verdicts.join(", ")}` };
    }
    const isKept = verdict === "next" || verdict === "done";
    // A response that is refused may lack what `keep` reads.
    const fault = firstFault(values.filter(({ name }) => name !== "keep" || isKept));
    if (fault !== null) return fault;
    if (keep === undefined) return { verdict, kept: this.#kept };
    const keptNow = parseExactly(textOf(values, "keep") ?? "{}");
    if (!isObject(keptNow)) return { name: "keep", message: "is not an object" };
    // A step that runs again forgets what its earlier response had.
    const kept = { ...this.#kept, [name]: keptNow };
    if (Buffer.byteLength(JSON.stringify(kept)) > keptBytesMax) {
      return { name: "keep", message: `keeps more than ${keptBytesMax} bytes` };
    }
    return { verdict, kept };
  }
}

function mergeKept(kept: KeptBySteps): Readonly<Record<string, unknown>> {
  return Object.values(kept).reduce((all, one) => ({ ...all, ...one }), {});
}

/** Returns what identifies a recipe and its settings, secrets apart. */
function versionOf({ recipe: { steps }, settings }: ConfiguredRecipe): string {
  return createHash("sha256").update(JSON.stringify([steps, settings])).digest("base64");
}

/** Returns what a status means by itself. Source: DECISIONS, CRM (What an answer means). */
function defaultVerdict(status: number): Verdict {
  if (status >= 200 && status < 300) return "next";
  if (status === 401 || status === 403) return "unauthorized";
  return status >= 500 || [408, 423, 425, 429].includes(status) ? "retry" : "refused";
}
