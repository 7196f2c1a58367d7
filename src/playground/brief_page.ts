/**
 * The briefs as pages: the same text as their Markdown, whole without JavaScript.
 *
 * @module
 */

import { type DocumentName, documents } from "../documents/published.ts";
import { render } from "../http/markdown.ts";
import { Markup, markup } from "../http/markup.ts";
import { type AssetVersions, loaded } from "./page.ts";

/** The page of a brief; `markdownUrl` is where its Markdown is. */
export function briefPage(
  markdown: string,
  options: { readonly versions: AssetVersions; readonly markdownUrl: string },
): string {
  const { versions, markdownUrl } = options;
  const { html, headings } = render(markdown);
  const [title] = headings;
  const contents = headings.filter(({ depth }) => depth === 2)
    .map(({ id, text }) => markup`<a href="#${id}">${text}</a> `);
  const others =
    ([["playground", "Playground"], ["briefPage", "Leads"], ["formsBriefPage", "Forms"]] as const)
      .map(([name, text]: readonly [DocumentName, string]) =>
        markup`<a href="${documents[name].path}">${text}</a> `
      );
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title?.text ?? ""}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="alternate" type="text/markdown" href="${markdownUrl}">
${loaded(versions, "copyScript")}
</head>
<body class="brief">
<a class="skip" href="#main">Skip to the text</a>
<header><nav aria-label="Documents">${others}<a href="${markdownUrl}">This page in Markdown</a></nav></header>
<main id="main" tabindex="-1">
<nav aria-label="Contents" class="contents">${contents}</nav>
${new Markup(html)}</main>
</body>
</html>
`.text;
}
