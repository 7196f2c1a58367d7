/** Members of a form body that have a meaning for the service. This module is browser compatible. */

/** The honeypot field, hidden from people. Source: SPEC, Tenant forms. */
export const honeypotName = "website";

/** Ignored in the body: the path names the form. Source: DECISIONS, Forms. */
export const formKeyName = "form_key";

export const startedAtName = "form_started_at";

/** Fields that the campaign is read from, in order. Source: SPEC, Tenant forms. */
export const attributionSources = ["page_url", "referrer"] as const;

/** Campaign parameters, in the order in which they are stored. Source: DECISIONS, Forms. */
export const attributionNames = [
  "gclid",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

export const formExample = {
  name: "Grace Hopper",
  email: "grace@example.com",
  message: "Our roof leaks above the porch. Could you come by this week?",
  [honeypotName]: "",
  page_url: "https://acme.example/roof?utm_source=newsletter&utm_campaign=spring",
  referrer: "https://acme.example/",
} as const;

export const formPlaceholders = {
  tenant: "acme",
  formKey: "contact",
  idempotencyKey: "site:form:4711",
} as const;
