/**
 * Attacks by requests that are each allowed: what they ask for is what costs.
 *
 * @module
 */

import { address, ask } from "./attack_clients.ts";
import type { AttackKind } from "./attack_task.ts";

function formPost(body: Readonly<Record<string, unknown>>): AttackKind["run"] {
  return async ({ urls, formsPath, formsKey }, traffic, untilMs) => {
    let posts = 0;
    await ask(traffic, {
      untilMs,
      lanes: 4,
      // The published limit of the forms, from one address.
      perSecond: 10,
      request: () => ({
        url: `${urls.forms}${formsPath}`,
        from: address(0),
        body: JSON.stringify({ ...body, nonce: String(posts += 1) }),
        headers: { "Content-Type": "application/json", "X-API-Key": formsKey },
      }),
    });
  };
}

const visitor = { name: "Grace Hopper", email: "grace@example.com" };

/** A thousand readers, none of them over the budget of its address. */
function readers(
  paths: readonly (readonly [surface: string, path: string])[],
): AttackKind["run"] {
  return async ({ urls, sitePath }, traffic, untilMs) => {
    await ask(traffic, {
      untilMs,
      lanes: 32,
      perSecond: 4_000,
      request: (lane, number) => {
        const [surface, path] = paths[number % paths.length] as (typeof paths)[number];
        return {
          url: `${urls[surface]}${path === "" ? sitePath : path}`,
          from: address(lane * 32 + Math.floor(number / 300) % 32),
          headers: { "Accept-Encoding": "gzip" },
        };
      },
    });
  };
}

/** All of them, by name. */
export const byRequests: Readonly<Record<string, AttackKind>> = {
  expanding_text: {
    about:
      "form posts of 45 KB of U+FDFA, which NFKD makes 18 times as long, at the published limit of one address",
    run: formPost({ ...visitor, message: "\ufdfa".repeat(15_000) }),
  },
  many_fields: {
    about: "form posts of 4,000 fields, at the published limit of one address",
    run: formPost({
      ...visitor,
      ...Object.fromEntries(
        Array.from({ length: 4_000 }, (_, index) => [`f${index}`, "x"]),
      ),
    }),
  },
  read_documents: {
    about: "documents and vocabulary, 4,000 a second from 1,024 addresses",
    run: readers([
      ["intake", "/api/openapi.json"],
      ["intake", "/v1/vocabulary"],
      [
        "intake",
        "/api/INTEGRATION.md",
      ],
    ]),
  },
  read_site: {
    about: "the site, a large file and the plans, 4,000 a second from 1,024 addresses",
    run: readers([["site", "/"], ["site", ""], ["subscription", "/api/plans"], [
      "site",
      "/llms.txt",
    ]]),
  },
  post_forms: {
    about: "ordinary form posts, 20 a second, the published limit of a tenant",
    run: async ({ urls, formsPath, formsKey }, traffic, untilMs) => {
      let posts = 0;
      const message = "We would like to have our roof looked at before winter, and the gutters too. ";
      await ask(traffic, {
        untilMs,
        lanes: 8,
        perSecond: 20,
        request: (lane) => ({
          url: `${urls.forms}${formsPath}`,
          from: address(lane),
          body: JSON.stringify({
            ...visitor,
            message: message.repeat(10) + (posts += 1),
          }),
          headers: {
            "Content-Type": "application/json",
            "X-API-Key": formsKey,
          },
        }),
      });
    },
  },
  operator_pages: {
    about: "the operator's pages and figures, over and over in eight windows",
    run: async ({ urls }, traffic, untilMs) => {
      const paths = [
        "/",
        "/leads",
        "/v1/report",
        "/metrics",
        "/v1/leads?limit=500",
        "/keys",
        "/audit",
        "/?range=30d",
      ];
      await ask(traffic, {
        untilMs,
        lanes: 8,
        perSecond: 1_000,
        request: (lane) => ({
          url: `${urls.ops}${paths[lane % paths.length]}`,
          from: "127.0.0.1",
        }),
      });
    },
  },
};
