/**
 * The clients that the brief and the site show, a program of one file in each language. This module is browser
 * compatible.
 *
 * @module
 */

import { goClient } from "./clients/go.ts";
import { phpClient } from "./clients/php.ts";
import { pythonClient } from "./clients/python.ts";
import { rubyClient } from "./clients/ruby.ts";
import { clientModule, clientProgram } from "./snippets.ts";

/** A client in one language. */
export interface Client {
  /** As blocks of code name it. */
  readonly fence: string;
  /** Its files, in the order to read them; the first line of each has its name. */
  readonly files: (baseUrl: string) => readonly string[];
}

/** By language. They try, wait and end alike: the tests run each against the same answers. */
export const clients = {
  "TypeScript": { fence: "ts", files: (baseUrl) => [clientModule(baseUrl), clientProgram] },
  "Python": { fence: "python", files: (baseUrl) => [pythonClient(baseUrl)] },
  "Go": { fence: "go", files: (baseUrl) => [goClient(baseUrl)] },
  "PHP": { fence: "php", files: (baseUrl) => [phpClient(baseUrl)] },
  "Ruby": { fence: "ruby", files: (baseUrl) => [rubyClient(baseUrl)] },
} as const satisfies Record<string, Client>;

/** A language that there is a client in. */
export type ClientLanguage = keyof typeof clients;

/** What they have in common, in a sentence or two. */
export const clientsSummary =
  "One file, nothing to install. Each reads its key from the environment, gives up a try after a time-out, sends the same `Idempotency-Key` on every retry, and retries as the policy says; a 401 is told to a person, a 422 with its `fields` and `detail`.";
