/** HTML templates that escape every interpolated value that is not markup. This module is browser compatible. */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Lists are concatenated; `null` and `false` render nothing. */
export type Value = string | number | Markup | readonly Value[] | null | false;

/** Escapes text for elements and quoted attributes. Rejected: a replacement function, which was three times slower. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

function render(value: Value): string {
  if (value === null || value === false) return "";
  if (value instanceof Markup) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return escapeHtml(String(value));
}

export function markup(parts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(parts.map((part, index) => part + render(values[index] ?? null)).join(""));
}

/** Renders a line of text, with code elements for the parts in backticks. */
export function withCode(text: string): Markup {
  return markup`${
    text.split("`").map((part, index) => index % 2 === 1 ? markup`<code>${part}</code>` : part)
  }`;
}
