/**
 * The published documents with their paths, media types and caching. The handlers and the OpenAPI document use this table.
 * This module is browser compatible.
 */

import { limits } from "../contract/limits.ts";

export interface DocumentRule {
  readonly path: string;
  /** The surface that serves the document; default: the intake. */
  readonly surface?: "forms";
  readonly contentType: string;
  /** The `Cache-Control` header. */
  readonly caching: string;
  /** The `Cache-Control` header if the `v` parameter names the current version. */
  readonly cachingOfVersion?: string;
  /** Additional headers for a 200 response. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly about: string;
}

const cachedBriefly = `public, max-age=${limits.documentMaxAgeSeconds}`;
// Chosen: pages are always revalidated, because an outdated page breaks with a new script, and a 304 is cheap.
const revalidated = "no-cache";
// For URLs that change with the content.
const immutable = "public, max-age=31536000, immutable";

/** Pages can load nothing from other hosts, run no inline script, be in no frame, and submit no form. */
function restrict(styleSources: string, ...others: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styleSources}`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    ...others,
  ];
  return { "Content-Security-Policy": policy.join("; "), "Referrer-Policy": "no-referrer" };
}

const pageHeaders = restrict("'self'");
// The frame with the email, which has inline styles, inherits the page's policy.
const emailPageHeaders = restrict("'self' 'unsafe-inline'", "frame-src blob:");

/** The published documents. Source: SPEC, Surfaces. */
export const documents = {
  openapi: {
    path: "/api/openapi.json",
    contentType: "application/json",
    caching: cachedBriefly,
    about: "This document.",
  },
  brief: {
    path: "/api/INTEGRATION.md",
    contentType: "text/markdown; charset=utf-8",
    caching: cachedBriefly,
    about:
      "The integration brief: key check, rules, envelope, responses, limits, retry policy, definition of done.",
  },
  briefPage: {
    path: "/api/integration",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: pageHeaders,
    about: "The integration brief as HTML, with copy buttons.",
  },
  formsBriefPage: {
    path: "/api/forms-integration",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: pageHeaders,
    about: "The integration brief for tenant forms as HTML, with copy buttons.",
  },
  playground: {
    path: "/api",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: pageHeaders,
    about: "The playground, which runs the validator in your browser.",
  },
  script: {
    path: "/api/playground.js",
    contentType: "text/javascript; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The playground's script, which contains the validator.",
  },
  style: {
    path: "/api/playground.css",
    contentType: "text/css; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The playground's style sheet.",
  },
  copyScript: {
    path: "/api/copy.js",
    contentType: "text/javascript; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The script for the briefs' copy buttons.",
  },
  icon: {
    path: "/api/playground.svg",
    contentType: "image/svg+xml",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The playground's icon.",
  },
  formsBrief: {
    // A form's path has two segments after `forms/`, so no form has this path.
    path: "/v1/forms/INTEGRATION.md",
    surface: "forms",
    contentType: "text/markdown; charset=utf-8",
    caching: cachedBriefly,
    about:
      "The integration brief for tenant forms: key check, rules, body, responses, limits, definition of done.",
  },
  formsPlayground: {
    path: "/forms",
    surface: "forms",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: emailPageHeaders,
    about: "The playground for forms, which shows the response and the email to a post in your browser.",
  },
  formsScript: {
    path: "/forms/playground.js",
    surface: "forms",
    contentType: "text/javascript; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The script of the playground for forms.",
  },
  formsStyle: {
    path: "/forms/playground.css",
    surface: "forms",
    contentType: "text/css; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The style sheet of the playground for forms.",
  },
  formsIcon: {
    path: "/forms/playground.svg",
    surface: "forms",
    contentType: "image/svg+xml",
    caching: revalidated,
    cachingOfVersion: immutable,
    about: "The icon of the playground for forms.",
  },
} as const satisfies Record<string, DocumentRule>;

export type DocumentName = keyof typeof documents;

export function surfaceOf(name: DocumentName): "intake" | "forms" {
  const rule: DocumentRule = documents[name];
  return rule.surface ?? "intake";
}

/** The content coding for documents, if the client accepts it. */
export const documentEncoding = "gzip";
