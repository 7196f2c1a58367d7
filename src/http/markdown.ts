/** Renders the service's Markdown pages, with anchors on headings and scrollable tables. */

import { Marked, type Token, type Tokens } from "marked";
import { markup } from "./markup.ts";

interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  /** The plain text, for search. */
  readonly text: string;
  readonly headings: readonly Heading[];
  /** The distinct link targets, in order of appearance. */
  readonly links: readonly string[];
}

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

function plainText(html: string): string {
  return html.replace(/<(?:\/(?:p|li|h\d|tr|td|th|pre|dd|dt)|br)>/g, "\n").replace(/<[^>]*>/g, "")
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] as string)
    .replace(/[^\S\n]+/g, " ").replace(/\s*\n\s*/g, "\n").trim();
}

/** Matches the tags of the `details` elements in the contract's documents. */
const disclosure =
  /^(?:<details name="[a-z]+"><summary>[^<>]*(?:<code>[^<>]*<\/code>)?<\/summary>|<\/details>)\s*$/;

/** The number of columns from which a table is too wide for a phone. */
const wideTableColumns = 3;

/** Renders Markdown. Escapes all HTML except `details` elements, and does not link bare URLs. */
export function render(source: string): Rendered {
  const headings: Heading[] = [];
  const links = new Set<string>();
  const marked = new Marked({ gfm: true, async: false });
  marked.use({
    tokenizer: { url: () => undefined },
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => disclosure.test(text) ? text : markup`${text}`.text,
      // A check box would need a label and do nothing.
      checkbox: () => "☐ ",
      heading({ tokens, depth }: Tokens.Heading) {
        const inner = this.parser.parseInline(tokens as Token[]);
        const text = plainText(inner);
        let id = headingId(text);
        for (let n = 2; headings.some((other) => other.id === id); n++) id = `${headingId(text)}-${n}`;
        headings.push({ depth, id, text });
        return `<h${depth} id="${id}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        links.add(href);
        const inner = this.parser.parseInline(tokens as Token[]);
        return isSafeLink(href) ? `${markup`<a href="${href}">`.text}${inner}</a>` : inner;
      },
      image: ({ text }: Tokens.Image) => markup`${text}`.text,
      code({ text, lang }: Tokens.Code) {
        const language = /^[a-z]+/.exec(lang ?? "")?.[0] ?? "text";
        return markup`<pre tabindex="0" class="code language-${language}"><code>${text}</code></pre>\n`.text;
      },
      table(token: Tokens.Table) {
        const inline = (cell: Tokens.TableCell) => this.parser.parseInline(cell.tokens as Token[]);
        const names = token.header.map((cell) => plainText(inline(cell)));
        // On a narrow screen, each cell shows its column's name.
        const wide = token.header.length >= wideTableColumns;
        const label = (n: number) => wide ? markup` data-label="${names[n] ?? ""}"`.text : "";
        const head = token.header.map((cell) => `<th scope="col">${inline(cell)}</th>`).join("");
        const body = token.rows.map((row) =>
          `<tr>${row.map((cell, n) => `<td${label(n)}>${inline(cell)}</td>`).join("")}</tr>`
        ).join("\n");
        const heading = headings.at(-1);
        const name = heading === undefined ? 'aria-label="Table"' : `aria-labelledby="${heading.id}"`;
        // The table is focusable, so that it can be scrolled with the keyboard.
        return `<div class="table${wide ? " wide" : ""}" role="group" ${name} tabindex="0"><table>` +
          `<thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(source) as string;
  return { html, text: plainText(html), headings, links: [...links] };
}

/** Whether a link is a root-relative path, an anchor, or a URL with a harmless scheme. */
function isSafeLink(href: string): boolean {
  return /^(https?:\/\/|mailto:|\/(?!\/)|#)/.test(href);
}
