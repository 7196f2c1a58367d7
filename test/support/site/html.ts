/** A strict HTML parser: every opened element is closed, in order, and ids and attributes are unique. */

const voids = new Set(["br", "hr", "img", "input", "link", "meta", "col", "wbr", "source"]);
const raw = /<(script|style)\b[^>]*>[\s\S]*?<\/\1>/g;

/** A parsed element. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly above: readonly string[];
}

/**
 * Returns the elements of a document, in order.
 *
 * @throws {Error} at the first fault
 */
export function readHtml(html: string): Element[] {
  const elements: Element[] = [];
  const open: string[] = [];
  if (!html.startsWith("<!doctype html>\n")) throw new Error("there is no doctype");
  const text = html.slice("<!doctype html>".length).replaceAll(raw, (all) => all.replace(/>[\s\S]*</, "><"));
  const token =
    /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][a-z-]*(?:="[^"<>]*")?)*)\s*>|<|&(?!(?:amp|lt|gt|quot|#39);)/g;
  for (const match of text.matchAll(token)) {
    const [all, closing, name, rest = ""] = match;
    const where = text.slice(Math.max(0, match.index - 40), match.index + 60);
    if (name === undefined) throw new Error(`${all} stands alone: ${where}`);
    if (closing === "/") {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}>: ${where}`);
      continue;
    }
    const attributes: Record<string, string> = {};
    for (const [, key = "", value = ""] of rest.matchAll(/([a-z][a-z-]*)(?:="([^"]*)")?/g)) {
      if (key in attributes) throw new Error(`${key} stands twice: ${where}`);
      attributes[key] = unescaped(value);
    }
    elements.push({ name, attributes, above: [...open] });
    if (!voids.has(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)}> is never closed`);
  const ids = elements.flatMap(({ attributes }) => attributes.id === undefined ? [] : [attributes.id]);
  const twice = ids.find((id, n) => ids.indexOf(id) !== n);
  if (twice !== undefined) throw new Error(`the id ${twice} stands twice`);
  return elements;
}

/** Returns text with its entities resolved. */
export function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

/** Returns the text of all elements with a name, without tags. */
export function textsOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`<${name}\\b[^>]*>([\\s\\S]*?)</${name}>`, "g"))]
    .map(([, inner = ""]) => unescaped(inner.replaceAll(/<[^>]*>/g, "")).trim());
}
