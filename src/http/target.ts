/**
 * What a request is for: the request target's path, query and authority, and which of several hosts.
 *
 * @module
 */

/** A request target taken apart. */
export interface Target {
  /** As sent: nothing is decoded or normalized. */
  readonly path: string;
  /** What follows the first `?`, or `""`. */
  readonly query: string;
  /** The authority of an absolute-form target. It counts instead of `Host`: RFC 9112, section 3.2.2. */
  readonly authority: string | null;
}

/**
 * Takes a request target apart: origin-form (`/v1/intake?x`) or absolute-form (`http://host/v1/intake`). Any
 * other form, such as `*`, is a path that no route has.
 */
export function parseTarget(target: string): Target {
  const absolute = target.startsWith("/") ? null : /^https?:\/\/([^/?#]*)/i.exec(target);
  const rest = absolute === null ? target : target.slice(absolute[0].length);
  const mark = rest.indexOf("?");
  const path = mark === -1 ? rest : rest.slice(0, mark);
  return {
    path: path === "" && absolute !== null ? "/" : path,
    query: mark === -1 ? "" : rest.slice(mark + 1),
    authority: absolute?.[1] ?? null,
  };
}

const hostShape = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~!$&'()*+;=%-]+)(?::\d{1,5})?$/i;

/** Whether the text is a host with an optional port: RFC 9110, section 7.2, without the comma. */
export function isHost(text: string): boolean {
  return hostShape.test(text);
}

/** Finds which of several owners a host belongs to. */
export class Hosts<T extends { readonly name: string; readonly hosts: readonly string[] }> {
  readonly #owners = new Map<string, T>();
  readonly #fallback: T | null;

  /** Throws a `TypeError` when two owners have one host, or when there is none to find. */
  constructor(owners: readonly T[], options: { strict: boolean }) {
    for (const owner of owners) {
      for (const host of owner.hosts) {
        const key = host.toLowerCase();
        if (!isHost(key)) throw new TypeError(`${JSON.stringify(host)} is not a host`);
        const other = this.#owners.get(key);
        if (other !== undefined && other !== owner) {
          throw new TypeError(`Both ${other.name} and ${owner.name} have the host ${host}`);
        }
        this.#owners.set(key, owner);
      }
    }
    if (!options.strict && owners.length !== 1) throw new TypeError("Only one surface can have every host");
    this.#fallback = options.strict ? null : owners[0] as T;
  }

  /** The owner of `host[:port]`; `null` when it is nobody's. A name with a port beats one without. */
  find(host: string | undefined): T | null {
    if (this.#fallback !== null) return this.#fallback;
    if (host === undefined) return null;
    const key = host.toLowerCase();
    return this.#owners.get(key) ?? this.#owners.get(key.replace(/\.?(?::\d+)?$/, "")) ?? null;
  }
}
