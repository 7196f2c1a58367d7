/**
 * Fills a service with data that stresses every console page: several tenants and sources, long names and ids,
 * right-to-left scripts, similar rows, and everything that needs an operator. The console's tests and screenshots
 * use it.
 */

import { createHash, getRandomValues, randomBytes } from "node:crypto";
import type postgres from "postgres";
import { generateKey, type KeySurface } from "../../../src/contract/api_key.ts";
import { flagNames } from "../../../src/contract/fields.ts";

/** The events that a test can open. */
export interface Crowd {
  /** A dead lead with attempts, extra members, every flag and audit rows. */
  readonly dead: string;
  /** A held submission. */
  readonly held: string;
  /** A delivered lead. */
  readonly delivered: string;
  readonly collision: string;
  /** A returned lead of the tenant `acme`. */
  readonly returned: string;
  /** The slug of a tenant with a long name and a suspended CRM route. */
  readonly suspended: string;
}

/** Text that is harmful when unescaped or that changes the display of its neighbours. */
export const hostile =
  `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&amp;javascript:alert(3)\u202Etxt.exe\u0085\u200b`;

interface Source {
  readonly tenantId: number;
  readonly keyId: number;
  readonly key: string;
}

const longSlug = "northwest-kitchen-and-bath-remodelers-of-greater-portland-or";
const longLabel = "a source with a rather long label, lead-ads.example.com/campaigns/autumn";
const longWord = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
const arabic = "تجديد المطبخ في الطابق الثاني";
const hebrew = "שיפוץ מטבח";

const deadReasons = [
  "crm_http_500_with_a_reason_that_goes_on_and_on_without_a_space",
  "mail_451",
  "crm_timeout",
  "slack_404",
  "crm_410",
];

/** Fills an empty database and posts through the intake. */
export async function crowd(sql: postgres.Sql, intakeUrl: string): Promise<Crowd> {
  const post = async (source: Source, body: object, idempotencyKey = randomBytes(9).toString("hex")) => {
    const answer = await fetch(`${intakeUrl}/v1/intake`, {
      method: "POST",
      headers: {
        "X-API-Key": source.key,
        "Content-Type": "application/json",
        "Idempotency-Key": idempotencyKey,
      },
      body: JSON.stringify(body),
    });
    const { event_id: eventId } = await answer.json() as { event_id?: string };
    if (eventId === undefined) throw new Error(`The intake answered ${answer.status}`);
    return eventId;
  };
  const acme = await source(sql, "acme", "web");
  const long = await source(sql, longSlug, longLabel);
  const eastern = await source(sql, "mizrahi", `מקור ${hebrew}`);
  await source(sql, "idle", "nobody-has-used-this.example", { createdDaysAgo: 40 });
  const old = await source(sql, "acme", "the first one", { createdDaysAgo: 400 });
  await sql`update api_key set revoked_at = now() where id = ${old.keyId}`;
  await sql`update api_key set last_used_at = now() - interval '45 days' where id = ${eastern.keyId}`;
  await sql`
    update api_key set limit_per_minute = 12000, limit_burst = 2400, limit_until = now() + interval '6 hours'
    where id = ${long.keyId}`;

  const alike: string[] = [];
  for (let index = 0; index < 27; index++) {
    alike.push(
      await post(acme, {
        first_name: "Maria",
        last_name: "Garcia",
        phone: `(503) 555-01${String(10 + index)}`,
        city: index % 3 === 0 ? "Portland" : "Beaverton",
        zip: "97201",
        project_area: ["kitchen", "roof", "bathroom"][index % 3],
        cost: 12 + index / 2,
      }),
    );
  }
  const [delivered = "", returned = ""] = alike;
  await sql`select return_lead(${returned}, 'not_a_homeowner', ${`${hostile} ${longWord}`})`;
  const [dead, ...deadToo] = await Promise.all(
    deadReasons.map((_, index) =>
      post(index % 2 === 0 ? long : acme, {
        first_name: "Wolfeschlegelsteinhausenbergerdorff",
        last_name: index === 0 ? longWord : `O'Neill-${index}`,
        phone: "call me",
        email: "somebody.with.a.very.long.mailbox.name.indeed@a-subdomain.of-a-long-domain-name.example.com",
        street_address: "12 Example Street, Apartment 4711, the blue door behind the second yard",
        city: longWord,
        project_area: "sauna",
        project_details: `${"We want the island to stay. ".repeat(30)}${arabic}\n\n${"w".repeat(200)}`,
        utm: { source: "lead-ads", campaign: "autumn", terms: ["oak", "kitchen island", longWord] },
        budget: { from: 12_345.6789, to: null, firm: false, parts: [{ what: "counter", cents: 120000 }, {}] },
        "a name of a member that is as long as its neighbours are short": "x",
        notes: arabic,
        [hostile]: hostile,
        consent: true,
      })
    ),
  );
  await kill(sql, [dead as string, ...deadToo]);
  // More flags than one lead can have.
  await sql`update event set flags = ${[...flagNames]} where event_id = ${dead as string}`;
  await deliver(sql, alike.slice(0, 12));

  for (const project_area of ["sauna", arabic, "w".repeat(100), "kitchen remodel", "Küche und Bad"]) {
    for (const one of [acme, long, eastern]) {
      await post(one, {
        first_name: "ليلى",
        last_name: hebrew,
        phone: "(503) 555-0199",
        project_area,
        project_details: arabic,
      });
    }
  }
  await sql`
    insert into area (area, status) values ('wine cellar', 'proposed'), (${
    "proposed ".repeat(8).trim()
  }, 'proposed'),
      ('parlour', 'retired')`;

  for (const [index, city] of ["Springfield", longWord, arabic].entries()) {
    const key = `${index === 0 ? "4711" : randomBytes(60).toString("hex")}`;
    for (const phone of ["(503) 555-0101", "(503) 555-0102", "(503) 555-0102"]) {
      const first_name = phone.endsWith("1") ? "Ada" : "Grace";
      const zip = phone.endsWith("1") ? "97201" : undefined;
      await post(index === 1 ? long : acme, { first_name, last_name: "Hopper", phone, city, zip }, key);
    }
  }
  const [collision] = await sql<{ id: string }[]>`select id::text from collision order by id desc limit 1`;

  const forms = await form(sql, acme.tenantId, { key: "contact", required: ["name", "email"], blocked: [] });
  const quote = await form(sql, long.tenantId, {
    key: "request-a-quote.2026-autumn-campaign-of-the-whole-north-west",
    required: ["name", "email", "phone", "street_address", "project_details"],
    blocked: ["casino", "backlinks", "cheap essays", longWord],
  });
  const held: string[] = [];
  const reasons = [["links", "too_fast"], ["honeypot_filled"], [
    "blocked_word",
    "links",
    "gibberish",
    "w".repeat(80),
  ], []];
  for (const [index, names] of reasons.entries()) {
    const from = index % 2 === 0 ? acme : long;
    const id = await post(from, { first_name: "Seo", last_name: "Guru", phone: "(503) 555-0150" });
    held.push(id);
    await sql`update event set kind = 'form' where event_id = ${id}`;
    await sql`delete from outbox where event_id = ${id}`;
    await sql`insert into outbox_tally values ('pending', -1)`;
    await sql`
      insert into submission (event_id, tenant_id, form_id, verdict, score, reasons)
      values (${id}, ${from.tenantId}, ${from === acme ? forms : quote},
        ${names.includes("honeypot_filled") ? "honeypot" : "spam"}, ${9 + 7 * index}, ${names})`;
  }
  await suspended(sql, acme, alike.slice(12, 24));
  await suspended(sql, long, [
    await post(long, { first_name: "Ada", last_name: "Lovelace", phone: "(503) 555-0160" }),
  ]);
  await sql`select from pause_tenant('acme', '{email}', ${`They move until Monday: ${longWord}`})`;
  await sql`select from pause_tenant('mizrahi', '{""}', ${hebrew})`;
  await answered(sql, acme, delivered);
  await audited(sql, { dead: dead as string, delivered, submission: held[0] as string });
  await sampled(sql);
  return {
    dead: dead as string,
    held: held[2] as string,
    delivered,
    returned,
    collision: collision?.id as string,
    suspended: longSlug,
  };
}

/** Adds a key, and its tenant if the slug is new. */
async function source(
  sql: postgres.Sql,
  slug: string,
  label: string,
  { surface = "intake", createdDaysAgo = 0 }: { surface?: KeySurface; createdDaysAgo?: number } = {},
): Promise<Source> {
  const key = generateKey({ surface, sandbox: false }, (bytes) => getRandomValues(bytes));
  await sql`insert into tenant (slug, name) values (${slug}, ${slug}) on conflict (slug) do nothing`;
  const [row] = await sql<{ id: number; tenant_id: number }[]>`
    insert into api_key (tenant_id, surface, label, digest, last4, created_at)
    select t.id, ${surface}, ${label}, decode(${createHash("sha256").update(key).digest("hex")}, 'hex'),
      ${key.slice(-4)}, now() - make_interval(days => ${createdDaysAgo})
    from tenant as t where t.slug = ${slug}
    returning id, tenant_id`;
  return { key, keyId: row?.id as number, tenantId: row?.tenant_id as number };
}

async function form(
  sql: postgres.Sql,
  tenantId: number,
  { key, required, blocked }: { key: string; required: string[]; blocked: string[] },
): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into form (tenant_id, form_key, required, threshold, blocked)
    values (${tenantId}, ${key}, ${required}, ${blocked.length === 0 ? null : 12}, ${blocked}) returning id`;
  return row?.id as number;
}

/** Makes events dead after attempts with every outcome. */
async function kill(sql: postgres.Sql, eventIds: readonly string[]): Promise<void> {
  await sql`delete from outbox where event_id in ${sql([...eventIds])}`;
  await sql`delete from attempt where event_id in ${sql([...eventIds])}`;
  const outcomes = ["unreachable", "lost", "refused", "refused"];
  for (const [index, id] of eventIds.entries()) {
    const reason = deadReasons[index] ?? "crm_500";
    await sql`
      insert into dead_letter (event_id, tenant_id, died_at, reason)
      select ${id}, e.tenant_id, now() - make_interval(hours => ${index * 20}), ${reason}
      from event as e where e.event_id = ${id}`;
    await sql`
      insert into attempt (event_id, number, at, outcome, status, reason, duration_ms, spent)
      select ${id}, o.number, now() + make_interval(secs => o.number), o.outcome,
        case when o.outcome = 'refused' then 424 end, case when o.outcome = 'refused' then ${reason} end,
        case when o.outcome <> 'lost' then 52 * o.number end, o.outcome <> 'unreachable'
      from unnest(${outcomes}::text[]) with ordinality as o (outcome, number)`;
  }
  await sql`insert into outbox_tally values ('pending', ${-eventIds.length}), ('dead', ${eventIds.length})`;
}

/** Gives a tenant routes of every kind, for a source that no lead comes from, and suspends the CRM's, for which events wait. */
async function suspended(
  sql: postgres.Sql,
  { tenantId }: Source,
  eventIds: readonly string[],
): Promise<void> {
  const isAlone = eventIds.length === 1;
  const source = isAlone ? longLabel : "";
  const form = isAlone ? "" : "contact";
  const [crm] = await sql<{ id: number }[]>`
    insert into actions.route (tenant_id, kind, source, form, address, settings, secrets, credential, recipe_version)
    values (${tenantId}, 'crm', ${
    isAlone ? "the first one" : ""
  }, ${form}, 'pipedrive', '{}', '{"token":"***","client_secret":"***"}', 'c', 'v')
    returning id`;
  await sql`
    insert into actions.route (tenant_id, kind, source, form, address, secret) values
      (${tenantId}, 'email', ${source}, ${form}, ${`${
    "leads-".repeat(8)
  }a@a-subdomain.of-a-long-domain-name.example.com`}, null),
      (${tenantId}, 'slack', ${source}, ${form}, 'https://hooks.slack.example/services/x', null)`;
  const answer = isAlone
    ? `{"message":"Property \\"${longWord}\\" does not exist","errors":[${
      '{"code":"PROPERTY_DOESNT_EXIST"},'.repeat(40)
    }{}]}`
    : '{"success":false,"error":"unauthorized access","errorCode":401}';
  await sql`
    insert into actions.effect (event_id, route_id, effect, attempts, settled_at, reason, status, answer)
    select e.id, ${crm?.id ?? 0}, 'crm', 1, case when e.place = 1 then now() + interval '1 second' end, ${
    isAlone ? "crm_suspended" : "crm_unauthorized"
  }, case when e.place = 1 then ${isAlone ? 400 : 401}::int end, case when e.place = 1 then ${answer} end
    from unnest(${[...eventIds]}::text[]) with ordinality as e (id, place)`;
  await sql`
    insert into actions.effect (event_id, route_id, effect, settled_at, is_done, reason, status, answer)
    select ${eventIds[0] as string}, r.id, r.kind, now() + interval '1 second', r.kind = 'email',
      case when r.kind = 'slack' then 'http_404' end, case when r.kind = 'slack' then 404 else 250 end, ${longWord}
    from actions.route as r where r.tenant_id = ${tenantId} and r.kind <> 'crm'`;
  await sql`
    insert into actions.suspension (tenant_id, route_id, reason, since, event_id)
    values (${tenantId}, ${crm?.id ?? 0}, ${
    isAlone ? "crm_suspended" : "crm_unauthorized"
  }, now() - interval '3 hours', ${eventIds[0] as string})`;
}

/** Adds an event's effects, with responses; the first one is marked as done. */
async function answered(sql: postgres.Sql, { tenantId }: Source, eventId: string): Promise<void> {
  await sql`
    insert into actions.effect (event_id, route_id, effect, settled_at, is_done, status, answer, headers, marked_by)
    select ${eventId}, r.id, r.kind, now() + interval '1 second', true, case r.kind when 'crm' then 422 else 201 end,
      ${`{"id":4711,"message":"${"welcome ".repeat(30)}"}`},
      ${JSON.stringify({ "content-type": "application/json", "x-request-id": longWord })}::text::json,
      case r.kind when 'crm' then 'olga@acme.example' end
    from actions.route as r where r.tenant_id = ${tenantId}`;
}

async function deliver(sql: postgres.Sql, eventIds: readonly string[]): Promise<void> {
  await sql`delete from outbox where event_id in ${sql([...eventIds])}`;
  await sql`delete from attempt where event_id in ${sql([...eventIds])}`;
  await sql`
    insert into attempt (event_id, number, at, outcome, status, duration_ms, spent)
    select id, 1, now(), 'delivered', 200, 310, true from unnest(${[...eventIds]}::text[]) as i (id)`;
  await sql`insert into outbox_tally values ('pending', ${-eventIds.length})`;
}

/** Adds audit rows for every kind of action. */
async function audited(
  sql: postgres.Sql,
  { dead, delivered, submission }: Readonly<Record<"dead" | "delivered" | "submission", string>>,
): Promise<void> {
  const ctl = "olga@a-host-with-a-rather-long-name.internal.example.com";
  const entries: readonly [way: string, action: string, subjects: string[], detail: object | null][] = [
    ["ctl", "tenant.add", ["acme"], { sandbox: false }],
    ["ctl", "tenant.route", ["acme"], { crm: "set", email: "set", slack: "none", new_secret: true }],
    ["ctl", "tenant.route", [longSlug], { crm: "kept", email: "cleared", new_secret: true }],
    ["ctl", "tenant.retention", ["acme"], { days: 90 }],
    ["ctl", "key.issue", ["3"], { tenant: longSlug, surface: "intake", label: longLabel }],
    ["ctl", "key.revoke", ["5"], { tenant: "acme", surface: "intake", label: "the first one" }],
    ["ctl", "form.add", [`${longSlug}/contact`], null],
    ["ctl", "ip.limit", ["192.0.2.0/24"], {
      per_minute: 600,
      burst: 100,
      until: "2026-12-01T00:00:00+00:00",
    }],
    ["ctl", "plan.put", ["basic"], { change: "changed", amount_cents: 4900 }],
    ["ctl", "area.retire", ["parlour"], { before: "confirmed" }],
    ["ctl", "person.erase_begin", ["a person"], null],
    ["ctl", "person.erase", ["12"], { events: 12, collisions: 1, attempts: 0 }],
    ["ctl", "moon.paint", [longWord], { colour: "green", layers: [1, 2], by: { hand: true } }],
    ["console", "submission.release", [submission], null],
    ["console", "dead.replay", [dead], null],
    ["ctl", "dead.done", [delivered], null],
    ["console", "event.send_again", [delivered], { effect: "email" }],
    ["console", "dead.replay", Array.from({ length: 12 }, () => randomBytes(19).toString("hex")), null],
  ];
  for (const [way, action, subjects, detail] of entries) {
    const claimed = way === "ctl" ? ctl : "olga@acme.example";
    await sql`select append_audit(${way}, ${claimed}, ${action}, ${subjects}, ${
      JSON.stringify(detail)
    }::text::json)`;
  }
}

/** Adds a month of samples for the charts; the last day has one sample per minute. */
async function sampled(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into minute_sample
      (at, node, accepted, refused, delivered, failed, died, refusals, pending, dead, oldest_pending_s, breaker)
    select date_trunc('minute', now()) - make_interval(mins => i), 'crowd', 24 + (8 * sin(i / 90.0))::int + i * 37 % 7,
      i % 3 + i % 2, 22 + (8 * sin(i / 90.0))::int, 0, (i % 181 = 0)::int,
      json_build_object('rate_limited', i % 2, 'validation_failed', i % 3), i % 40, 5, i % 90 + 3000 * (i between 300 and 420)::int,
      case when i between 300 and 420 then 'open' when i between 290 and 299 then 'half_open' else 'closed' end
    from (select generate_series(1, 1440) union select generate_series(1500, 43200, 10)) as s (i)`;
}
