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
  bug("unknown outcome accepted", "a commit whose outcome is unknown is answered 202", [
    "cut_before_commit",
    "cut_after_commit",
    "cut_before_execute",
  ], [
    committer,
    "for (const waiting of batch) waiting.reject(error);",
    'for (const waiting of batch) waiting.resolve({ kind: "accepted", eventId: "0".repeat(38), receivedAt: "" });',
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
  bug(
    "dedupe by API key",
    "an Idempotency-Key that is used with another key of the same customer makes a second event",
    [],
    [
      intake,
      '...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),',
      `...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),
    digest: digest128(\`\${keyId} \${idempotencyKey.kind === "present" ? idempotencyKey.text : canonicalText(lead, extra)}\`),`,
    ],
  ),
  bug("content window endless", "a lead of the day before yesterday makes today's a duplicate", [
    "day_passes",
  ], [accept, "make_interval(hours => greatest(p_window_hours, 24))", "make_interval(hours => 9000)"]),
  bug("content window without length", "the same lead without an Idempotency-Key is stored each time", [], [
    accept,
    "make_interval(hours => greatest(p_window_hours, 24))",
    "make_interval(hours => 0)",
  ]),
  bug("duplicate names the loser", "a 200 names an id that was made for the post that lost", [], [
    accept,
    "else 'revoked' end, e.event_id,",
    "else 'revoked' end, case when e.event_id is not null then new_event_id(event_id_at(v_now), l.ord) end,",
  ]),
  bug(
    "answers of a batch exchanged",
    "posts that share a commit are answered with one another's events",
    [],
    [
      committer,
      "const decision = decisions[index] as Decision;",
      "const decision = decisions[batch.length - 1 - index] as Decision;",
    ],
  ),
  bug("order of ids", "ids begin with another time than that of acceptance", [], [
    accept,
    "v_id_start := event_id_at(v_now);",
    "v_id_start := event_id_at(v_now - random() * interval '3 s');",
  ]),
  bug("raw body normalized", "what is kept as the posted body is the normalized lead", [], [
    intake,
    `    extra,
    raw,
`,
    `    extra,
    raw: JSON.stringify(lead),
`,
  ]),
  bug("raw stored as lead", "the lead is stored as it was posted, and not normalized", [], [
    intake,
    "lead: text,",
    "lead: raw,",
  ]),
  bug("collision lost", "another lead under a used Idempotency-Key is kept nowhere", [], [
    accept,
    "e.content_digest <> l.content and",
    "e.content_digest = l.content and",
  ]),
  bug("spend counted twice", "a repeat that shares a commit with a new lead is charged again", [], [
    accept,
    `      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from unnest(v_won_ord) as w (ord)`,
    `      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from generate_subscripts(v_key_id, 1) as w (ord)`,
  ]),
  bug("spend lost", "what leads cost is not added to the campaign", [], [
    accept,
    "if array_remove(v_cost_cents, null) <> '{}' then",
    "if false then",
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
  bug("limit of an address never", "an address may post as often as it likes", ["burst_of_address"], [
    intake,
    'if (!post.allowAddress()) return post.refuse("rate_limited");',
    "post.allowAddress();",
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
  bug("gate stays closed", "after an outage the store counts as unwritable for good", ["read_only"], [
    "src/store/serving/heartbeat.ts",
    "if (startedAtMs >= this.#heldUntilMs) this.#change(true, null);",
    "if (!this.#hasBeaten) this.#change(true, null);",
  ]),
  bug("lost connection kept", "a connection that was lost is used again", ["silence_all", "cut_all"], [
    "src/store/pool.ts",
    "if (isConnectionLoss(error)) this.#replace(connections, reconnectPauseMs);",
    "",
  ], [
    "src/store/pool.ts",
    `      this.#replace(connections);
    });
    try {`,
    `    });
    try {`,
  ], ["src/store/pool.ts", "if (leftMs <= 0) return giveUp();", "if (leftMs <= 0) return;"]),
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
  bug("content in the log", "the log has a lead that was refused", [], [
    intake,
    'if (read.kind !== "valid") return post.refuse(read.kind, read);',
    'if (read.kind !== "valid") return post.refuse(read.kind, { ...read, reason: new TextDecoder().decode(body.bytes) });',
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
  bug("claimed twice", "two processes claim the same row", [], [
    claim,
    `      for update skip locked
`,
    "",
  ], [
    claim,
    "where o.ctid = d.place and (d.lease is null or d.spent < p_attempts_max)",
    "where o.event_id = d.event_id",
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
  bug("settles another's", "an effect that is settled settles those of other events that are being made", [
    "downstream_failing",
    "with_actions",
  ], [
    "sql/functions/actions_settle_effect.sql",
    "where e.event_id = p_event_id and e.route_id = p_route_id and e.round = p_round and not e.is_done",
    "where e.route_id = p_route_id and e.round = p_round and not e.is_done",
  ]),
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
  bug("route of another tenant", "a lead goes to every customer's CRM", ["with_actions"], [
    "sql/functions/actions_routes_for.sql",
    "where r.tenant_id = p_tenant_id and r.source",
    "where r.tenant_id >= p_tenant_id and r.source",
  ]),
  bug("sandbox delivered", "a sandbox's lead goes to a customer's CRM", ["with_actions"], [
    "sql/functions/actions_routes_for.sql",
    "where r.tenant_id = p_tenant_id and r.source",
    "where (r.tenant_id = p_tenant_id or exists (select from tenant as t where t.id = p_tenant_id and t.sandbox)) and r.source",
  ], [
    "src/store/delivery/effects.ts",
    `    if (first.sandbox) return { kind: "sandbox" };
    if (first.effect === null)`,
    "    if (first.effect === null)",
  ]),
  bug("breaker never closes", "once the tier was away, nothing is sent any more", ["downstream_down"], [
    "src/delivery/breaker.ts",
    `if (this.#state !== "open") return;
    this.#window = 1;`,
    `if (this.#awaySinceMs !== null) return;
    this.#window = 1;`,
  ]),
  bug("floor skips a row", "what is due before the newest claimed row is not looked for", [], [
    "src/delivery/tenant_queue.ts",
    "const floorLagMs = 10_000;",
    "const floorLagMs = -1_000;",
  ], [
    "src/delivery/tenant_queue.ts",
    `  forgetFloor(): void {
    this.#newestDueMs = Number.NEGATIVE_INFINITY;`,
    "  forgetFloor(): void {",
  ]),
  bug("no look without a hint", "what nobody announces is not looked for", [], [
    "src/delivery/loop.ts",
    "this.#schedule(this.#isHinted ? hintGapMs : this.#options.intervalMs);",
    "if (this.#isHinted) this.#schedule(hintGapMs);",
  ], ["src/store/delivery/listener.ts", "if (node !== this.#options.node) this.#options.onHint();", ""]),
  bug("retry under a new id", "a second attempt comes as another event", ["downstream_failing"], [
    "src/delivery/loop.ts",
    "this.#parts.send(row.event_id, payload(row))",
    'this.#parts.send(row.event_id + (row.number > 1 ? "0" : ""), payload(row))',
  ]),
  bug("dead instead of a retry", "the second refusal is the last", ["downstream_failing"], [
    "src/delivery/judge.ts",
    "row.spent >= options.attemptsMax ||",
    "row.spent >= 2 ||",
  ]),
  bug("refusal taken for delivery", "every answer of the tier counts as delivered", [
    "downstream_failing",
    "downstream_wrong_names",
  ], ["src/delivery/send.ts", "if (status >= 200 && status < 300) return", "if (status >= 200) return"]),
  bug("attempts not recorded", "only the attempt that delivered leaves a row", ["downstream_failing"], [
    settle,
    "where s.kind = 'retry' or (v_left > 0 and s.kind is distinct from 'released')",
    "where coalesce(s.kind, 'delivered') = 'delivered'",
  ]),
  bug("count of what waits not kept", "what is delivered stays in the count of what waits", [], [
    settle,
    "values ('pending', -(v_delivered + v_dead));",
    "values ('pending', -v_dead - v_delivered / 2);",
  ]),
  bug("outbox row forgotten", "a lead that shares a commit with a form is not delivered", [], [
    accept,
    `    where not v_has_forms
      or coalesce`,
    `    where not v_has_forms
      or false and coalesce`,
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
  bug("retention not queued", "what a tenant with a retention gets is not delivered", ["with_operators"], [
    accept,
    "select i.event_id, i.tenant_id, v_now from inserted as i",
    "select i.event_id, i.tenant_id, v_now from (select i.* from inserted as i join tenant as t on t.id = i.tenant_id and t.retention_days is null) as i",
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
  bug("search without email", "a lead is not found by its address", ["with_operators"], [
    "sql/functions/fill_lead_contact.sql",
    "select e.event_id, l.phone, l.email,",
    "select e.event_id, l.phone, null,",
  ]),
  bug("accepted collision is free", "what is accepted later is not charged to the campaign", [
    "with_operators",
  ], [
    "sql/functions/accept_collision.sql",
    "if v_kind = 'lead' and v_key.campaign_id is not null",
    "if v_kind = 'lead' and v_key.campaign_id is null",
  ]),
  bug("forms of the disabled", "a disabled tenant's forms are accepted", ["with_operators"], [
    "sql/functions/disable_tenant.sql",
    "where k.tenant_id = v_id and k.revoked_at is null",
    "where k.tenant_id = v_id and k.surface = 'intake' and k.revoked_at is null",
  ]),
  bug("expired contact kept", "whom a submission names outlives its content", ["with_operators"], [
    "sql/functions/expire_content.sql",
    "update submission as s set phone = null, email = null, last_name = null where s.event_id = any (v_gone);",
    "update submission as s set phone = null, last_name = null where s.event_id = any (v_gone);",
  ]),
  bug("dismissal not noted", "the audit does not say who dismissed what was kept aside", ["with_operators"], [
    "sql/functions/dismiss_collision.sql",
    `  perform append_audit(
    p_way, p_claimed, 'collision.dismiss', array[v_event_id], json_build_object('collision', p_id)
  );`,
    "",
  ]),
  bug("form window too long", "a form of twelve minutes ago makes this one a duplicate", ["with_operators"], [
    accept,
    "greatest(p_form_window_minutes, 10)",
    "greatest(p_form_window_minutes, 12)",
  ]),
  bug("aside outlives its person", "an erasure leaves what was kept aside", ["with_operators"], [
    "sql/functions/erase_event.sql",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is not null",
    "where c.event_id = p_event_id and c.id <> all (coalesce(p_kept, '{}')) and c.content_digest is null",
  ]),
  bug("release not counted", "what is released is missing in the count of what waits", ["with_operators"], [
    "sql/functions/release_submission.sql",
    "insert into outbox_tally (state, delta) values ('pending', 1);",
    "",
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
  bug("late death", "a holder whose lease has run out can still give a row up", ["with_operators"], [
    settle,
    "when 'delivered' then s.number > o.sent_before else o.lease = s.lease and o.made = s.number end",
    "when 'delivered' then s.number > o.sent_before else s.number > o.sent_before end",
  ]),
  bug("raise without end", "a raised limit does not end", ["burst_of_key"], [
    "src/store/serving/lookup.ts",
    "case when k.limit_until > service_clock() then k.limit_per_minute end as per_minute",
    "k.limit_per_minute as per_minute",
  ], [
    "src/store/serving/lookup.ts",
    "case when k.limit_until > service_clock() then k.limit_burst end as burst",
    "k.limit_burst as burst",
  ]),
  bug("source of the key's id", "an acknowledgement names another source", [], [
    intake,
    "{ source: key.label, flags: read.flags,",
    "{ source: String(key.id), flags: read.flags,",
  ]),
  bug("ends by itself", "a process ends two seconds after its start", [], [
    "src/process/run.ts",
    'log.info("started");',
    'log.info("started"); setTimeout(() => exit(3), 2_000);',
  ]),
  bug("certificate not renewed", "files that were replaced are not read again", ["listener_certificate"], [
    "src/http/tls_files.ts",
    "const timer = setInterval(look, options.everyMs);",
    "const timer = setInterval(() => void look, options.everyMs);",
  ]),
];

/** Of each rule a bug that shows it: the rule must be among those that catch it. */
export const caughtBy: Readonly<Record<string, string>> = {
  stored: "content window without length",
  promise: "commit warning ignored",
  duplicates: "content window endless",
  collisions: "collision lost",
  content: "raw stored as lead",
  order: "order of ids",
  delivered: "retention not queued",
  payload: "payload without extra",
  sandbox: "held form delivered",
  repeats: "claimed twice",
  effects: "effect memory not asked",
  attempts: "attempts not recorded",
  certificates: "certificate not renewed",
  answers: "body cap too high",
  accepting: "gate stays closed",
  drain: "SIGTERM drops requests",
  crash: "ends by itself",
  revocation: "key not checked in the commit",
  source: "source of the key's id",
  limits: "limit of a key never",
  counts: "spend lost",
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
