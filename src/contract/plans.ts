/** The billing intervals, and an example of a plan. This module is browser compatible. */

/** Source: DECISIONS, Plans, checkout, site. */
export const intervals = ["day", "week", "month", "year"] as const;

export type Interval = (typeof intervals)[number];

export const planExample = {
  slug: "starter",
  name: "Starter",
  customer: "acme",
  amount_cents: 4900,
  interval: "month" satisfies Interval,
  items: [{ title: "Leads", detail: "Up to 100 a month" }],
  badge: "popular",
} as const;
