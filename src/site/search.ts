/** Serves `/search/?q=…`: searches the index in `site.data` and inserts the results into the site's search page. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Handler } from "../http/exchange.ts";
import { type Markup, markup } from "../http/markup.ts";

export const searchPath = "/search/";

export const searchField = "q";

/** The element of the search page that the results replace. */
export const resultsPlaceholder = `<div id="results"></div>`;

/** Chosen: eight, because further words hardly narrow the results, and each costs an index lookup. */
const wordsMax = 8;
const wordLengthMax = 40;
const queryLengthMax = 200;
const resultsMax = 10;

interface SearchParts {
  /** The folder of the site. */
  readonly dir: string;
  /** Serves the page if there is no query. */
  readonly files: Handler;
  readonly headers: Readonly<Record<string, string>>;
}

interface Result {
  readonly path: string;
  readonly title: string;
  /** An excerpt of the text, in which each match is between U+E000 and U+E001. */
  readonly excerpt: string;
}

/** Returns the handler for `GET` and `HEAD`. The handler rejects with file system and SQLite errors. */
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
    const results = resultsHtml(query, await search(join(dir, "assets/site.data"), query)).text;
    const value = markup`name="${searchField}" value="${query}"`.text;
    return {
      status: 200,
      headers: { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", ...headers },
      body: page.replace(`name="${searchField}"`, () => value).replace(resultsPlaceholder, () => results),
    };
  };
}

/** Finds the pages that contain all words or, if no page does, any of the words; the best match is first. */
async function search(file: string, query: string): Promise<Result[]> {
  const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, wordsMax)
    .map((word) => `"${word.slice(0, wordLengthMax)}"*`);
  if (words.length === 0) return [];
  // Imported here, because most processes serve no search.
  const { DatabaseSync } = await import("node:sqlite");
  // Opened for each search, because a build replaces the file.
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const statement = database.prepare(`
      select page.path, page.title, snippet(page_search, 2, char(57344), char(57345), ' … ', 24) as excerpt
      from page_search join page on page.id = page_search.rowid
      where page_search match ? order by bm25(page_search, 10.0, 5.0, 1.0) limit ${resultsMax}`);
    const pagesMatching = (match: string) => statement.all(match) as unknown as Result[];
    const matchingAll = pagesMatching(words.join(" "));
    return matchingAll.length > 0 ? matchingAll : pagesMatching(words.join(" OR "));
  } finally {
    database.close();
  }
}

function resultsHtml(query: string, results: readonly Result[]): Markup {
  if (results.length === 0) return markup`<p role="status">No results for “${query}”.</p>`;
  const entries = results.map(({ path, title, excerpt }) =>
    markup`<li><a href="${path}">${title}</a><p>${
      excerpt.split(/[\uE000\uE001]/).map((part, n) => n % 2 === 1 ? markup`<mark>${part}</mark>` : part)
    }</p></li>\n`
  );
  return markup`<p role="status">Results for “${query}”, best match first:</p>\n<ol class="results">${entries}</ol>`;
}
