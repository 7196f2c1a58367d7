/**
 * Attacks by requests that are each allowed: what they ask for is what costs.
 *
 * @module
 */

import type { AttackKind } from "./attack.ts";
import { address, ask } from "./clients.ts";

const visitor = { name: "Grace Hopper", email: "grace@example.com" };

/** Form posts, each another one. */
function formPosts(
  pace: { lanes: number; perSecond: number },
  { from, form }: { from: (lane: number) => string; form: Readonly<Record<string, string>> },
): AttackKind["run"] {
  let posts = 0;
  return ask(pace, ({ task }, lane) => ({
    url: `${task.urls.forms}${task.formsPath}`,
    from: from(lane),
    body: { ...visitor, ...form, nonce: String(posts += 1) },
    headers: { "X-API-Key": task.formsKey },
  }));
}

/** At the published limit of one address. */
const fromOne = (form: Readonly<Record<string, string>>) =>
  formPosts({ lanes: 4, perSecond: 10 }, { from: () => address(0), form });

/** A thousand readers, none of them over the budget of its address. */
const readers = (paths: readonly (readonly [surface: string, path: string])[]) =>
  ask({ lanes: 32, perSecond: 4_000 }, ({ task }, lane, number) => {
    const [surface, path] = paths[number % paths.length] as (typeof paths)[number];
    return {
      url: `${task.urls[surface]}${path === "" ? task.sitePath : path}`,
      from: address(lane * 32 + Math.floor(number / 300) % 32),
      headers: { "Accept-Encoding": "gzip" },
    };
  });

const windows = [
  "/",
  "/leads",
  "/v1/report",
  "/metrics",
  "/v1/leads?limit=500",
  "/keys",
  "/audit",
  "/?range=30d",
];

/** All of them, by name. */
export const byRequests: Readonly<Record<string, AttackKind>> = {
  expanding_text: {
    about:
      "form posts of 45 KB of U+FDFA, which NFKD makes 18 times as long, at the published limit of one address",
    run: fromOne({ message: "\ufdfa".repeat(15_000) }),
  },
  many_fields: {
    about: "form posts of 4,000 fields, at the published limit of one address",
    run: fromOne(Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`f${index}`, "x"]))),
  },
  read_documents: {
    about: "documents and vocabulary, 4,000 a second from 1,024 addresses",
    run: readers([["intake", "/api/openapi.json"], ["intake", "/v1/vocabulary"], [
      "intake",
      "/api/INTEGRATION.md",
    ]]),
  },
  read_site: {
    about: "the site, a large file and the plans, 4,000 a second from 1,024 addresses",
    run: readers([["site", "/"], ["site", ""], ["subscription", "/api/plans"], ["site", "/llms.txt"]]),
  },
  post_forms: {
    about: "ordinary form posts, 20 a second, the published limit of a tenant",
    run: formPosts({ lanes: 8, perSecond: 20 }, {
      from: address,
      form: {
        message: "We would like to have our roof looked at before winter, and the gutters too. ".repeat(10),
      },
    }),
  },
  operator_pages: {
    about: "the operator's pages and figures, over and over in eight windows",
    run: ask({ lanes: windows.length, perSecond: 1_000 }, ({ task }, lane) => ({
      url: `${task.urls.ops}${windows[lane]}`,
      from: "127.0.0.1",
    })),
  },
};
