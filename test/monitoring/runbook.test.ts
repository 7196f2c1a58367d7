import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "../support/monitoring/rehearsal.ts";
import { rehearsedService } from "../support/monitoring/rehearsed_service.ts";
import { ctl } from "../support/server.ts";
import { until } from "../support/until.ts";
import { freshKey, lead, visitor } from "../support/world.ts";

const service = await rehearsedService();
const { stand, prometheus: scraped, key, again, posts, taken } = service;
const { world, tier, smtp } = stand;
const prometheus = () => scraped;
const on = { databaseUrl: stand.databaseUrl };

test("nothing fires of a service that is well", async () => {
  await taken(3);
  await until(async () => (await scraped.query('lead_effects_total{outcome="done"} > 0')).length > 0);
  await until(async () => (await scraped.query("lead_sources_silent")).length > 0);
  // Prometheus was there before the service, and a busy machine may answer it late: so there comes a moment at which
  // nothing is even pending, but of what this machine has on its disk, and of the test's certificates, which have two days.
  await until(async () => {
    const active = (await scraped.active()).map(({ labels }) => labels.alertname ?? "");
    assert.deepEqual(active.filter((name) => !/Disk|Certificate/.test(name)), []);
    return true;
  }, { what: "nothing is pending", intervalMs: 200 });
});

rehearse(prometheus, ["PostsInvalid"], {
  breakIt: () => {},
  meanwhile: () => posts(10, { body: { first_name: "Ada" } }),
  mendIt: () => {},
  afterwards: () => posts(1),
});

rehearse(prometheus, ["PostsUnauthorized"], {
  breakIt: () => {},
  meanwhile: () => posts(20, { key: "wrong" }),
  mendIt: () => {},
  afterwards: () => posts(1),
});

rehearse(prometheus, ["PostsRateLimited"], {
  breakIt: () => again({ INTAKE_KEY_PER_MINUTE: "1", INTAKE_KEY_BURST: "5" }),
  meanwhile: () => posts(40),
  mendIt: async () => {
    const raised = ["--per-minute", "600000", "--burst", "100000", "--until", "2h"];
    await ctl(["key", "limit", String(key.id), ...raised], on);
    await taken(10);
  },
  afterwards: () => posts(10),
});

rehearse(prometheus, ["ActionsTierAway", "BreakerOpen"], {
  breakIt: () => tier.down(),
  meanwhile: () => posts(1),
  mendIt: () => tier.up(),
  isQuick: true,
});

const passed = tier.answer;
rehearse(prometheus, ["NothingDelivered"], {
  breakIt: async () => {
    tier.answer = () => ({ status: 424 });
    await taken(30);
  },
  mendIt: () => {
    tier.answer = passed;
  },
  afterwards: () => posts(1),
});

rehearse(prometheus, ["DestinationsFail"], {
  breakIt: async () => {
    smtp.answers.set("MAIL", "451 Not now");
    await taken(30);
  },
  mendIt: () => smtp.answers.clear(),
  afterwards: () => posts(1),
});

rehearse(prometheus, ["DeadLetters"], {
  breakIt: async () => {
    tier.answer = () => ({ status: 424 });
    await again({ DELIVERY_ATTEMPTS_MAX: "1" });
    await taken(3);
  },
  mendIt: () => {
    tier.answer = passed;
  },
  // The alert comes with the first of them; another may die after a replay, and one that a customer is slow to take dies again.
  afterwards: () => ctl(["dead", "replay", "--all", "--tenant", key.tenant.slug], on),
  isQuick: true,
});

rehearse(prometheus, ["OldestLeadWaits"], {
  breakIt: async () => {
    tier.answer = () => ({ status: 424 });
    await stand.pass(-7_200);
    await taken(1);
    await stand.pass(7_200);
    await again();
  },
  mendIt: () => {
    tier.answer = passed;
  },
});

rehearse(prometheus, ["DeliveryStuck"], {
  breakIt: async () => {
    await again({
      ACTIONS_URL: "",
      ACTIONS_CA_FILE: "",
      ACTIONS_CLIENT_CERT_FILE: "",
      ACTIONS_CLIENT_KEY_FILE: "",
    });
    await taken(1);
    await stand.pass(600);
  },
  mendIt: () => again(),
});

rehearse(prometheus, ["TenantWithoutRoute"], {
  breakIt: async () => {
    const other = await world.issue();
    await taken(1, { key: other.text });
    unrouted = other.tenant.slug;
  },
  mendIt: () => ctl(["tenant", "route", unrouted, "--email", "sales@customer.example"], on),
});
let unrouted = "";

rehearse(prometheus, ["CollisionsOpen"], {
  breakIt: async () => {
    const headers = { "Idempotency-Key": freshKey() };
    for (const body of [lead(), lead({ phone: "555-987-6543" })]) {
      const post = { key: key.text, body, headers };
      await until(async () => (await world.intake(post, service.server)).status !== 503);
    }
  },
  mendIt: async () => {
    const [open] = await ctl(["collision", "list", "--open", "--other"], on);
    await ctl(["collision", "dismiss", String(open.collision_id ?? open.id)], on);
  },
});

rehearse(prometheus, ["HeldBacklog"], {
  breakIt: () =>
    world.sql`insert into submission (event_id, tenant_id, form_id, verdict, score, reasons)
      select 'held' || n, ${key.tenant.id}, 1, 'spam', 90, '{}' from generate_series(1, 201) as n`,
  mendIt: () => world.sql`update submission set dismissed_at = now() where event_id = 'held1'`,
});

rehearse(prometheus, ["SourceSilent"], {
  breakIt: async () => {
    const { form, key: silent } = await world.formWithKey();
    source = { form, key: silent.text };
    await submitted();
    await stand.pass(3 * 86_400);
    // They are counted at the start, and every two minutes.
    await again();
  },
  mendIt: async () => {
    await submitted();
    await taken(1);
    for (const slug of await silentSlugs()) {
      await world.sql`update tenant set disabled_at = now() where slug = ${slug}`;
    }
    await world.sql`update api_key set revoked_at = now() where id in (
      select k.id from api_key as k join tenant as t on t.id = k.tenant_id where t.disabled_at is not null)`;
    await again();
  },
});
let source: { form: Awaited<ReturnType<typeof world.form>>; key: string };

async function submitted(): Promise<void> {
  const submission = { key: source.key, body: visitor() };
  await until(async () => (await world.submit(source.form, submission, service.server)).status !== 503);
}

/** The tenants of the other rehearsals, which sent something three days ago and nothing since. */
async function silentSlugs(): Promise<string[]> {
  const kept = [key.tenant.slug, source.form.tenant.slug];
  return (await world.sql<{ slug: string }[]>`select slug from tenant`).map(({ slug }) => slug).filter((
    slug,
  ) => !kept.includes(slug));
}
