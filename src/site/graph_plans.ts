/**
 * The plans as nodes of the graph: offers with a price for each interval.
 *
 * @module
 */

import type { Plan } from "../store/serving/plans.ts";
import type { SitePage } from "./assemble.ts";
import { type Builder, fragment, type GraphNode, ref } from "./graph_node.ts";
import { extraMembers } from "./plans.ts";

const durations: Readonly<Record<string, string>> = { day: "P1D", week: "P1W", month: "P1M", year: "P1Y" };

function offer(page: SitePage, plan: Plan): GraphNode[] {
  const id = `${page.url}#plan-${fragment(plan.slug)}`;
  const amount = (plan.amountCents / 100).toFixed(2);
  const details = [
    ...plan.items.map(({ title, detail }) => [title, detail] as const),
    ...extraMembers(plan),
  ];
  return [
    {
      "@id": id,
      "@type": "Offer",
      name: plan.name,
      identifier: plan.slug,
      url: page.url,
      price: amount,
      priceCurrency: "USD",
      offeredBy: ref(customerId(page, plan)),
      priceSpecification: ref(`${id}-price`),
      additionalProperty: details.length === 0
        ? undefined
        : details.map((_, n) => ref(`${id}-item-${n + 1}`)),
    },
    {
      "@id": `${id}-price`,
      "@type": "UnitPriceSpecification",
      name: `${plan.name}: price a ${plan.interval}`,
      price: amount,
      priceCurrency: "USD",
      unitText: plan.interval,
      billingDuration: durations[plan.interval],
    },
    ...details.map(([name, value], n): GraphNode => ({
      "@id": `${id}-item-${n + 1}`,
      "@type": "PropertyValue",
      name,
      value,
    })),
  ];
}

const customerId = (page: SitePage, plan: Plan) => `${page.url}#customer-${fragment(plan.customer)}`;

/** The page of the plans. */
export const plans: Builder = ({ content }, page) => {
  const customers = new Map(content.plans.map((plan) => [customerId(page, plan), plan.customer]));
  return {
    main: {
      "@id": `${page.url}#catalog`,
      "@type": "OfferCatalog",
      name: "Subscription plans",
      url: page.url,
      numberOfItems: content.plans.length,
      itemListElement: content.plans.length === 0
        ? undefined
        : content.plans.map(({ slug }) => ref(`${page.url}#plan-${fragment(slug)}`)),
    },
    further: [
      ...[...customers].map(([id, name]): GraphNode => ({ "@id": id, "@type": "Organization", name })),
      ...content.plans.flatMap((plan) => offer(page, plan)),
    ],
  };
};
