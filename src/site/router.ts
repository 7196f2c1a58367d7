/** The site's routes: the files of one folder. */

import type { ReadBudget } from "../gate/rate.ts";
import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { staticFiles } from "../http/static/static_file.ts";
import { searchHandler, searchPath } from "./search.ts";

/** What the routes work with. */
interface SiteParts {
  /** The folder that is served. */
  readonly dir: string;
  /** Spent by every request: what is over it does not reach the disk. */
  readonly reads: ReadBudget;
}

/**
 * What pages may do: the site's own files and styles, nothing of anybody else's. The JSON-LD in a page is data,
 * which `script-src` does not stop.
 */
const pagePolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const headersOfType = {
  "text/html": {
    "Content-Security-Policy": pagePolicy,
    "Referrer-Policy": "strict-origin-when-cross-origin",
  },
  // A picture that is opened by itself is a document, and may hold scripts.
  "image/svg+xml": { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox" },
};

/** The surface's routes: `GET` and `HEAD` of every file and of the search; `OPTIONS` is 405 like any other method. */
export function siteRouter({ dir, reads }: SiteParts): Router {
  const files = staticFiles({
    folder: dir,
    mediaTypes: { data: "application/vnd.sqlite3" },
    headersOfType,
  });
  return new Router({
    beforeReads: reads.refuseBy((headers) =>
      text(429, "Too many requests\n", { "Access-Control-Allow-Origin": "*", ...headers })
    ),
    notFound: () => text(404, "Not found\n"),
    methodNotAllowed: () => text(405, "Method not allowed\n"),
  }).get("/*", files)
    .get(searchPath, searchHandler({ dir, files, headers: headersOfType["text/html"] }));
}
