/**
 * Planted bugs: small patches to the tree that is proved, each with the schedule that has to show it.
 *
 * @module
 */

import type { Kind } from "./plan.ts";

/** A piece of a file's text in place of another, which stands in it exactly once. */
export type Edit = readonly [file: string, old: string, by: string];

/** A bug. */
export interface Bug {
  readonly name: string;
  /** What goes wrong, in a sentence. */
  readonly what: string;
  /** The steps that show it; none: it shows without any. */
  readonly steps: readonly Kind[];
  /** With the actions process and CRMs. */
  readonly hasActions: boolean;
  /** With operators at the end of the round. */
  readonly hasOperators: boolean;
  readonly edits: readonly Edit[];
}

const bug = (
  name: string,
  what: string,
  steps: readonly (Kind | "with_actions" | "with_operators")[],
  ...edits: readonly Edit[]
): Bug => ({
  ...{ name, what, edits, hasActions: steps.includes("with_actions") },
  hasOperators: steps.includes("with_operators"),
  steps: steps.filter((step) => step !== "with_actions" && step !== "with_operators"),
});

const accept = "sql/functions/accept.sql";
const settle = "sql/functions/settle_outbox.sql";
const claim = "sql/functions/claim_outbox.sql";
const committer = "src/store/serving/committer.ts";
const intake = "src/intake/handle.ts";

/** All of them. */
export const bugs: readonly Bug[] = [
  // From a post to its commit and its answer.
  bug("commit not awaited", "commits are answered before they are on disk or at the standby", [
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
  bug("commit warning ignored", "a commit whose wait for the standby was cancelled is answered 202", [
    "standby_lost",
  ], [
    "src/store/pool.ts",
    "if (this.#warnings !== warningsBefore) throw",
    "if (this.#warnings < warningsBefore) throw",
  ]),
  bug(
    "key not checked in the commit",
    "the commit does not look whether the key is still active",
    ["revoke"],
    [
      accept,
      "join api_key as k on k.id = b.key_id and k.revoked_at is null and k.suspended_at is null",
      "join api_key as k on k.id = b.key_id",
    ],
  ),
  bug("revocation cached", "a key from the cache is good enough for an answer", ["revoke"], [
    "src/gate/post.ts",
    "return await keys.find(digest) === null;",
    "return false;",
  ]),
  bug("dedupe without tenant", "two customers who use the same Idempotency-Key get one event", [], [
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
  bug("content window endless", "a lead of the day before yesterday makes today's a duplicate", [
    "day_passes",
  ], [accept, "make_interval(hours => greatest(p_window_hours, 24))", "make_interval(hours => 9000)"]),
  bug("content window without length", "the same lead without an Idempotency-Key is stored each time", [], [
    accept,
    "make_interval(hours => greatest(p_window_hours, 24))",
    "make_interval(hours => 0)",
  ]),
  bug("order of ids", "ids begin with another time than that of acceptance", [], [
    accept,
    "v_id_start := event_id_at(v_now);",
    "v_id_start := event_id_at(v_now - random() * interval '3 s');",
  ]),
  bug("collision lost", "another lead under a used Idempotency-Key is kept nowhere", [], [
    accept,
    "e.content_digest <> l.content and",
    "e.content_digest = l.content and",
  ]),
  bug("repeats counted twice", "the report has two repeats for each", [], [
    "src/service/commit_listener.ts",
    "totals.duplicate(entry.keyId);",
    "totals.duplicate(entry.keyId, 2);",
  ]),
  bug("limit of a key never", "a key may post as often as it likes", ["burst_of_key"], [
    intake,
    'if (!post.allowHolder(parts.keyBudget, key)) return post.refuse("rate_limited");',
    "post.allowHolder(parts.keyBudget, key);",
  ]),
  bug("body cap too high", "a body over 64 KiB is read and judged", [], [
    intake,
    "exchange.readBody(limits.bodyBytesMax)",
    "exchange.readBody(4 * limits.bodyBytesMax)",
  ]),
  bug("health always well", "health says that the store is writable whatever it does", [
    "postgres_freeze",
    "read_only",
  ], ["src/intake/router.ts", "store_writable: writable }", "store_writable: true }"]),
  bug(
    "SIGTERM drops requests",
    "a process that is told to stop does not finish what it is at",
    ["terminate"],
    ["src/process/run.ts", "await Promise.all([running.close(graceMs), told]);", "await told;"],
  ),
  bug("key in the log", "the access log has the key of a refused request", [], [
    "src/gate/post.ts",
    "this.#exchange.reason = reasonOf(fault);",
    'this.#exchange.reason = reasonOf(fault) ?? this.#exchange.header("x-api-key") ?? null;',
  ]),
  // From the outbox to the customer.
  bug("lease forgotten", "what a dead process had claimed is never claimed again", [
    "kill",
    "downstream_slow",
  ], [
    claim,
    "lease_until = v_now + make_interval(secs => p_lease_ms / 1000.0)",
    "lease_until = v_now + make_interval(days => 1)",
  ]),
  bug(
    "settle error swallowed",
    "a settlement that could not be written is forgotten",
    ["backends_terminate"],
    [
      "src/delivery/settler.ts",
      `    this.#waiting = [...batch, ...this.#waiting];
`,
      "",
    ],
  ),
  bug("effect memory not asked", "an event that comes again is done again", ["kill", "with_actions"], [
    "src/actions/effects.ts",
    'if (effect.state === "done") return "done";',
    "",
  ], [
    "sql/functions/actions_begin_effects.sql",
    "    where not e.is_done and (e.lease is null or e.lease_until <= v_now);",
    "    where e.lease is null or e.lease_until <= v_now;",
  ], [
    "sql/functions/actions_begin_effects.sql",
    "lease_until = excluded.lease_until, attempts",
    "lease_until = excluded.lease_until, is_done = false, attempts",
  ]),
  bug("attempts not recorded", "only the attempt that delivered leaves a row", ["downstream_failing"], [
    settle,
    "where s.kind = 'retry' or (v_left > 0 and s.kind is distinct from 'released')",
    "where coalesce(s.kind, 'delivered') = 'delivered'",
  ]),
  bug("held form delivered", "what a bot has filled in is delivered", [], [
    accept,
    `    where not v_has_forms
      or coalesce`,
    `    where true
      or coalesce`,
  ]),
  bug("payload without extra", "the customer does not get the fields that the contract does not name", [], [
    "src/delivery/send.ts",
    '"extra":${row.extra ?? "{}"},',
    '"extra":{},',
  ]),
  // What operators do, and customers of all shapes.
  bug("forms not awaited", "a batch with forms is answered before it is on disk", ["with_operators"], [
    accept,
    "  perform ensure_synchronous_commit();",
    "  perform ensure_synchronous_commit(); if p_form_id <> '' then perform set_config('synchronous_commit', 'off', true); end if;",
  ]),
  bug("lease fence off by one", "a late retry resets the row that another has claimed", ["with_operators"], [
    settle,
    `where o.event_id = s.event_id and o.lease = s.lease::uuid and o.made = s.number
      and s.kind in`,
    `where o.event_id = s.event_id and o.made - 1 <= s.number
      and s.kind in`,
  ]),
  bug("held forms not erased", "an erasure forgets what is held", ["with_operators"], [
    "sql/functions/erase_candidates.sql",
    "and e.removed_at is null",
    "and e.removed_at is null and coalesce(s.verdict, 'clean') = 'clean'",
  ]),
  bug("replay repeats effects", "a replay repeats what is done", ["with_operators", "with_actions"], [
    "sql/functions/replay_dead.sql",
    "if cardinality(v_replayed) > 0 then",
    "if cardinality(v_replayed) > 0 then update actions.effect set is_done = false where event_id = any (v_replayed);",
  ]),
  bug("forms of the disabled", "a disabled tenant's forms are accepted", ["with_operators"], [
    "sql/functions/disable_tenant.sql",
    "where k.tenant_id = v_id and k.revoked_at is null",
    "where k.tenant_id = v_id and k.surface = 'intake' and k.revoked_at is null",
  ]),
  bug("aside outlives its person", "an erasure leaves what was kept aside", ["with_operators"], [
    "sql/functions/erase_event.sql",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is null",
  ]),
  bug("send again done already", "what is to be sent again counts as done", [
    "with_operators",
    "with_actions",
  ], [
    "sql/functions/send_again.sql",
    "set round = f.round + 1, is_done = false,",
    "set round = f.round + 1, is_done = f.is_done,",
  ]),
  bug("form route ignored", "a form goes where the tenant's leads go", ["with_operators", "with_actions"], [
    "sql/functions/actions_routes_for.sql",
    "and c.source in ('', p_source) and c.form in ('', p_form)",
    "and c.source in ('', p_source) and c.form = ''",
  ]),
  bug("raise without end", "a raised limit does not end", ["burst_of_key"], [
    "src/store/serving/lookup.ts",
    "case when k.limit_until > service_clock() then",
    "case when k.limit_until is not null then",
  ]),
  bug("source of the key's id", "an acknowledgement names another source", [], [
    intake,
    "{ source: key.label, flags: read.flags,",
    "{ source: String(key.id), flags: read.flags,",
  ]),
  bug("search without email", "a lead is not found by its address", [], [
    "sql/functions/fill_lead_contact.sql",
    "select e.event_id, l.phone, l.email,",
    "select e.event_id, l.phone, null,",
  ]),
  bug("SIGTERM is a failure", "a process that is told to stop exits with 1", ["terminate"], [
    "src/process/run.ts",
    "await lines.drain(logGraceMs);\n    exit(0);",
    "await lines.drain(logGraceMs);\n    exit(1);",
  ]),
  bug("one commit waits", "posts that come while two wait are refused", [], [
    committer,
    "const queueEntriesMax = 4096;",
    "const queueEntriesMax = 1;",
  ]),
  bug("lost connection fatal", "a process ends when it loses a connection", ["cut_all"], [
    "src/store/pool.ts",
    "if (isConnectionLoss(error)) this.#replace(connections, reconnectPauseMs);",
    'if (isConnectionLoss(error)) globalThis["process"].exit(3);',
  ]),
];

/** Of each rule a bug that it alone catches. */
export const onlyCaughtBy: Readonly<Record<string, string>> = {
  stored: "content window without length",
  promise: "commit warning ignored",
  duplicates: "content window endless",
  collisions: "collision lost",
  content: "search without email",
  order: "order of ids",
  delivered: "lease forgotten",
  payload: "payload without extra",
  repeats: "settle error swallowed",
  effects: "effect memory not asked",
  attempts: "attempts not recorded",
  answers: "body cap too high",
  accepting: "one commit waits",
  drain: "SIGTERM is a failure",
  crash: "lost connection fatal",
  revocation: "key not checked in the commit",
  limits: "limit of a key never",
  counts: "repeats counted twice",
  health: "health always well",
  operators: "lease fence off by one",
  logs: "key in the log",
};

/** The text with the edits; throws where one does not fit. */
export function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, [file, old, by]) => {
    const pieces = before.split(old);
    if (pieces.length !== 2) throw new Error(`${file} has ${pieces.length - 1} times: ${old}`);
    return pieces.join(by);
  }, text);
}
