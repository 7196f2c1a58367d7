/**
 * Names of fields that programs fill in: data only. This module is browser compatible.
 *
 * @module
 */

/** What a site sends along and nobody types, `website` (the honeypot, judged elsewhere) among them. */
export const technicalFields: ReadonlySet<string> = new Set([
  "cf_turnstile_response",
  "csrf",
  "csrf_token",
  "fbclid",
  "form_id",
  "form_key",
  "form_name",
  "g_recaptcha_response",
  "gbraid",
  "gclid",
  "h_captcha_response",
  "ip",
  "ip_address",
  "landing_page",
  "lang",
  "language",
  "locale",
  "msclkid",
  "nonce",
  "page_title",
  "page_url",
  "referer",
  "referrer",
  "request_id",
  "session",
  "session_id",
  "source_url",
  "timezone",
  "token",
  "user_agent",
  "visitor_id",
  "wbraid",
  "website",
]);
