/**
 * The body of a tenant form as data: the members that mean something to the service. The handler, the documents and
 * the tests work with these tables. This module is browser compatible.
 *
 * @module
 */

/** The field that people do not see; whatever is in it marks a bot. Source: SPEC, Tenant forms. */
export const honeypotName = "website";

/** Ignored in the body: the address says which form it is. Source: DECISIONS, Forms. */
export const formKeyName = "form_key";

/** In which a form may say when it was opened. */
export const startedAtName = "form_started_at";

/** Where the campaign is read from, the first one first. Source: SPEC, Tenant forms. */
export const attributionSources = ["page_url", "referrer"] as const;

/** The parameters of a campaign, in the order in which they are kept. Source: DECISIONS, Forms. */
export const attributionNames = [
  "gclid",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

/** What a form may post; the documents show it, and tests post it. */
export const formExample = {
  name: "Grace Hopper",
  email: "grace@example.com",
  message: "Our roof leaks above the porch. Could somebody come by this week?",
  [honeypotName]: "",
  page_url: "https://acme.example/roof?utm_source=newsletter&utm_campaign=spring",
  referrer: "https://acme.example/",
} as const;

/** Whose form it is, in examples. */
export const formPlaceholders = {
  tenant: "acme",
  formKey: "contact",
  idempotencyKey: "site:form:4711",
} as const;
