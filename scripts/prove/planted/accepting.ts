/**
 * Planted bugs of the way from a post to its commit and its answer.
 *
 * @module
 */

import { type Bug, edit } from "./bug.ts";

const accept = "sql/functions/accept.sql";
const committer = "src/store/serving/committer.ts";

/** The bugs. */
export const acceptingBugs: readonly Bug[] = [
  {
    name: "commit not awaited",
    what: "commits are answered before they are on disk or at the standby",
    edits: [
      edit(
        "sql/functions/keep_promise.sql",
        "if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then",
        "if true then",
      ),
      edit("sql/functions/keep_promise.sql", "'synchronous_commit', 'on'", "'synchronous_commit', 'off'"),
    ],
    steps: ["standby_lost", "postgres_kill"],
  },
  {
    name: "unknown outcome accepted",
    what: "a commit whose outcome is unknown is answered 202",
    edits: [edit(
      committer,
      "for (const waiting of batch) waiting.reject(error);",
      'for (const waiting of batch) waiting.resolve({ kind: "accepted", eventId: "0".repeat(38), receivedAt: "" });',
    )],
    steps: ["cut_before_commit", "cut_after_commit", "cut_before_execute"],
  },
  {
    name: "commit warning ignored",
    what: "a commit whose wait for the standby was cancelled is answered 202",
    edits: [edit(
      "src/store/pool.ts",
      "if (this.#warnings !== warningsBefore) throw",
      "if (this.#warnings < warningsBefore) throw",
    )],
    steps: ["standby_lost"],
  },
  {
    name: "key not checked in the commit",
    what: "the commit does not look whether the key is still active",
    edits: [edit(
      accept,
      "join api_key as k on k.id = b.key_id and k.revoked_at is null and k.suspended_at is null",
      "join api_key as k on k.id = b.key_id",
    )],
    steps: ["revoke"],
  },
  {
    name: "revocation cached",
    what: "a key from the cache is good enough for an answer",
    edits: [edit("src/gate/post.ts", "return await keys.find(digest) === null;", "return false;")],
    steps: ["revoke"],
  },
  {
    name: "dedupe without tenant",
    what: "two customers who use the same Idempotency-Key get one event",
    edits: [
      edit(
        "sql/0005_event.sql",
        "on event (tenant_id, dedupe_space, dedupe_digest)",
        "on event (dedupe_space, dedupe_digest)",
      ),
      edit(
        accept,
        "on conflict (tenant_id, dedupe_space, dedupe_digest)",
        "on conflict (dedupe_space, dedupe_digest)",
      ),
      edit(
        accept,
        `    on e.tenant_id = k.tenant_id and e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at`,
        `    on e.dedupe_space = l.space::"char" and e.dedupe_digest = l.digest
      and k.revoked_at`,
      ),
    ],
    steps: [],
  },
  {
    name: "dedupe by API key",
    what: "an Idempotency-Key that is used with another key of the same customer makes a second event",
    edits: [edit(
      "src/intake/handle.ts",
      '...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),',
      '...dedupe("lead", idempotencyKey, digest128(canonicalText(lead, extra, text))),\n    digest: digest128(`${keyId} ${idempotencyKey.kind === "present" ? idempotencyKey.text : canonicalText(lead, extra)}`),',
    )],
    steps: [],
  },
  {
    name: "content window endless",
    what: "a lead of the day before yesterday makes today's a duplicate",
    edits: [
      edit(accept, "make_interval(hours => greatest(p_window_hours, 24))", "make_interval(hours => 9000)"),
    ],
    steps: ["day_passes"],
  },
  {
    name: "content window without length",
    what: "the same lead without an Idempotency-Key is stored each time",
    edits: [
      edit(accept, "make_interval(hours => greatest(p_window_hours, 24))", "make_interval(hours => 0)"),
    ],
    steps: [],
  },
  {
    name: "duplicate names the loser",
    what: "a 200 names an id that was made for the post that lost",
    edits: [edit(
      accept,
      "else 'revoked' end, e.event_id,",
      "else 'revoked' end, case when e.event_id is not null then new_event_id(event_id_at(v_now), l.ord) end,",
    )],
    steps: [],
  },
  {
    name: "answers of a batch exchanged",
    what: "posts that share a commit are answered with one another's events",
    edits: [edit(
      committer,
      "const decision = decisions[index] as Decision;",
      "const decision = decisions[batch.length - 1 - index] as Decision;",
    )],
    steps: [],
  },
  {
    name: "order of ids",
    what: "ids begin with another time than that of acceptance",
    edits: [
      edit(
        accept,
        "v_id_start := event_id_at(v_now);",
        "v_id_start := event_id_at(v_now - random() * interval '3 s');",
      ),
    ],
    steps: [],
  },
  {
    name: "raw body normalized",
    what: "what is kept as the posted body is the normalized lead",
    edits: [
      edit("src/intake/handle.ts", "    extra,\n    raw,\n", "    extra,\n    raw: JSON.stringify(lead),\n"),
    ],
    steps: [],
  },
  {
    name: "raw stored as lead",
    what: "the lead is stored as it was posted, and not normalized",
    edits: [edit("src/intake/handle.ts", "lead: text,", "lead: raw,")],
    steps: [],
  },
  {
    name: "collision lost",
    what: "another lead under a used Idempotency-Key is kept nowhere",
    edits: [edit(accept, "e.content_digest <> l.content and", "e.content_digest = l.content and")],
    steps: [],
  },
  {
    name: "spend counted twice",
    what: "a repeat that shares a commit with a new lead is charged again",
    edits: [edit(
      accept,
      `      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from unnest(v_won_ord) as w (ord)`,
      `      select k.campaign_id, sum(v_cost_cents[w.ord]::lead_cost_cents)
      from generate_subscripts(v_key_id, 1) as w (ord)`,
    )],
    steps: [],
  },
  {
    name: "spend lost",
    what: "what leads cost is not added to the campaign",
    edits: [edit(accept, "if array_remove(v_cost_cents, null) <> '{}' then", "if false then")],
    steps: [],
  },
  {
    name: "repeats counted twice",
    what: "the report has two repeats for each",
    edits: [
      edit("src/service/handover.ts", "totals.duplicate(entry.keyId);", "totals.duplicate(entry.keyId, 2);"),
    ],
    steps: [],
  },
  {
    name: "limit of a key never",
    what: "a key may post as often as it likes",
    edits: [edit(
      "src/intake/handle.ts",
      'if (!post.allowHolder(parts.keyBudget, key)) return post.refuse("rate_limited");',
      "post.allowHolder(parts.keyBudget, key);",
    )],
    steps: ["burst_of_key"],
  },
  {
    name: "limit of an address never",
    what: "an address may post as often as it likes",
    edits: [edit(
      "src/intake/handle.ts",
      'if (!post.allowAddress()) return post.refuse("rate_limited");',
      "post.allowAddress();",
    )],
    steps: ["burst_of_address"],
  },
  {
    name: "body cap too high",
    what: "a body over 64 KiB is read and judged",
    edits: [
      edit(
        "src/intake/handle.ts",
        "exchange.readBody(limits.bodyBytesMax)",
        "exchange.readBody(4 * limits.bodyBytesMax)",
      ),
    ],
    steps: [],
  },
  {
    name: "health always well",
    what: "health says that the store is writable whatever it does",
    edits: [edit("src/intake/health.ts", "store_writable: writable }", "store_writable: true }")],
    steps: ["postgres_freeze", "read_only"],
  },
  {
    name: "gate stays closed",
    what: "after an outage the store counts as unwritable for good",
    edits: [edit(
      "src/store/serving/heartbeat.ts",
      "if (startedAtMs >= this.#heldUntilMs) this.#change(true, null);",
      "if (!this.#hasBeaten) this.#change(true, null);",
    )],
    steps: ["read_only"],
  },
  {
    name: "lost connection kept",
    what: "a connection that was lost is used again",
    edits: [
      edit(
        "src/store/pool.ts",
        "if (isConnectionLoss(error)) this.#leave(generation, reconnectPauseMs);",
        "",
      ),
      edit("src/store/pool.ts", "      this.#leave(generation);\n    });\n    try {", "    });\n    try {"),
      edit("src/store/deadline.ts", "if (leftMs <= 0) return giveUp();", "if (leftMs <= 0) return;"),
    ],
    steps: ["silence_all", "cut_all"],
  },
  {
    name: "SIGTERM drops requests",
    what: "a process that is told to stop does not finish what it is at",
    edits: [edit("src/service/run.ts", "await Promise.all([running.close(graceMs), told]);", "await told;")],
    steps: ["terminate"],
  },
  {
    name: "key in the log",
    what: "the access log has the key of a refused request",
    edits: [edit(
      "src/gate/post.ts",
      "this.#exchange.reason = reasonOf(fault);",
      'this.#exchange.reason = reasonOf(fault) ?? this.#exchange.header("x-api-key") ?? null;',
    )],
    steps: [],
  },
  {
    name: "content in the log",
    what: "the log has a lead that was refused",
    edits: [edit(
      "src/intake/handle.ts",
      'if (read.kind !== "valid") return post.refuse(read.kind, read);',
      'if (read.kind !== "valid") return post.refuse(read.kind, { ...read, reason: new TextDecoder().decode(body.bytes) });',
    )],
    steps: [],
  },
];
