/** Finds the addresses that `npm start` will listen on, and those that are already in use. */

import { createServer, type Server } from "node:net";
import { actionsVariables } from "../src/settings/actions_variables.ts";
import { variables } from "../src/settings/variables.ts";

/** A listener of the service or the actions process. */
export interface ListenerSetting {
  /** The name in the log event `listening`. */
  readonly surface: string;
  readonly variable: string;
  /** The address, as `address:port`. */
  readonly address: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `npm start`'s own settings. */
export const startVariables = {
  CATCHER_LISTEN: {
    default: "127.0.0.1:8025",
    meaning: "address:port of the page that shows caught emails and webhooks; this machine only",
  },
} as const;

/**
 * Returns every listener with its configured or default address, without the actions process if `ACTIONS_LISTEN` is not
 * set, because `npm start` then uses a free port.
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

/** A listener whose address is in use, with a free address nearby. */
export interface UsedListener extends ListenerSetting {
  readonly freeAddress: string;
}

/** Returns the listeners whose address is in use. The suggested addresses were all free at the same moment. */
export async function usedListeners(all: readonly ListenerSetting[]): Promise<UsedListener[]> {
  const reserved: Server[] = [];
  const reserve = async (address: string) => {
    const server = await tryBind(address);
    if (typeof server === "object") reserved.push(server);
    return server !== "taken";
  };
  try {
    // Surfaces may share an address.
    const addresses = [...new Set(all.map(({ address }) => address))];
    const used = new Map<string, string>();
    for (const address of addresses) if (!await reserve(address)) used.set(address, "");
    for (const address of used.keys()) used.set(address, await findFreeAddress(address, reserve));
    return all.flatMap((one) => {
      const freeAddress = used.get(one.address);
      return freeAddress === undefined ? [] : [{ ...one, freeAddress }];
    });
  } finally {
    await Promise.all(reserved.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Returns the next free address after `address`. */
export async function nextFree(address: string): Promise<string> {
  return await findFreeAddress(address, async (candidate) => {
    const server = await tryBind(candidate);
    if (typeof server === "object") await new Promise((resolve) => server.close(resolve));
    return server !== "taken";
  });
}

async function findFreeAddress(
  address: string,
  isFree: (address: string) => Promise<boolean>,
): Promise<string> {
  for (let port = splitAddress(address).port + 1; port < 65_536; port++) {
    const candidate = address.replace(/\d+$/, String(port));
    if (await isFree(candidate)) return candidate;
  }
  return address.replace(/\d+$/, "0");
}

function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replace(/^\[(.*)\]$/, "$1"),
    port: Number(address.slice(colon + 1)),
  };
}

// Binds an address. Errors other than an address in use are left for the service to report.
function tryBind(address: string): Promise<Server | "taken" | "unknown"> {
  const { host, port } = splitAddress(address);
  if (!Number.isInteger(port) || port <= 0 || port > 65_535) return Promise.resolve("unknown");
  return new Promise((resolve) => {
    const server = createServer();
    server.once(
      "error",
      (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE" ? "taken" : "unknown"),
    );
    server.listen({ host, port, exclusive: true }, () => resolve(server));
  });
}
