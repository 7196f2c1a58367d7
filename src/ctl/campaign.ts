/**
 * `ctl campaign …`
 *
 * @module
 */

import { addCampaign, listCampaigns } from "#src/store/operator/campaigns.ts";
import { type Command, Refused } from "./command.ts";
import { optionalTenantId, requireTenant, tenantOption } from "./tenant.ts";
import { dollars, shortTime, table } from "./terminal.ts";
import { parseSlug } from "./values.ts";

const add: Command = {
  words: "campaign add",
  positionals: ["SLUG"],
  options: { tenant: { value: "SLUG", required: true, description: "the tenant that pays for it" } },
  summary: "Add a campaign; keys bound to it add up the cost of their leads",
  prepare(input) {
    const slug = parseSlug(input.first);
    const tenant = input.required("tenant");
    return async (pool) => {
      const { id } = await requireTenant(pool, tenant);
      if (!await addCampaign(pool, { slug, tenantId: id })) {
        throw new Refused(`Tenant ${tenant} has a campaign ${slug} already; ctl campaign list shows it`);
      }
      return { json: { campaign: slug, tenant }, text: `Added campaign ${slug} of ${tenant}.` };
    };
  },
};

const list: Command = {
  words: "campaign list",
  positionals: [],
  options: tenantOption,
  summary: "List the campaigns and what they have spent",
  prepare: (input) => async (pool) => {
    const campaigns = await listCampaigns(pool, await optionalTenantId(pool, input.option("tenant")));
    return {
      json: campaigns.map(({ slug, tenant, spendCents, createdAt }) => ({
        campaign: slug,
        tenant,
        spend_cents: spendCents,
        created_at: createdAt,
      })),
      text: table(campaigns, "No campaigns; ctl campaign add SLUG --tenant SLUG adds one.", {
        "TENANT": (campaign) => campaign.tenant,
        "CAMPAIGN": (campaign) => campaign.slug,
        ">SPENT": (campaign) => dollars(campaign.spendCents),
        "CREATED (UTC)": (campaign) => shortTime(campaign.createdAt),
      }),
    };
  },
};

/** The commands of this noun. */
export const campaignCommands: readonly Command[] = [add, list];
