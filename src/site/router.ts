/**
 * The site's routes: the files of one folder.
 *
 * @module
 */

import { text } from "../http/reply.ts";
import { Router } from "../http/router.ts";

/** What the routes work with. */
export interface SiteParts {
  /** The folder that is served. */
  readonly dir: string;
}

/** The surface's routes. */
export function siteRouter(_parts: SiteParts): Router {
  return new Router({
    notFound: () => text(404, "Not found\n"),
    methodNotAllowed: () => text(405, "Method not allowed\n"),
  });
}
