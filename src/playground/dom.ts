/**
 * The few things that the page does with its elements. Text goes in as text only: the page's policy knows no
 * way to write markup.
 */

/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** What an element can be made of; `null` and `false` are left out. */
type Child = Node | string | null | false;

/** Attributes by name; `undefined` and `false` are left out, `true` is the attribute alone. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** The element with an id, which the page has. Throws when it has not, or has another kind of element. */
export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`The page has no ${kind.name} #${id}`);
  return element;
}

/** Makes an element. */
export function make(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  fill(element, ...children);
  return element;
}

/** Puts these in an element, in place of what is there. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child) => child !== null && child !== false));
}

/** Text of one line with `code` in backticks, as the contract's tables have it. */
export function rich(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  for (const [index, part] of text.split("`").entries()) {
    if (part !== "") fragment.append(index % 2 === 1 ? make("code", {}, part) : part);
  }
  return fragment;
}
