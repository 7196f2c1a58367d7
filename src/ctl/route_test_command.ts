/** Defines the tests of `ctl tenant route`: with a marked event, and without sending anything. */

import { requestActions } from "./actions_request.ts";
import { type CommandContext, Refused, type Reply } from "./command.ts";
import { block, JsonText, safe, table } from "./terminal.ts";
import type { StepReport } from "#src/actions/destination.ts";
import { indentJson } from "#src/lead/json.ts";
import type { Environment } from "#src/settings/reader.ts";
import type { RouteScope } from "#src/store/delivery/effects.ts";
import { auditRouteTest } from "#src/store/delivery/routes.ts";
import { effectName, readDelivered } from "#src/store/operator/event_effects.ts";
import type { Pool } from "#src/store/pool.ts";

/**
 * Returns the settings with which the service reaches the actions process: from the environment, or else from the
 * `npm start` running on this machine.
 *
 * @throws {Refused} if neither has them
 */
function findActionsSettings({ environment, developmentSettings }: CommandContext): Environment {
  const found = [environment, developmentSettings()].find((from) => from?.ACTIONS_URL?.trim());
  if (found) return found;
  throw new Refused(
    "ACTIONS_URL is not set, and no npm start with an actions process is running here. Set it, ACTIONS_CA_FILE, " +
      "ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE to the service's values",
  );
}

/** The result for one recipient. */
interface TestResult {
  readonly effect: string;
  readonly target: string;
  readonly outcome: "done" | "failed";
  readonly reason: string | null;
  readonly status: number | null;
  readonly answer: string | null;
  readonly duration_ms: number;
  /** The requests of a recipe. */
  readonly steps?: readonly StepReport[];
}

/** The response of the actions process to a test. */
interface TestResponse {
  readonly event_id?: string;
  readonly results?: readonly TestResult[];
  readonly requests?: readonly PreviewedRequest[];
  readonly faults?: readonly string[];
  readonly error?: unknown;
}

/** A request as it would be sent, with secrets masked. */
interface PreviewedRequest {
  /** The kind of the recipient's destination. */
  readonly effect: string;
  readonly step: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly made_up: readonly string[];
}

// Greater than the maximum effect timeout, which the actions process enforces.
const timeoutMs = 130_000;

/** @throws {Refused} if there is no response, or it is not JSON */
async function postTest(
  settings: Environment,
  body: unknown,
): Promise<{ readonly status: number; readonly json: TestResponse | null }> {
  try {
    const { status, text } = await requestActions(settings, { path: "/v1/tests", body, timeoutMs });
    return { status, json: JSON.parse(text) };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Refused(
      `The actions process at ${settings.ACTIONS_URL} does not respond (${
        code ?? message
      }); ctl doctor shows the cause`,
      { cause: error },
    );
  }
}

/** A test of a scope's routes. */
export interface RouteTest {
  readonly tenant: string;
  readonly scope: RouteScope;
  /** The scope in an error message. */
  readonly scopeName: string;
}

/** @throws {Refused} if nothing was sent, or the results are unknown */
async function runTest(context: CommandContext, test: RouteTest, more: object = {}): Promise<TestResponse> {
  const settings = findActionsSettings(context);
  const { status, json } = await postTest(settings, { tenant: test.tenant, ...test.scope, ...more });
  if (json?.error === "no_route") throw new Refused(`Nothing to test: no route applies to ${test.scopeName}`);
  if (status === 200 && json !== null) return json;
  throw new Refused(
    `The actions process responded with ${status}${
      typeof json?.error === "string" ? ` ${safe(json.error)}` : ""
    }; nothing was sent. Check that it runs this version and uses this database`,
  );
}

/**
 * Makes the actions process send a test event over a scope's routes, and audits the test.
 *
 * @throws {Refused} if no test was sent, or its results are unknown
 */
export async function testRoute(pool: Pool, context: CommandContext, test: RouteTest): Promise<Reply> {
  const { tenant, scope } = test;
  const json = await runTest(context, test);
  const { results = [] } = json;
  const failures = results.filter(({ outcome }) => outcome === "failed");
  await auditRouteTest(pool, tenant, { scope, sent: results.length, failed: failures.length });
  const steps = results.flatMap(({ steps = [] }) => steps);
  return {
    json: { tenant, ...json },
    hasFailures: failures.length > 0,
    text: [
      table(results, "", {
        "DESTINATION": ({ effect, target }) => `${effectName(effect)} ${target}`,
        "OUTCOME": ({ outcome, reason }) => reason === null ? outcome : `${outcome}: ${reason}`,
        ">STATUS": ({ status }) => status === null ? "-" : String(status),
        ">TIME": ({ duration_ms: durationMs }) => `${durationMs} ms`,
        // A step's response is below; other answers, such as an expression's fault, are only here.
        "RESPONSE": ({ answer, steps = [] }) =>
          steps.some((step) => step.answer === answer) ? "" : answer ?? "",
      }),
      ...steps.map(({ step, method, url, status, answer, reason }) =>
        `${safe(step)}: ${method} ${safe(url)} ▸ ${status ?? reason}\n${block(answer ?? "")}`.trimEnd()
      ),
      `Sent as event ${json.event_id}, which is not stored.`,
    ].join("\n\n"),
  };
}

/**
 * Shows the requests of a scope's routes for a made-up event, or for a stored one, over the event's own routes.
 *
 * @throws {Refused} if the event is not the tenant's or has no content
 */
export async function dryRun(
  pool: Pool,
  context: CommandContext,
  test: RouteTest,
  eventId: string | null,
): Promise<Reply> {
  const event = eventId === null ? null : await readDelivered(pool, eventId);
  if (event === "erased") throw new Refused(`The content of ${eventId} was removed`);
  if (eventId !== null && event?.tenant !== test.tenant) {
    throw new Refused(`Tenant ${test.tenant} has no event ${safe(eventId)}`);
  }
  const isScopeGiven = test.scope.source !== "" || test.scope.form !== "";
  const scope = event === null || isScopeGiven ? test.scope : { source: event.source, form: event.form };
  const { requests = [], faults = [] } = await runTest(context, { ...test, scope }, {
    dry_run: true,
    ...(event === null ? {} : { event_id: eventId, event: event.text }),
  });
  return {
    json: {
      requests: requests.map(({ body, ...request }) => ({
        ...request,
        body: body === null ? null : jsonOrText(body),
      })),
      faults,
    },
    hasFailures: faults.length > 0,
    text: [
      ...requests.map(({ step, method, url, headers, body, made_up: madeUp }) =>
        [
          `${safe(step)}: ${method} ${safe(url)}`,
          ...Object.entries(headers).map(([name, value]) => `  ${safe(name)}: ${safe(value)}`),
          ...(body === null ? [] : ["", block(indentJson(body))]),
          ...(madeUp.length === 0
            ? []
            : [`  (made up, because only the CRM's responses have it: ${madeUp.join(", ")})`]),
        ].join("\n")
      ),
      ...faults.map((fault) => `The rest cannot be shown: ${safe(fault)}`),
      requests.length + faults.length === 0
        ? "No request: every step of the recipe is skipped."
        : "Nothing was sent.",
    ].join("\n\n"),
  };
}

/** Returns a body as JSON with all its digits, or else as text. */
function jsonOrText(body: string): JsonText | string {
  return isJson(body) ? new JsonText(body) : body;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
