/**
 * `/search/?q=…`: the site's search, over the index in `site.data`. The page itself is a file of the site; what was found is
 * put into it.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Handler } from "../http/exchange.ts";
import { type Markup, markup } from "../http/markup.ts";

/** The address, below the site's. */
export const searchPath = "/search/";

/** The name of the field of the form. */
export const searchField = "q";

/** Where the page has what was found. */
export const resultsMark = `<div id="results"></div>`;

/** Chosen: more words narrow nothing, and each costs a look into the index. */
const wordsMax = 8;
const wordLengthMax = 40;
const queryLengthMax = 200;
const resultsMax = 10;

/** What the handler works with. */
interface SearchParts {
  /** The folder of the site. */
  readonly dir: string;
  /** Answers when there is nothing to look for. */
  readonly files: Handler;
  readonly headers: Readonly<Record<string, string>>;
}

interface Found {
  readonly path: string;
  readonly title: string;
  /** With what matches between U+E000 and U+E001. */
  readonly excerpt: string;
}

/** The handler of `GET` and `HEAD`. Throws what the file system throws when it cannot answer. */
export function searchHandler({ dir, files, headers }: SearchParts): Handler {
  return async (exchange) => {
    const query = (new URLSearchParams(exchange.query).get(searchField) ?? "").trim().slice(
      0,
      queryLengthMax,
    );
    const page = query === ""
      ? null
      : await readFile(join(dir, searchPath, "index.html"), "utf8").catch(() => null);
    if (page === null) return await files(exchange);
    const results = resultsOf(query, await find(join(dir, "assets/site.data"), query)).text;
    const value = markup`name="${searchField}" value="${query}"`.text;
    return {
      status: 200,
      headers: { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", ...headers },
      body: page.replace(`name="${searchField}"`, () => value).replace(resultsMark, () => results),
    };
  };
}

/** The pages with all of the words or, where there is none, with any of them; the best first. */
async function find(file: string, query: string): Promise<Found[]> {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, wordsMax)
    .map((word) => `"${word.slice(0, wordLengthMax)}"*`);
  if (words.length === 0) return [];
  // Loaded here, because most processes never search.
  const { DatabaseSync } = await import("node:sqlite");
  // Opened anew, because a build replaces the file.
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statement = database.prepare(`
      select page.path, page.title, snippet(page_search, 2, char(57344), char(57345), ' … ', 24) as excerpt
      from page_search join page on page.id = page_search.rowid
      where page_search match ? order by bm25(page_search, 10.0, 5.0, 1.0) limit ${resultsMax}`);
    const matching = (match: string) => statement.all(match) as unknown as Found[];
    const all = matching(words.join(" "));
    return all.length > 0 ? all : matching(words.join(" OR "));
  } finally {
    database.close();
  }
}

function resultsOf(query: string, found: readonly Found[]): Markup {
  if (found.length === 0) return markup`<p role="status">No page has “${query}”.</p>`;
  const entries = found.map(({ path, title, excerpt }) =>
    markup`<li><a href="${path}">${title}</a><p>${
      excerpt.split(/[\uE000\uE001]/).map((part, n) => n % 2 === 1 ? markup`<mark>${part}</mark>` : part)
    }</p></li>\n`
  );
  return markup`<p role="status">For “${query}”, the best first:</p>\n<ol class="results">${entries}</ol>`;
}
