/**
 * Planted bugs: small patches to the tested tree, each with the steps that must reveal it.
 *
 * @module
 */

import type { Kind } from "./plan.ts";

/** A replacement for text that occurs exactly once in a file. */
export type Edit = readonly [file: string, old: string, by: string];

export interface Bug {
  readonly name: string;
  /** The symptom, in a sentence. */
  readonly what: string;
  /** The steps that reveal the bug; may be empty. */
  readonly steps: readonly Kind[];
  /** Whether the actions process and CRMs run in the round. */
  readonly hasActions: boolean;
  /** Whether operators run their commands at the end of the round. */
  readonly hasOperators: boolean;
  readonly edits: readonly Edit[];
}

const bug = (
  name: string,
  what: string,
  steps: readonly (Kind | "actions" | "operators")[],
  ...edits: readonly Edit[]
): Bug => ({
  name,
  what,
  edits,
  hasActions: steps.includes("actions"),
  hasOperators: steps.includes("operators"),
  steps: steps.filter((step) => step !== "actions" && step !== "operators"),
});

const accept = "sql/functions/accept.sql";
const settle = "sql/functions/settle_outbox.sql";
const claim = "sql/functions/claim_outbox.sql";
const committer = "src/store/serving/committer.ts";
const intake = "src/intake/handle.ts";

/** All planted bugs. */
export const bugs: readonly Bug[] = [
  // From a post to its commit and its response.
  bug("commit not awaited", "posts are acknowledged before they are on disk or on the standby", [
    "standby_lost",
    "postgres_kill",
  ], [
    "sql/functions/ensure_synchronous_commit.sql",
    "if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then",
    "if true then",
  ], [
    "sql/functions/ensure_synchronous_commit.sql",
    "'synchronous_commit', 'on'",
    "'synchronous_commit', 'off'",
  ]),
  bug("commit warning ignored", "a post gets 202 without the standby", [
    "standby_lost",
  ], [
    "src/store/pool.ts",
    "if (this.#warnings !== warningsBefore) throw",
    "if (this.#warnings < warningsBefore) throw",
  ]),
  bug(
    "key not checked in the commit",
    "a post commits although its key was revoked after the first check",
    ["revoke"],
    [
      accept,
      "join api_key as k on k.id = b.key_id and k.revoked_at is null and k.suspended_at is null",
      "join api_key as k on k.id = b.key_id",
    ],
  ),
  bug("revocation cached", "a cached key is still accepted after its revocation", ["revoke"], [
    "src/gate/post.ts",
    "return await keys.find(digest) === null;",
    "return false;",
  ]),
  bug("dedupe without tenant", "two tenants that use the same Idempotency-Key get one event", [], [
    "sql/0005_event.sql",
    "on event (tenant_id, dedupe_space, dedupe_digest)",
    "on event (dedupe_space, dedupe_digest)",
  ], [
    accept,
    "on conflict (tenant_id, dedupe_space, dedupe_digest)",
    "on conflict (dedupe_space, dedupe_digest)",
  ], [
    accept,
    `    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at`,
    `    on e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at`,
  ]),
  bug("content window never ends", "a lead counts as a duplicate of a lead from the day before", [
    "day_passes",
  ], [accept, "make_interval(hours => greatest(p_window_hours, 24))", "make_interval(hours => 9000)"]),
  bug("content window of zero hours", "a repeated lead without an Idempotency-Key is stored again", [], [
    accept,
    "make_interval(hours => greatest(p_window_hours, 24))",
    "make_interval(hours => 0)",
  ]),
  bug("IDs out of order", "event IDs do not start with the time of acceptance", [], [
    accept,
    "v_id_prefix := event_id_at(v_now);",
    "v_id_prefix := event_id_at(v_now - random() * interval '3 s');",
  ]),
  bug("lead collision lost", "another lead under a used Idempotency-Key is not stored", [], [
    accept,
    "e.content_digest <> l.content and",
    "e.content_digest = l.content and",
  ]),
  bug("repeats counted twice", "the report counts each repeat twice", [], [
    "src/service/commit_listener.ts",
    "totals.duplicate(entry.keyId);",
    "totals.duplicate(entry.keyId, 2);",
  ]),
  bug("key limit not enforced", "a key has no rate limit", ["burst_of_key"], [
    intake,
    'if (!post.allowAuthenticated(parts.keyLimiter, key)) return post.refuse("rate_limited");',
    "post.allowAuthenticated(parts.keyLimiter, key);",
  ]),
  bug("body cap too high", "a body over 64 KiB is read and validated", [], [
    intake,
    "exchange.readBody(limits.bodyBytesMax)",
    "exchange.readBody(4 * limits.bodyBytesMax)",
  ]),
  bug("health always writable", "/healthz always reports that the store is writable", [
    "postgres_freeze",
    "read_only",
  ], ["src/intake/router.ts", "store_writable: writable }", "store_writable: true }"]),
  bug(
    "SIGTERM drops requests",
    "a process drops requests in flight on SIGTERM",
    ["terminate"],
    ["src/process/run.ts", "await Promise.all([running.close(graceMs), notified]);", "await notified;"],
  ),
  bug("key in the access log", "the access log contains the key of a refused request", [], [
    "src/gate/post.ts",
    "this.#exchange.reason = logReason(fault);",
    'this.#exchange.reason = logReason(fault) ?? this.#exchange.header("x-api-key") ?? null;',
  ]),
  // From the outbox to the customer.
  bug("lease of a day", "a killed process's events are not claimed again", ["kill", "downstream_slow"], [
    claim,
    "v_now + make_interval(secs => p_lease_ms / 1000.0)",
    "v_now + make_interval(days => 1)",
  ]),
  bug("waits not limited", "events wait for the time that the clock showed before it was set back", [
    "operators",
  ], [
    "sql/functions/limit_waits.sql",
    "  where o.ctid = l.place;",
    "  where false;",
  ]),
  bug(
    "failed settlement dropped",
    "a settlement that could not be written is not retried",
    ["backends_terminate"],
    [
      "src/delivery/settler.ts",
      `    this.#waiting = [...batch, ...this.#waiting];
`,
      "",
    ],
  ),
  bug(
    "done effects repeated",
    "a done effect is repeated when its event is delivered again",
    ["kill", "actions"],
    [
      "src/actions/effects.ts",
      'if (effect.state === "done") return "done";',
      "",
    ],
    [
      "sql/functions/actions_begin_effects.sql",
      "    where not e.is_done and not e.is_refused and (",
      "    where (",
    ],
    [
      "sql/functions/actions_begin_effects.sql",
      "      attempts = e.attempts + case",
      "      is_done = false, attempts = e.attempts + case",
    ],
  ),
  bug("attempts not recorded", "only successful attempts leave a row", ["downstream_failing"], [
    settle,
    "where s.kind = 'retry' or (v_left > 0 and s.kind is distinct from 'released')",
    "where coalesce(s.kind, 'delivered') = 'delivered'",
  ]),
  bug("held submission delivered", "a held submission is delivered", [], [
    accept,
    `    where not v_has_forms
      or coalesce`,
    `    where true
      or coalesce`,
  ]),
  bug("payload without extra", "the payload lacks the additional fields", [], [
    "src/store/delivery/payload.ts",
    '"extra":${row.extra ?? "{}"},',
    '"extra":{},',
  ]),
  // Operators' work, and tenants of all kinds.
  bug("form commit not awaited", "submissions are acknowledged before they are on disk", ["operators"], [
    accept,
    "  perform ensure_synchronous_commit();",
    "  perform ensure_synchronous_commit(); if p_form_id <> '' then perform set_config('synchronous_commit', 'off', true); end if;",
  ]),
  bug("settlement without lease check", "a late retry resets a row that is claimed again", [
    "operators",
  ], [
    settle,
    `where o.event_id = s.event_id and o.lease = s.lease::uuid and o.made = s.number
      and s.kind in`,
    `where o.event_id = s.event_id and o.made - 1 <= s.number
      and s.kind in`,
  ]),
  bug("held submissions not erased", "an erasure skips held submissions", ["operators"], [
    "sql/functions/erase_candidates.sql",
    "and e.removed_at is null",
    "and e.removed_at is null and coalesce(s.verdict, 'clean') = 'clean'",
  ]),
  bug("replay repeats effects", "a replay repeats done effects", ["operators", "actions"], [
    "sql/functions/replay_dead.sql",
    "if cardinality(v_replayed) > 0 then",
    "if cardinality(v_replayed) > 0 then update actions.effect set is_done = false where event_id = any (v_replayed);",
  ]),
  bug("disabled tenant accepted", "submissions to a disabled tenant are accepted", ["operators"], [
    "sql/functions/disable_tenant.sql",
    "where k.tenant_id = v_id and k.revoked_at is null",
    "where k.tenant_id = v_id and k.surface = 'intake' and k.revoked_at is null",
  ]),
  bug("collisions not erased", "an erasure skips collisions", ["operators"], [
    "sql/functions/erase_event.sql",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is null",
  ]),
  bug("send again does nothing", "the effects of an event that is sent again stay done", [
    "operators",
    "actions",
  ], [
    "sql/functions/send_again.sql",
    "set round = f.round + 1, is_done = false,",
    "set round = f.round + 1, is_done = f.is_done,",
  ]),
  bug("form route ignored", "a submission goes to its tenant's default route", [
    "operators",
    "actions",
  ], [
    "sql/functions/actions_routes_for.sql",
    "and c.source in ('', p_source) and c.form in ('', p_form)",
    "and c.source in ('', p_source) and c.form = ''",
  ]),
  bug("busy effect counts as done", "an effect that another process has claimed counts as done", [
    "operators",
    "actions",
  ], [
    "src/actions/effects.ts",
    'if (effect.state === "busy") return failed("in_progress", Math.max(1, Math.ceil(effect.waitMs / 1000)));',
    'if (effect.state === "busy") return "done";',
  ]),
  bug("only 200 is done", "an effect with a 2xx other than 200 is not done", ["operators"], [
    "sql/functions/actions_settle_effect.sql",
    "is_done = p_reason is null,",
    "is_done = coalesce(p_status = 200, false),",
  ]),
  bug("submission collision lost", "another submission under a used Idempotency-Key is not stored", [
    "operators",
  ], [accept, "where l.space in ('k', 'K') and", "where l.space = 'k' and"]),
  bug(
    "dedupe without form",
    "a submission to another form counts as a duplicate",
    ["operators"],
    [
      "src/forms/handle.ts",
      "const content = `${form.id}\\n${canonicalFields(posted, ",
      "const content = `${canonicalFields(posted, ",
    ],
  ),
  bug("retention a day too short", "content is removed a day early", ["operators"], [
    "sql/functions/expire_content.sql",
    "make_interval(days => t.retention_days)) as until_id",
    "make_interval(days => t.retention_days - 1)) as until_id",
  ]),
  bug("stale plan feed", "the feed does not show changed plans", ["operators"], [
    "src/plans/feed.ts",
    "if (rendered?.text !== text) rendered",
    "if (rendered === null) rendered",
  ]),
  bug("raised limit never ends", "a raised limit still applies after its end", ["burst_of_key"], [
    "src/store/serving/lookup.ts",
    "case when k.limit_until > service_clock() then",
    "case when k.limit_until is not null then",
  ]),
  bug("wrong source", "an acknowledgement has the key's ID as its source", [], [
    intake,
    "{ source: key.label, flags: lead.flags,",
    "{ source: String(key.id), flags: lead.flags,",
  ]),
  bug("search without email", "a lead is not found by its email address", [], [
    "sql/functions/fill_search_entry.sql",
    "coalesce(e.email, l.email),",
    "null,",
  ]),
  bug("SIGTERM exits with 1", "a process exits with code 1 on SIGTERM", ["terminate"], [
    "src/process/run.ts",
    "await lines.drain(logGraceMs);\n    exit(0);",
    "await lines.drain(logGraceMs);\n    exit(1);",
  ]),
  bug("commit queue of one", "posts are refused while another post waits in the queue", [], [
    committer,
    "const queueEntriesMax = 4096;",
    "const queueEntriesMax = 1;",
  ]),
  bug("lost connection is fatal", "a process exits when it loses a connection", ["cut_all"], [
    "src/store/pool.ts",
    "if (isConnectionLoss(error)) this.#replace(connections, reconnectPauseMs);",
    'if (isConnectionLoss(error)) globalThis["process"].exit(3);',
  ]),
  bug("route by source ignored", "events of a tenant whose only route is by source wait", [], [
    "sql/functions/actions_update_has_route.sql",
    "exists (select from actions.route as r where r.tenant_id = t.id)",
    "exists (select from actions.route as r where r.tenant_id = t.id and r.source = '' and r.form = '')",
  ]),
  bug(
    "lost last attempt never ends",
    "an event whose last attempt was lost is neither dead nor claimed again",
    ["operators"],
    [
      "sql/functions/claim_outbox.sql",
      "d.lease is not null and d.spent >= p_attempts_max",
      "d.lease is not null and d.spent > p_attempts_max",
    ],
  ),
  bug("numbers compared as doubles", "leads with different long numbers count as the same", ["operators"], [
    "src/lead/fingerprint.ts",
    `import { parseDecimal } from "./decimal.ts";
`,
    "",
  ], [
    "src/lead/fingerprint.ts",
    `  const { isNegative, digits, point } = parseDecimal(word);
  return \`\${isNegative ? "-" : ""}\${digits}e\${point}\`;`,
    "  return String(Number(word));",
  ]),
  bug("erasure does not end", "a post after an erasure is erased", ["operators"], [
    "sql/functions/register_erasure.sql",
    "on conflict (digest, run) do update set posted_until = excluded.posted_until, expires_at = excluded.expires_at;",
    `on conflict (digest, run) do update
    set posted_until = greatest(t.posted_until, excluded.posted_until),
      expires_at = greatest(t.expires_at, excluded.expires_at);`,
  ]),
  bug(
    "raised retention ignored",
    "events that were pending when they expired are removed under a raised retention",
    ["operators"],
    [
      "sql/functions/expire_content.sql",
      "coalesce(array_agg(l.event_id) filter (where l.is_due), '{}')",
      "coalesce(array_agg(l.event_id), '{}')",
    ],
  ),
  bug("replay dies of a lost connection", "an event that is sent again is dead after a lost connection", [
    "operators",
  ], [
    "src/delivery/settlement.ts",
    'if (outcome.kind !== "refused") return row.spent >= attemptsMax;',
    'if (outcome.kind !== "refused") return row.is_replay || row.spent >= attemptsMax;',
  ]),
  bug("key as a request ID", "a request ID that contains a key is echoed and logged", [], [
    "src/http/request_id.ts",
    "if (lengthInCodePoints(text) > rule.lengthMax || isRefused(text, rule)) return null;",
    "if (lengthInCodePoints(text) > rule.lengthMax) return null;",
  ]),
  bug(
    "restored form keeps its words",
    "a form that is restored keeps the words that its old definition blocks",
    ["operators"],
    [
      "src/store/operator/form_definitions.ts",
      `set required = excluded.required, threshold = excluded.threshold, blocked = excluded.blocked,
            removed_at = null`,
      "set required = excluded.required, threshold = excluded.threshold, removed_at = null",
    ],
  ),
  bug("Idempotency-Keys decoded", "two Idempotency-Keys that differ in their encoding count as the same", [
    "operators",
  ], [
    "src/gate/idempotency_key.ts",
    'return { kind: "present", bytes, text: maskKeys(text) };',
    'return { kind: "present", bytes: text, text: maskKeys(text) };',
  ], [
    "src/gate/idempotency_key.ts",
    `  const bytes = Buffer.from(value, "latin1");
`,
    "",
  ], [
    "src/gate/idempotency_key.ts",
    `import { Buffer } from "node:buffer";
`,
    "",
  ]),
  bug("debt outlives a raised limit", "a key is refused for minutes after its raised limit has ended", [
    "operators",
  ], [
    "src/limiter/token_bucket.ts",
    "Math.min(Math.max(0, (doubles[index + 1] as number) - earnedUnits), capacityUnits);",
    "Math.max(0, (doubles[index + 1] as number) - earnedUnits);",
  ]),
  bug("widest network wins", "an address gets the limit of the widest network that contains it", [], [
    "src/store/serving/reference.ts",
    "order by masklen(network) desc",
    "order by masklen(network)",
  ]),
  bug("breaker never forgets", "the breaker opens although the actions tier has responded between failures", [
    "operators",
  ], [
    "src/delivery/breaker.ts",
    "    this.#failures = 0;\n    this.#pauseMs = this.#options.pauseMs;",
    "    this.#pauseMs = this.#options.pauseMs;",
  ]),
  bug("counts lost with their write", "repeats whose count could not be written are not counted", [
    "operators",
  ], [
    "src/store/serving/totals.ts",
    "      for (const [keyId, count] of duplicates) this.duplicate(keyId, count);\n",
    "",
  ]),
  bug("equal costs counted once", "two leads of equal cost in a commit charge the campaign once", [
    "operators",
  ], [
    accept,
    "sum(v_cost_cents[w.ord]::lead_cost_cents)",
    "sum(distinct v_cost_cents[w.ord]::lead_cost_cents)",
  ]),
  bug("one effect repeats all", "an event whose CRM is sent the event again is mailed again", [
    "actions",
    "operators",
  ], [
    "sql/functions/send_again.sql",
    "marked_by = null\n  where f.event_id = p_event_id and f.effect = coalesce(p_effect, f.effect);",
    "marked_by = null\n  where f.event_id = p_event_id;",
  ]),
];

/** For each rule, the name of a bug that only this rule catches. */
export const onlyCaughtBy: Readonly<Record<string, string>> = {
  stored: "content window of zero hours",
  promise: "commit warning ignored",
  duplicates: "content window never ends",
  collisions: "lead collision lost",
  content: "search without email",
  order: "IDs out of order",
  delivered: "lease of a day",
  payload: "payload without extra",
  repeats: "failed settlement dropped",
  effects: "done effects repeated",
  attempts: "attempts not recorded",
  responses: "body cap too high",
  accepting: "commit queue of one",
  drain: "SIGTERM exits with 1",
  crash: "lost connection is fatal",
  revocation: "key not checked in the commit",
  limits: "key limit not enforced",
  counts: "repeats counted twice",
  health: "health always writable",
  operators: "settlement without lease check",
  logs: "key in the access log",
};

/** Applies edits to a file's text; throws if an edit's text does not occur exactly once. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, [file, old, by]) => {
    const pieces = before.split(old);
    if (pieces.length !== 2) {
      throw new Error(`${file} contains ${pieces.length - 1} times, expected once: ${old}`);
    }
    return pieces.join(by);
  }, text);
}
