/** The addresses that `npm start` will listen on, and which of them are taken. */

import { createServer, type Server } from "node:net";
import { actionsVariables } from "../src/settings/actions_variables.ts";
import { variables } from "../src/settings/variables.ts";

/** A listener of the service or the actions process. */
export interface ListenerSetting {
  /** As in the log event `listening`. */
  readonly surface: string;
  readonly variable: string;
  /** address:port */
  readonly address: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `npm start`'s own settings. */
export const startVariables = {
  CAUGHT_LISTEN: {
    default: "127.0.0.1:8025",
    meaning: "address:port of the page that shows caught mails and webhooks; this machine only",
  },
} as const;

/**
 * Every listener with its configured or default address. The actions process is included only if `ACTIONS_LISTEN` is set;
 * otherwise `npm start` gives it a free port.
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

/** A listener whose address is in use, and a free one nearby. */
export interface TakenListener extends ListenerSetting {
  readonly instead: string;
}

/**
 * The listeners whose address is in use. The alternatives were all free at the same moment.
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

/** The next free address after `address`. */
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

// The service itself reports any other error.
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
