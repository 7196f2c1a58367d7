/**
 * The addresses that will be listened on, seen from outside: read from the same table as its settings.
 *
 * @module
 */

import { createServer, type Server } from "node:net";
import { actionsVariables } from "../src/settings/actions_variables.ts";
import { variables } from "../src/settings/variables.ts";

/** One listener of `src/main.ts`, or that of `src/actions/main.ts`. */
export interface ListenerSetting {
  /** As the log line `listening` names it. */
  readonly surface: string;
  readonly variable: string;
  /** address:port */
  readonly address: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What `npm start` reads besides the settings of the processes. */
export const startVariables = {
  CAUGHT_LISTEN: {
    default: "127.0.0.1:8025",
    meaning: "address:port of the page with the mails and webhooks that were caught; this machine only",
  },
} as const;

/**
 * Every listener, with the address that the environment gives it. That of the actions process is among them only when
 * it was given one: otherwise `npm start` lets it take a free port.
 */
export function listeners(environment: Environment): ListenerSetting[] {
  const actions = environment.ACTIONS_LISTEN ? { ACTIONS_LISTEN: actionsVariables.ACTIONS_LISTEN } : {};
  return Object.entries({ ...variables, ...actions, ...startVariables })
    .filter(([variable]) => variable.endsWith("_LISTEN"))
    .map(([variable, rule]) => ({
      surface: variable.replace(/_LISTEN$/, "").toLowerCase(),
      variable,
      address: environment[variable]?.trim() || rule.default,
    }));
}

/** A listener whose address another program holds, and one near it that can be had. */
export interface TakenListener extends ListenerSetting {
  readonly instead: string;
}

/**
 * Those whose address another program holds. What they can have instead was free a moment ago, all of it at once and
 * beside the addresses of the others.
 */
export async function takenListeners(all: readonly ListenerSetting[]): Promise<TakenListener[]> {
  const held: Server[] = [];
  const hold = async (address: string) => {
    const server = await bind(address);
    if (typeof server === "object") held.push(server);
    return server !== "taken";
  };
  try {
    // Surfaces may share an address.
    const addresses = [...new Set(all.map(({ address }) => address))];
    const taken = new Map<string, string>();
    for (const address of addresses) if (!await hold(address)) taken.set(address, "");
    for (const address of taken.keys()) taken.set(address, await next(address, hold));
    return all.flatMap((one) => {
      const instead = taken.get(one.address);
      return instead === undefined ? [] : [{ ...one, instead }];
    });
  } finally {
    await Promise.all(held.map((server) => new Promise((settle) => server.close(settle))));
  }
}

/** The next address after `address` that is free. */
export async function nextFree(address: string): Promise<string> {
  return await next(address, async (candidate) => {
    const server = await bind(candidate);
    if (typeof server === "object") await new Promise((settle) => server.close(settle));
    return server !== "taken";
  });
}

async function next(address: string, isFree: (address: string) => Promise<boolean>): Promise<string> {
  for (let port = split(address).port + 1; port < 65_536; port++) {
    const candidate = address.replace(/\d+$/, String(port));
    if (await isFree(candidate)) return candidate;
  }
  return address.replace(/\d+$/, "0");
}

function split(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replace(/^\[(.*)\]$/, "$1"),
    port: Number(address.slice(colon + 1)),
  };
}

// Anything else that stands in the way is for the service itself to report.
function bind(address: string): Promise<Server | "taken" | "unknown"> {
  const { host, port } = split(address);
  if (!Number.isInteger(port) || port <= 0 || port > 65_535) return Promise.resolve("unknown");
  return new Promise((settle) => {
    const server = createServer();
    server.once(
      "error",
      (error: NodeJS.ErrnoException) => settle(error.code === "EADDRINUSE" ? "taken" : "unknown"),
    );
    server.listen({ host, port, exclusive: true }, () => settle(server));
  });
}
