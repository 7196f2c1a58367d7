/**
 * Markdown to HTML, with the rules of our pages: headings have addresses, tables can be scrolled by themselves, raw HTML is
 * text but for parts that fold, and a bare address is no link.
 *
 * @module
 */

import { Marked, type Token, type Tokens } from "marked";
import { markup } from "./markup.ts";

/** A heading of a page, for its contents. */
interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

/** A page's text in the forms it is served in. */
export interface Rendered {
  readonly html: string;
  /** Without any markup, for searching. */
  readonly text: string;
  readonly headings: readonly Heading[];
  /** The addresses that the text links to, each once, in the order of the text. */
  readonly links: readonly string[];
}

/** The address of a heading within its page. */
function headingId(text: string): string {
  return text.toLowerCase().normalize("NFKD").replace(/\p{M}+/gu, "").replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "") ||
    "section";
}

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** The text of markup that was made here. */
function textOf(html: string): string {
  return html.replace(/<(?:\/(?:p|li|h\d|tr|td|th|pre|dd|dt)|br)>/g, "\n").replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] as string)
    .replace(/[^\S\n]+/g, " ").replace(/\s*\n\s*/g, "\n").trim();
}

/** How the contract's own documents fold a part away: their words are markup already. */
const disclosure =
  /^(?:<details name="[a-z]+"><summary>[^<>]*(?:<code>[^<>]*<\/code>)?<\/summary>|<\/details>)\s*$/;

/** A table with this many columns is too wide for a phone. */
const columnsOfWide = 3;

/** Renders a page's Markdown. */
export function render(source: string): Rendered {
  const headings: Heading[] = [];
  const links = new Set<string>();
  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    tokenizer: { url: () => undefined },
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => disclosure.test(text) ? text : markup`${text}`.text,
      // A box to be ticked would need a name of its own, and cannot be ticked.
      checkbox: () => "☐ ",
      heading({ tokens, depth }: Tokens.Heading) {
        const inner = this.parser.parseInline(tokens as Token[]);
        const text = textOf(inner);
        let id = headingId(text);
        for (let n = 2; headings.some((other) => other.id === id); n++) id = `${headingId(text)}-${n}`;
        headings.push({ depth, id, text });
        return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        links.add(href);
        const inner = this.parser.parseInline(tokens as Token[]);
        return isAddress(href) ? `${markup`<a href="${href}">`.text}${inner}</a>` : inner;
      },
      image: ({ text }: Tokens.Image) => markup`${text}`.text,
      code({ text, lang }: Tokens.Code) {
        const language = /^[a-z]+/.exec(lang ?? "")?.[0] ?? "text";
        return markup`<pre tabindex="0" class="code language-${language}"><code>${text}</code></pre>\n`.text;
      },
      table(token: Tokens.Table) {
        const inline = (one: Tokens.TableCell) => this.parser.parseInline(one.tokens as Token[]);
        const names = token.header.map((one) => textOf(inline(one)));
        // Where there is no room for columns, each cell has its column's name before it.
        const wide = token.header.length >= columnsOfWide;
        const label = (n: number) => wide ? markup` data-label="${names[n] ?? ""}"`.text : "";
        const head = token.header.map((one) => `<th scope="col">${inline(one)}</th>`).join("");
        const body = token.rows.map((row) =>
          `<tr>${row.map((one, n) => `<td${label(n)}>${inline(one)}</td>`).join("")}</tr>`
        ).join("\n");
        const heading = headings.at(-1);
        const name = heading === undefined ? 'aria-label="Table"' : `aria-labelledby="${heading.id}"`;
        // Reached by keyboard because it may scroll.
        return `<div class="table${wide ? " wide" : ""}" role="group" ${name} tabindex="0"><table>` +
          `<thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(source) as string;
  return { html, text: textOf(html), headings, links: [...links] };
}

/** Within the site, or a protocol that cannot run anything. */
function isAddress(href: string): boolean {
  return /^(https?:\/\/|mailto:|\/(?!\/)|#)/.test(href);
}
