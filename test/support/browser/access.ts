/** Finds accessibility faults in a page. */

/// <reference lib="dom" />

/**
 * Returns scroll containers without keyboard access, empty table headers, labels that assistive technology ignores,
 * and controls without a name. Runs in the page.
 */
export function faultsOfAccess(): string[] {
  const describe = (element: Element) => element.outerHTML.replaceAll(/\s+/g, " ").slice(0, 100);
  // An element without a role is announced by its text, whatever its label.
  const nameless = "div, span, p, pre, code, small, b, i";
  const found: string[] = [];
  for (const element of document.querySelectorAll<HTMLElement>("body *")) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const { overflowX, overflowY } = getComputedStyle(element);
    const scrolls = /auto|scroll/.test(overflowX) && element.scrollWidth > element.clientWidth ||
      /auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight;
    const reached = element.tabIndex >= 0 ||
      element.querySelector("a[href], button, input, select, textarea, [tabindex='0']") !== null;
    if (scrolls && !reached) found.push(`cannot be scrolled by keyboard: ${describe(element)}`);
    if (element.matches("th") && element.textContent?.trim() === "") {
      found.push(`no text: ${describe(element)}`);
    }
    if (element.matches(nameless) && element.matches("[aria-label]:not([role])")) {
      found.push(`a label that is not announced: ${describe(element)}`);
    }
    if (element.matches("button, a[href], summary") && !/\S/.test(element.textContent ?? "")) {
      found.push(`no name: ${describe(element)}`);
    }
  }
  return found;
}
