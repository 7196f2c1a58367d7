/**
 * A conventional intake: Fastify and node-postgres, with one transaction per request and the same tables.
 *
 * It looks up the key by its digest, uses our validator and digests, and writes the event, its outbox row, the
 * campaign's spend and the count of an unknown term in one transaction. So it counts unknown terms during the post; the
 * service counts them afterwards, when it indexes the event for the search. It omits rate limits, access log, request ids,
 * the lock against revocation, collisions and the heartbeat.
 */

import { hash, randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import process from "node:process";
import { canonicalText } from "../../../src/lead/fingerprint.ts";
import { foldArea } from "../../../src/lead/place.ts";
import { validate } from "../../../src/lead/validate.ts";

// No static import: the repository's type check would need this package's dependencies.
const require = createRequire(import.meta.url);
const fastify = require("fastify");
const pg = require("pg");

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.POOL_SIZE) });

// Named, so that each connection prepares them only once.
const findKey = {
  name: "find_key",
  text: `select id, tenant_id, campaign_id, label from api_key
    where digest = decode($1, 'hex') and surface = 'intake' and revoked_at is null`,
};
const insertEvent = {
  name: "insert_event",
  text: `insert into event (
      event_id, kind, tenant_id, key_id, received_at, dedupe_space, dedupe_digest, content_digest, idempotency_key,
      flags, lead, extra, raw
    ) values ($1, 'lead', $2, $3, now(), 'k', $4, $5, $6, $7, $8, $9, $10)
    on conflict (tenant_id, dedupe_space, dedupe_digest) do nothing
    returning received_at`,
};
const insertOutbox = {
  name: "insert_outbox",
  text: "insert into outbox (event_id, tenant_id, due_at) values ($1, $2, now())",
};
const addSpend = {
  name: "add_spend",
  text: "insert into campaign_charge (campaign_id, cents) values ($1, $2)",
};
const countUnknown = {
  name: "count_unknown",
  text:
    `insert into unknown_area as u (tenant_id, key_id, term, count, first_at, last_at) values ($1, $2, $3, 1, now(), now())
    on conflict (term, tenant_id) do update set count = u.count + 1, last_at = excluded.last_at`,
};

/** Half of a SHA-256, as stored in the tables. */
const digest128 = (text) => hash("sha256", text, "hex").slice(0, 32);

/** Creates an id that sorts by time, which suits the tables' indexes. */
const makeEventId = () =>
  (Date.now() * 1000).toString(16).padStart(14, "0") + "0001" + randomBytes(10).toString("hex");

/** Stores a lead in one transaction. */
async function store(client, { keyDigest, idempotencyKey, verdict, raw }) {
  const send = (statement, values) => client.query({ ...statement, values });
  await client.query("begin");
  const key = (await send(findKey, [keyDigest])).rows[0];
  if (key === undefined) return null;

  const { lead, extra, flags } = verdict;
  const eventId = makeEventId();
  const digest = digest128(idempotencyKey);
  const content = digest128(canonicalText(lead, extra));
  const inserted = await send(insertEvent, [
    eventId,
    key.tenant_id,
    key.id,
    digest,
    content,
    idempotencyKey,
    flags,
    JSON.stringify(lead),
    extra,
    raw,
  ]);
  if (inserted.rowCount === 0) throw new Error("The benchmark posts no lead twice");
  await send(insertOutbox, [eventId, key.tenant_id]);
  if (flags.includes("project_area_unknown")) {
    await send(countUnknown, [key.tenant_id, key.id, lead.project_area]);
  }
  // Last, so that the campaign's row is locked only during the commit.
  if (lead.cost_cents !== undefined) {
    await send(addSpend, [key.campaign_id, lead.cost_cents]);
  }
  await client.query("commit");
  return { key, eventId, receivedAt: inserted.rows[0].received_at, flags };
}

const app = fastify({ logger: false, bodyLimit: 65_536 });

// The body stays text, because the validator parses it.
app.removeContentTypeParser("application/json");
app.addContentTypeParser(
  "application/json",
  { parseAs: "string" },
  (_request, body, done) => done(null, body),
);

const acknowledgement = {
  type: "object",
  properties: {
    event_id: { type: "string" },
    status: { type: "string" },
    received_at: { type: "string" },
    source: { type: "string" },
    flags: { type: "array", items: { type: "string" } },
  },
};

const { rows } = await pool.query("select area from area where status <> 'retired'");
const areas = new Map(rows.map(({ area }) => [foldArea(area), area]));

app.post(
  "/v1/intake",
  { schema: { response: { 202: acknowledgement } } },
  async (request, reply) => {
    const verdict = validate(request.body, areas);
    if (verdict.kind === "invalid_json") {
      return reply.code(400).send({ error: verdict.kind });
    }
    if (verdict.kind !== "valid") {
      return reply.code(422).send({ error: verdict.kind, fields: verdict.fields });
    }
    const idempotencyKey = request.headers["idempotency-key"];
    if (idempotencyKey === undefined) {
      return reply.code(400).send({ error: "this peer requires an Idempotency-Key" });
    }

    const keyDigest = hash("sha256", request.headers["x-api-key"] ?? "", "hex");
    const client = await pool.connect();
    let outcome;
    try {
      outcome = await store(client, { keyDigest, idempotencyKey, verdict, raw: request.body });
      if (outcome === null) await client.query("rollback");
      client.release();
    } catch (error) {
      client.release(error);
      process.stderr.write(`${error.stack}\n`);
      return reply.code(503).send({ error: "not_accepting" });
    }
    if (outcome === null) return reply.code(401).send({ error: "unauthorized" });
    return reply.code(202).send({
      event_id: outcome.eventId,
      status: "accepted",
      received_at: outcome.receivedAt.toISOString(),
      source: outcome.key.label,
      flags: outcome.flags,
    });
  },
);

const url = await app.listen({ port: 0, host: "127.0.0.1" });
process.stdout.write(
  `${JSON.stringify({ event: "listening", surface: "intake", url })}\n{"event":"started"}\n`,
);
process.on("SIGTERM", async () => {
  await app.close();
  await pool.end();
  process.exit(0);
});
