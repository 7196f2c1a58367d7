/** What keeps people with a keyboard or a screen reader out, measured in a browser. */

/// <reference lib="dom" />

/**
 * Boxes that scroll and cannot be reached by keyboard, heads of tables without a text, names that nobody is told, and
 * controls without a name; runs in the page.
 */
export function faultsOfAccess(): string[] {
  const told = (element: Element) => element.outerHTML.replaceAll(/\s+/g, " ").slice(0, 100);
  // What has no role of its own is called by its text, whatever its label.
  const nameless = "div, span, p, pre, code, small, b, i";
  const found: string[] = [];
  for (const element of document.querySelectorAll<HTMLElement>("body *")) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const { overflowX, overflowY } = getComputedStyle(element);
    const scrolls = /auto|scroll/.test(overflowX) && element.scrollWidth > element.clientWidth ||
      /auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight;
    const reached = element.tabIndex >= 0 ||
      element.querySelector("a[href], button, input, select, textarea, [tabindex='0']") !== null;
    if (scrolls && !reached) found.push(`cannot be scrolled by keyboard: ${told(element)}`);
    if (element.matches("th") && element.textContent?.trim() === "") found.push(`no text: ${told(element)}`);
    if (element.matches(nameless) && element.matches("[aria-label]:not([role])")) {
      found.push(`a name that is not told: ${told(element)}`);
    }
    if (element.matches("button, a[href], summary") && !/\S/.test(element.textContent ?? "")) {
      found.push(`no name: ${told(element)}`);
    }
  }
  return found;
}
