/** Finds the addresses that `npm start` will listen on, and those that are already in use. */

import { actionsVariables } from "../src/settings/actions_variables.ts";
import { variables } from "../src/settings/variables.ts";
import { freePort, isInUse } from "./free_port.ts";

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

/** A listener whose address is in use, with a free address of the same host. */
export interface UsedListener extends ListenerSetting {
  readonly freeAddress: string;
}

export async function usedListeners(all: readonly ListenerSetting[]): Promise<UsedListener[]> {
  // Surfaces may share an address.
  const freeAddresses = new Map<string, string>();
  for (const address of new Set(all.map(({ address }) => address))) {
    // A socket that systemd passes on has no port.
    const [, host = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
    if (port === undefined || !await isInUse({ host, port: Number(port) })) continue;
    freeAddresses.set(address, address.replace(/\d+$/, String(await freePort(host))));
  }
  return all.flatMap((one) => {
    const freeAddress = freeAddresses.get(one.address);
    return freeAddress === undefined ? [] : [{ ...one, freeAddress }];
  });
}
