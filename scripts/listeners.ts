/**
 * The addresses that will be listened on, seen from outside: read from the same table as its settings.
 *
 * @module
 */

import { createServer } from "node:net";
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

/**
 * Every listener, with the address that the environment gives it. That of the actions process is among them only when
 * it was given one: otherwise `npm start` lets it take a free port.
 */
export function listeners(environment: Environment): ListenerSetting[] {
  const actions = environment.ACTIONS_LISTEN ? { ACTIONS_LISTEN: actionsVariables.ACTIONS_LISTEN } : {};
  return Object.entries({ ...variables, ...actions })
    .filter(([variable]) => variable.endsWith("_LISTEN"))
    .map(([variable, rule]) => ({
      surface: variable.replace(/_LISTEN$/, "").toLowerCase(),
      variable,
      address: environment[variable] || rule.default,
    }));
}

/** Those whose address another program holds. */
export async function takenListeners(environment: Environment): Promise<ListenerSetting[]> {
  const all = listeners(environment);
  const taken = await Promise.all(all.map(({ address }) => isTaken(address)));
  return all.filter((_, index) => taken[index]);
}

/** The next address after `address` that is free. */
export async function nextFree(address: string): Promise<string> {
  const { host, port } = split(address);
  for (let next = port + 1; next < 65_536; next++) {
    const candidate = address.replace(/\d+$/, String(next));
    if (!await isTaken(candidate)) return candidate;
  }
  return `${host}:0`;
}

function split(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replace(/^\[(.*)\]$/, "$1"),
    port: Number(address.slice(colon + 1)),
  };
}

// Anything else that stands in the way is for the service itself to report.
function isTaken(address: string): Promise<boolean> {
  const { host, port } = split(address);
  if (!Number.isInteger(port) || port <= 0 || port > 65_535) return Promise.resolve(false);
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => settle(error.code === "EADDRINUSE"));
    server.listen({ host, port, exclusive: true }, () => server.close(() => settle(false)));
  });
}
