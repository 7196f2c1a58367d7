/**
 * A router for exact paths, `{name}` segments and prefixes. Paths are not decoded or normalized, so that one handler
 * has one spelling.
 */

import type { Exchange, Handler, Reply } from "./exchange.ts";
import { withHeader } from "./reply.ts";

/** Replies and guards outside the routes. */
export interface RouterOptions {
  /**
   * Guards `GET`, `HEAD` and unmatched requests: a reply refuses, `null` continues. Other routes have their own checks.
   */
  readonly beforeReads?: (exchange: Exchange) => Reply | null;
  /** Handles unmatched paths. */
  readonly notFound: Handler;
  /** Handles unserved methods; the router adds `Allow`. */
  readonly methodNotAllowed: Handler;
}

interface Route {
  readonly pattern: string;
  /** By method; empty if the route takes all. */
  readonly handlers: Map<string, Handler>;
  any: Handler | null;
  allow: string;
}

interface Template {
  readonly route: Route;
  /** Literal segments, or the names of `{name}` segments. */
  readonly segments: readonly { readonly text: string; readonly isParam: boolean }[];
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Finds a handler by path, then by method.
 *
 * A pattern is an exact path, a path with `{name}` segments (one non-empty segment each), or a prefix that ends in
 * `/*`. Exact beats template, template beats prefix, longer prefixes beat shorter ones.
 */
export class Router {
  readonly #beforeReads: (exchange: Exchange) => Reply | null;
  readonly #notFound: Handler;
  readonly #methodNotAllowed: Handler;
  readonly #routes = new Map<string, Route>();
  readonly #exact = new Map<string, Route>();
  #templates: Template[] = [];
  #prefixes: { readonly prefix: string; readonly route: Route }[] = [];

  constructor(options: RouterOptions) {
    this.#beforeReads = options.beforeReads ?? (() => null);
    this.#notFound = options.notFound;
    this.#methodNotAllowed = options.methodNotAllowed;
  }

  /** Serves GET and HEAD; the adapter drops the HEAD body. */
  get(pattern: string, handler: Handler): this {
    return this.method("GET", pattern, handler).method("HEAD", pattern, handler);
  }

  /** Serves POST. */
  post(pattern: string, handler: Handler): this {
    return this.method("POST", pattern, handler);
  }

  /** Serves one method; throws a `TypeError` for a duplicate. */
  method(method: string, pattern: string, handler: Handler): this {
    const route = this.#route(pattern);
    if (route.any !== null || route.handlers.has(method)) {
      throw new TypeError(`The route ${method} ${pattern} is there already`);
    }
    route.handlers.set(method, handler);
    route.allow = [...route.handlers.keys()].join(", ");
    return this;
  }

  /** Serves every method, for handlers with their own 405. */
  any(pattern: string, handler: Handler): this {
    const route = this.#route(pattern);
    if (route.any !== null || route.handlers.size > 0) {
      throw new TypeError(`The route ${pattern} is there already`);
    }
    route.any = handler;
    return this;
  }

  /** Handles a request; sets its `route` and `params` first. */
  handle(exchange: Exchange): Reply | Promise<Reply> {
    const route = this.#exact.get(exchange.path) ?? this.#match(exchange);
    if (route === null) return this.#beforeReads(exchange) ?? this.#notFound(exchange);
    exchange.route = route.pattern;
    if (route.any !== null) return route.any(exchange);
    const { method } = exchange;
    const handler = route.handlers.get(method);
    const isRead = handler === undefined || method === "GET" || method === "HEAD";
    const refusal = isRead ? this.#beforeReads(exchange) : null;
    if (refusal !== null) return refusal;
    return handler === undefined ? this.#refuseMethod(exchange, route.allow) : handler(exchange);
  }

  async #refuseMethod(exchange: Exchange, allow: string): Promise<Reply> {
    return withHeader(await this.#methodNotAllowed(exchange), "Allow", allow);
  }

  #match(exchange: Exchange): Route | null {
    const { path } = exchange;
    if (this.#templates.length > 0) {
      const parts = path.split("/");
      for (const { route, segments } of this.#templates) {
        const params = matchSegments(segments, parts);
        if (params === null) continue;
        exchange.params = params;
        return route;
      }
    }
    for (const { prefix, route } of this.#prefixes) {
      if (path.startsWith(prefix)) return route;
    }
    return null;
  }

  #route(pattern: string): Route {
    const known = this.#routes.get(pattern);
    if (known !== undefined) return known;
    if (!pattern.startsWith("/")) throw new TypeError(`The pattern ${pattern} does not start with a slash`);
    const route: Route = { pattern, handlers: new Map(), any: null, allow: "" };
    this.#routes.set(pattern, route);
    if (pattern.endsWith("/*")) {
      this.#prefixes = [...this.#prefixes, { prefix: pattern.slice(0, -1), route }]
        .sort((a, b) => b.prefix.length - a.prefix.length);
    } else if (pattern.includes("{")) {
      this.#templates = [...this.#templates, { route, segments: pattern.split("/").map(segment) }];
    } else {
      this.#exact.set(pattern, route);
    }
    return route;
  }
}

function segment(text: string): { text: string; isParam: boolean } {
  const name = /^\{([a-z_]+)\}$/.exec(text)?.[1];
  if (name === undefined && /[{}]/.test(text)) throw new TypeError(`The segment ${text} is not {name}`);
  return { text: name ?? text, isParam: name !== undefined };
}

function matchSegments(
  segments: Template["segments"],
  parts: readonly string[],
): Readonly<Record<string, string>> | null {
  if (segments.length !== parts.length) return null;
  let params: Record<string, string> | null = null;
  for (const [index, { text, isParam }] of segments.entries()) {
    const part = parts[index] as string;
    if (isParam) {
      if (part === "") return null;
      params ??= {};
      params[text] = part;
    } else if (part !== text) {
      return null;
    }
  }
  return params ?? noParams;
}
