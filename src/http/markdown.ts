/**
 * Renders Markdown for our pages: headings have anchors, tables scroll, raw HTML is text except for details, and bare URLs
 * are not linked.
 */

import { Marked, type Token, type Tokens } from "marked";
import { markup } from "./markup.ts";

/** A heading, for the table of contents. */
interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

/** A rendered page. */
export interface Rendered {
  readonly html: string;
  /** Plain text, for search. */
  readonly text: string;
  readonly headings: readonly Heading[];
  /** Distinct link targets, in order. */
  readonly links: readonly string[];
}

/** A heading's anchor. */
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

/** The text of our own markup. */
function textOf(html: string): string {
  return html.replace(/<(?:\/(?:p|li|h\d|tr|td|th|pre|dd|dt)|br)>/g, "\n").replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] as string)
    .replace(/[^\S\n]+/g, " ").replace(/\s*\n\s*/g, "\n").trim();
}

/** The details elements of the contract's documents. */
const disclosure =
  /^(?:<details name="[a-z]+"><summary>[^<>]*(?:<code>[^<>]*<\/code>)?<\/summary>|<\/details>)\s*$/;

/** Tables with this many columns are too wide for a phone. */
const columnsOfWide = 3;

/** Renders Markdown. */
export function render(source: string): Rendered {
  const headings: Heading[] = [];
  const links = new Set<string>();
  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    tokenizer: { url: () => undefined },
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => disclosure.test(text) ? text : markup`${text}`.text,
      // No check boxes: they would need labels and do nothing.
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
        // On narrow screens each cell shows its column's name.
        const wide = token.header.length >= columnsOfWide;
        const label = (n: number) => wide ? markup` data-label="${names[n] ?? ""}"`.text : "";
        const head = token.header.map((one) => `<th scope="col">${inline(one)}</th>`).join("");
        const body = token.rows.map((row) =>
          `<tr>${row.map((one, n) => `<td${label(n)}>${inline(one)}</td>`).join("")}</tr>`
        ).join("\n");
        const heading = headings.at(-1);
        const name = heading === undefined ? 'aria-label="Table"' : `aria-labelledby="${heading.id}"`;
        // Focusable, because it may scroll.
        return `<div class="table${wide ? " wide" : ""}" role="group" ${name} tabindex="0"><table>` +
          `<thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(source) as string;
  return { html, text: textOf(html), headings, links: [...links] };
}

/** Whether a link is relative or has a harmless scheme. */
function isAddress(href: string): boolean {
  return /^(https?:\/\/|mailto:|\/(?!\/)|#)/.test(href);
}
