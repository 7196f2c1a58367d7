/**
 * The published documents: where each one is, as what, and how it may be kept. The handlers serve them and
 * the OpenAPI document describes them from this table. This module is browser compatible.
 */

import { limits } from "../contract/limits.ts";

/** How one document is served. */
export interface DocumentRule {
  readonly path: string;
  /** The host that it is on; left out: the intake. */
  readonly surface?: "forms";
  readonly contentType: string;
  /** `Cache-Control`. */
  readonly caching: string;
  /** `Cache-Control` of a request whose `v` parameter names the version that is served. */
  readonly cachingOfVersion?: string;
  /** Further headers of the 200. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly about: string;
}

const fetched = `public, max-age=${limits.documentMaxAgeSeconds}`;
// Chosen: asked for each time, because a page of yesterday with a script of today is worth less than a 304 costs.
const revalidated = "no-cache";
// The address changes with the content.
const forGood = "public, max-age=31536000, immutable";

/**
 * A page loads nothing from elsewhere, runs no script in the page itself, and can neither be framed
 * nor post a form.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageHeaders = { "Content-Security-Policy": pagePolicy, "Referrer-Policy": "no-referrer" };

/** All of them. Source: SPEC, Surfaces; the issue of the playground. */
export const documents = {
  openapi: {
    path: "/api/openapi.json",
    contentType: "application/json",
    caching: fetched,
    about: "This document.",
  },
  brief: {
    path: "/api/INTEGRATION.md",
    contentType: "text/markdown; charset=utf-8",
    caching: fetched,
    about:
      "The integration brief: key check, rules, envelope, answers, limits, retry policy, definition of done.",
  },
  briefPage: {
    path: "/api/integration",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: pageHeaders,
    about: "The integration brief as a page, with copy buttons.",
  },
  formsBriefPage: {
    path: "/api/forms-integration",
    contentType: "text/html; charset=utf-8",
    caching: revalidated,
    headers: pageHeaders,
    about: "The integration brief of the tenant forms as a page, with copy buttons.",
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
    cachingOfVersion: forGood,
    about: "The playground's script, with the validator in it.",
  },
  style: {
    path: "/api/playground.css",
    contentType: "text/css; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: forGood,
    about: "The playground's style sheet.",
  },
  copyScript: {
    path: "/api/copy.js",
    contentType: "text/javascript; charset=utf-8",
    caching: revalidated,
    cachingOfVersion: forGood,
    about: "The copy buttons of the briefs' pages.",
  },
  icon: {
    path: "/api/playground.svg",
    contentType: "image/svg+xml",
    caching: revalidated,
    cachingOfVersion: forGood,
    about: "The playground's icon.",
  },
  formsBrief: {
    // One segment: every form has two.
    path: "/v1/forms/INTEGRATION.md",
    surface: "forms",
    contentType: "text/markdown; charset=utf-8",
    caching: fetched,
    about:
      "The integration brief of the tenant forms: key check, rules, body, answers, limits, definition of done.",
  },
} as const satisfies Record<string, DocumentRule>;

/** The name of a document. */
export type DocumentName = keyof typeof documents;

/** The surface whose host a document is on. */
export function surfaceOf(name: DocumentName): "intake" | "forms" {
  const rule: DocumentRule = documents[name];
  return rule.surface ?? "intake";
}

/** What a document is encoded in for whoever accepts it. */
export const documentEncoding = "gzip";
