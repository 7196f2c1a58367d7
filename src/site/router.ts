/** The site's routes. */

import type { ReadRateLimiter } from "../gate/rate.ts";
import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";
import { staticFiles } from "../http/static/static_file.ts";
import { searchHandler, searchPath } from "./search.ts";

interface SiteParts {
  /** The folder that is served. */
  readonly dir: string;
  /** The limiter for all requests; a refused request does not reach the disk. */
  readonly reads: ReadRateLimiter;
}

/** Pages load only the site's own files. `script-src` does not block JSON-LD, which is data. */
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
  // An SVG image that is opened directly is a document, which can contain scripts.
  "image/svg+xml": { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox" },
};

/** Routes `GET` and `HEAD` to the files and the search; any other method gets a 405. */
export function siteRouter({ dir, reads }: SiteParts): Router {
  const files = staticFiles({
    folder: dir,
    mediaTypes: { data: "application/vnd.sqlite3" },
    headersOfType,
  });
  return new Router({
    beforeReads: reads.guard((headers) =>
      text(429, "Too many requests\n", { "Access-Control-Allow-Origin": "*", ...headers })
    ),
    notFound: () => text(404, "Not found\n"),
    methodNotAllowed: () => text(405, "Method not allowed\n"),
  }).get("/*", files)
    .get(searchPath, searchHandler({ dir, files, headers: headersOfType["text/html"] }));
}
