/** Adds the demo's tenants. All are sandboxes, so that none of their leads leaves this machine. */

import type { KeySurface } from "../../src/contract/api_key.ts";
import { addCampaign, findCampaign } from "../../src/store/operator/tenants.ts";
import { addForm } from "../../src/store/operator/form_definitions.ts";
import type { Pool } from "../../src/store/pool.ts";
import { type Form, FormStore } from "../../src/store/serving/lookup.ts";
import { ensureTenant, issueKey } from "../seed.ts";

/** A source of leads or forms. */
export interface DemoSource {
  readonly label: string;
  readonly surface: KeySurface;
  readonly keyId: number;
  /** The average number of posts in the busiest hour of a weekday. */
  readonly busiestHourPosts: number;
}

export interface DemoTenant {
  readonly id: number;
  readonly slug: string;
  readonly form: Form;
  readonly areas: readonly string[];
  readonly sources: readonly DemoSource[];
}

const demoTenants = [
  {
    slug: "demo-roofing",
    name: "Northside Roofing",
    areas: ["roof", "gutters", "attic"],
    sources: [["partner-x", 2.5], ["search-ads", 1.5]],
    form: 0.5,
  },
  {
    slug: "demo-kitchens",
    name: "Example Kitchens",
    areas: ["kitchen", "bathroom"],
    sources: [["partner-x", 1.2], ["home-fair", 0.4]],
    form: 0.9,
  },
  {
    slug: "demo-windows",
    name: "Clear View Windows",
    areas: ["windows", "doors"],
    sources: [["partner-y", 0.8]],
    form: 0.2,
  },
] as const;

/** The slug by which a second run detects that the demo data exists. */
export const firstSlug = demoTenants[0].slug;

/** Adds the tenants with their forms, campaigns and keys. The texts of the keys are discarded. */
export async function addDemoTenants(pool: Pool): Promise<DemoTenant[]> {
  const tenants: DemoTenant[] = [];
  for (const { slug, name, areas, sources, form } of demoTenants) {
    const tenant = await ensureTenant(pool, { slug, name, sandbox: true });
    await addForm(pool, { tenantId: tenant.id, formKey: "contact" }, {
      required: ["name", "email"],
      threshold: null,
      blocked: [],
    });
    const found = await new FormStore(pool, () => performance.now()).find(tenant.id, "contact");
    if (found === null) throw new Error(`The form of ${slug} was removed`);
    const add = async (label: string, surface: KeySurface, busiest: number): Promise<DemoSource> => {
      if (surface === "intake") await addCampaign(pool, { tenantId: tenant.id, slug: label });
      const campaignId = surface === "intake"
        ? await findCampaign(pool, { tenantId: tenant.id, slug: label })
        : null;
      const { id } = await issueKey(pool, { tenant, surface, label, campaignId });
      return { label, surface, keyId: Number(id), busiestHourPosts: busiest };
    };
    const added: DemoSource[] = [];
    for (const [label, busiest] of sources) added.push(await add(label, "intake", busiest));
    added.push(await add("website", "forms", form));
    tenants.push({ id: tenant.id, slug, form: found, areas, sources: added });
  }
  return tenants;
}
