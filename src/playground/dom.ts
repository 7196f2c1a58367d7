/** Finds, creates and fills elements, with text only, because the page's policy forbids writing markup. */

/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** A child of an element; `null` and `false` are skipped. */
export type Child = Node | string | null | false;

/** Attributes by name; `undefined` and `false` are skipped, and `true` sets an empty attribute. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Returns the element with an id. Throws an `Error` if it does not exist or has another type. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no ${kind.name} #${id}`);
  return element;
}

export function make(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  fill(element, ...children);
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null && child !== false));
}

/** Converts text with `code` in backticks to nodes. */
export function withCode(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const [index, part] of text.split("`").entries()) {
    if (part !== "") fragment.append(index % 2 === 1 ? make("code", {}, part) : part);
  }
  return fragment;
}
