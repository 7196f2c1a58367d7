/**
 * What an attacker is told, and what an attack is.
 *
 * @module
 */

import type { Traffic } from "./attack_traffic.ts";

/** What an attacker is told. */
export interface AttackTask {
  readonly name: string;
  readonly seconds: number;
  /** The base address of each surface. */
  readonly urls: Readonly<Record<string, string>>;
  readonly formsKey: string;
  readonly formsPath: string;
  /** A file of the site, large. */
  readonly sitePath: string;
}

/** One way to attack. */
export interface AttackKind {
  readonly about: string;
  /** It speaks HTTP/2, and so needs TLS. */
  readonly needsTls?: boolean;
  /** Attacks until `untilMs` on the process's clock. */
  readonly run: (
    task: AttackTask,
    traffic: Traffic,
    untilMs: number,
  ) => Promise<void>;
}
