/**
 * The client kits, for the brief, the playground and the site. This module is browser compatible.
 *
 * Source: SPEC, What the service does; `scripts/build_kits.ts` generates kits.json from `kits/`.
 */

import contents from "./kits.json" with { type: "json" };
import { code, table, tabs } from "./markdown.ts";

export interface Kit {
  readonly name: string;
  /** The language of the programs that call the kit. */
  readonly from: string;
  /** The programs that the kit is for. */
  readonly about: string;
  /** The oldest supported platform. */
  readonly platform: string;
  /** Whether the kit is published in its registry. */
  readonly published: boolean;
  /** The install command. An unpublished kit is built from a copy of the repository in the folder `REPO`. */
  readonly install: string;
  /** The package URL (purl) of a published kit, such as `pkg:npm/…`. */
  readonly address?: string;
  /** The language of the example's code block. */
  readonly language: string;
  /** A complete program that posts a lead. The kit's tests run it. */
  readonly example: string;
}

/** All kits, in the specification's order. */
export const kits: readonly Kit[] = contents.kits;

const unpublished = kits.filter(({ published }) => !published).map(({ name }) => name);

/** States the kits' version, and how to install the kits that are not in their registries. */
export const kitsStatus: string = `The current version is ${contents.version}.${
  unpublished.length === 0
    ? ""
    : ` ${
      unpublished.length === kits.length ? "The kits" : unpublished.join(", ")
    } are not published yet: packages with these names in a registry are not ours. Install from a copy of the service's repository: set REPO to its folder and, for the npm packages, first run npm ci there.`
}`;

/** The purpose of the kits, in two sentences. */
export const kitsSummary =
  "Each kit checks the key, posts a lead with an idempotency key, and retries only what is safe to retry; all pass the same tests. A kit is optional: the HTTP call is the contract.";

/** Renders the kits for a brief: a table of install commands, and the examples, one open at a time. */
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
  return [table(["Kit", "Language", "Runs on", "Install"], rows), tabs("kit", examples)].join("\n\n");
}
