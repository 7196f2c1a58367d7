/**
 * The client kits, as the brief, the playground and the site tell of them. This module is browser compatible.
 *
 * Source: SPEC, What the service does; `kits/` has the kits, and `scripts/build_kits.ts` makes kits.json from it.
 */

import contents from "./kits.json" with { type: "json" };
import { code, table, tabs } from "./markdown.ts";

/** One kit. */
export interface Kit {
  readonly name: string;
  /** What it is called from. */
  readonly from: string;
  /** What it is for. */
  readonly about: string;
  /** The oldest platform that it runs on. */
  readonly platform: string;
  /** Its registry has it. */
  readonly published: boolean;
  /** A line for the terminal; until the kit is published it builds from a copy of the repository, whose folder is `REPO`. */
  readonly install: string;
  /** The package as a package URL, once it is published: `pkg:npm/…`. */
  readonly address?: string;
  /** The language of the example, as blocks of code name it. */
  readonly language: string;
  /** A whole program that posts a lead. The kit's tests run it. */
  readonly example: string;
}

/** All of them, in the order of the specification. */
export const kits: readonly Kit[] = contents.kits;

/** All of them have this version. */
export const kitsVersion: string = contents.version;

const unpublished = kits.filter(({ published }) => !published).map(({ name }) => name);

/** Which kits are in their registries, and how to install the others. */
export const kitsStatus: string = unpublished.length === 0
  ? "published"
  : `${
    unpublished.length === kits.length ? "" : `${unpublished.join(", ")} `
  }not published yet: a package of that name in a registry is not ours. Install from a copy of the service's repository, with REPO set to its folder, and npm ci run in it for the npm packages`;

/** What a kit saves, in a sentence or two. */
export const kitsSummary =
  "Each kit checks the key, posts a lead with an idempotency key, and retries only what may be retried; all pass the same test cases. A kit is optional: the contract is the HTTP call.";

/** The kits of a brief: what each is installed with, and its example, one at a time. */
export function kitTabs(): string {
  const rows = kits.map(({ name, from, platform, install }) => [
    `\`${name}\``,
    from,
    platform,
    `\`${install}\``,
  ]);
  const examples = kits.map(({ name, from, language, example }) => ({
    title: `${from}: <code>${name}</code>`,
    text: code(language, example),
  }));
  return [table(["Kit", "From", "Runs on", "Install"], rows), tabs("kit", examples)].join("\n\n");
}
