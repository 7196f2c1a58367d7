/** Decides which hosts a recipe may reach. A host never comes from a lead. */

import type { ConfiguredRecipe } from "./recipe.ts";

/**
 * Whether a URL is `https:` and its host is one of the recipe's settings, or matches one of its patterns; `*` stands for one or
 * more labels.
 */
export function isAllowedHost(address: string, { recipe, settings, secrets }: ConfiguredRecipe): boolean {
  const url = parseUrl(address);
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "") return false;
  const isSet = [...Object.values(settings), ...Object.values(secrets)].some((value) =>
    parseUrl(value)?.host === url.host
  );
  return isSet ||
    url.port === "" &&
      recipe.hosts.some((pattern) =>
        pattern.startsWith("*.")
          ? url.hostname.endsWith(pattern.slice(1)) && !/^\.|\.\./.test(url.hostname)
          : url.hostname === pattern
      );
}

function parseUrl(text: string): URL | null {
  return /^https:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
}
