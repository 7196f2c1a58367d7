/** The fields of a form that the service interprets. This module is browser compatible. */

/** The honeypot field, which is hidden from people. Source: SPEC, Tenant forms. */
export const honeypotName = "website";

/**
 * The field that may contain the form key; it is ignored, because the path names the form. Source: DECISIONS, Forms.
 */
export const formKeyName = "form_key";

export const startedAtName = "form_started_at";

/** The fields with the URLs from which the campaign is read, in this order. Source: SPEC, Tenant forms. */
export const attributionSources = ["page_url", "referrer"] as const;

/** The URL parameters that identify a campaign, in the order in which they are stored. Source: DECISIONS, Forms. */
export const attributionNames = [
  "gclid",
  "utm_source",
  "utm_medium",
  "utm_campaign",
  "utm_term",
  "utm_content",
] as const;

/** The path of the spam score's weights, which only a sandbox's key can read. */
export const spamModelPath = "/v1/forms/model";

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
