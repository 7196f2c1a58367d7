/** Routes requests by path, which is neither decoded nor normalized, so that each route has exactly one spelling. */

import type { Exchange, Handler, Reply } from "./exchange.ts";
import { withHeader } from "./reply.ts";

interface RouterOptions {
  /** May refuse a `GET`, a `HEAD` or a request without a handler; other handlers run their own checks. */
  readonly beforeReads?: (exchange: Exchange) => Reply | null;
  readonly notFound: Handler;
  /** Renders a 405, to which the router adds `Allow`. */
  readonly methodNotAllowed: Handler;
}

interface Route {
  readonly pattern: string;
  /** The handlers by method; empty if `any` handles all methods. */
  readonly handlers: Map<string, Handler>;
  any: Handler | null;
  allow: string;
}

interface Template {
  readonly route: Route;
  /** The literal segments, and the names of the `{name}` segments. */
  readonly segments: readonly { readonly text: string; readonly isParam: boolean }[];
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Finds a handler by path, then by method. A pattern is an exact path, a path with `{name}` segments (each matches one
 * non-empty segment), or a prefix that ends in `/*`, in this order of precedence; the longest prefix wins.
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

  /** Registers a handler for GET and HEAD; the listener omits the body of the response to a HEAD. */
  get(pattern: string, handler: Handler): this {
    return this.method("GET", pattern, handler).method("HEAD", pattern, handler);
  }

  post(pattern: string, handler: Handler): this {
    return this.method("POST", pattern, handler);
  }

  /** Registers a handler for one method; throws a `TypeError` if the route already exists. */
  method(method: string, pattern: string, handler: Handler): this {
    const route = this.#route(pattern);
    if (route.any !== null || route.handlers.has(method)) {
      throw new TypeError(`The route ${method} ${pattern} already exists`);
    }
    route.handlers.set(method, handler);
    route.allow = [...route.handlers.keys()].join(", ");
    return this;
  }

  /** Registers a handler for all methods, which sends its own 405. */
  any(pattern: string, handler: Handler): this {
    const route = this.#route(pattern);
    if (route.any !== null || route.handlers.size > 0) {
      throw new TypeError(`The route ${pattern} already exists`);
    }
    route.any = handler;
    return this;
  }

  /** Sets the exchange's `route` and `params`, and calls its handler or refuses the request. */
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
    const existing = this.#routes.get(pattern);
    if (existing !== undefined) return existing;
    if (!pattern.startsWith("/")) throw new TypeError(`The pattern ${pattern} does not start with a slash`);
    const route: Route = { pattern, handlers: new Map(), any: null, allow: "" };
    this.#routes.set(pattern, route);
    if (pattern.endsWith("/*")) {
      this.#prefixes = [...this.#prefixes, { prefix: pattern.slice(0, -1), route }]
        .sort((a, b) => b.prefix.length - a.prefix.length);
    } else if (pattern.includes("{")) {
      this.#templates = [...this.#templates, { route, segments: pattern.split("/").map(parseSegment) }];
    } else {
      this.#exact.set(pattern, route);
    }
    return route;
  }
}

function parseSegment(text: string): { text: string; isParam: boolean } {
  const name = /^\{([a-z_]+)\}$/.exec(text)?.[1];
  if (name === undefined && /[{}]/.test(text)) {
    throw new TypeError(`The segment ${text} is invalid, expected {name}`);
  }
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
