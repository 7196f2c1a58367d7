/** Parses the documents: code blocks, links and headings. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A block of code. */
export interface Block {
  readonly page: string;
  /** The line of its fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The reason why no test runs it, from the comment above it. */
  readonly excuse: string | null;
}

/** A document. */
export interface Page {
  /** The path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Returns the documents in a newcomer's reading order. */
export function readPages(): Page[] {
  const first = [
    "README.md",
    "docs/forms.md",
    "docs/plans.md",
    "docs/site.md",
    "docs/operating.md",
    "docs/delivery.md",
    "docs/webhooks.md",
  ];
  const all = readdirSync(`${root}docs`).filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  return [...new Set([...first, ...all])].map((path) => ({ path, text: readFileSync(root + path, "utf8") }));
}

/** Returns a page's code blocks in order. */
export function blocksOf({ path, text }: Page): Block[] {
  const fence = /^(?:<!-- not run by a test: (.+?) -->\n\n)?```(\w+)\n([^]*?)^```$/gm;
  return [...text.matchAll(fence)].map((match) => ({
    page: path,
    line: text.slice(0, match.index).split("\n").length,
    language: match[2] ?? "",
    text: match[3] ?? "",
    excuse: match[1] ?? null,
  }));
}

/** Returns the page's links to missing files or headings. */
export function brokenLinks({ path, text }: Page): string[] {
  const prose = text.replaceAll(/^```[^]*?^```$|`[^`\n]*`/gm, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map((match) =>
    match[1] ?? match[2] ?? ""
  );
  return targets.filter((target) => !/^https?:/.test(target)).filter((target) => {
    const [file = "", anchor] = target.split("#");
    const found = file === "" ? path : posix.join(posix.dirname(path), file);
    if (!existsSync(root + found)) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(root + found, "utf8")).has(anchor);
  });
}

/** Returns the anchors that GitHub generates for headings. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    ),
  );
}
