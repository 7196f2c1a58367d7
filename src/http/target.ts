/** Request targets and hosts. */

/** A parsed request target. */
export interface Target {
  /** As sent, not decoded. */
  readonly path: string;
  /** The query after the first `?`, or `""`. */
  readonly query: string;
  /** The authority of an absolute-form target, which overrides `Host`: RFC 9112, section 3.2.2. */
  readonly authority: string | null;
}

/**
 * Parses origin-form (`/v1/intake?x`) and absolute-form (`http://host/v1/intake`); any other form is a path without a
 * route.
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

/** Maps hosts to owners. */
export class Hosts<T extends { readonly name: string; readonly hosts: readonly string[] }> {
  readonly #owners = new Map<string, T>();
  readonly #fallback: T | null;

  /** Throws a `TypeError` for a host with two owners, or without any owner. */
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

  /** The owner of `host[:port]`, or `null`; a name with a port takes precedence. */
  find(host: string | undefined): T | null {
    if (this.#fallback !== null) return this.#fallback;
    if (host === undefined) return null;
    const key = host.toLowerCase();
    return this.#owners.get(key) ?? this.#owners.get(key.replace(/\.?(?::\d+)?$/, "")) ?? null;
  }
}
