/** Finds layout faults in a page. */

/// <reference lib="dom" />

/** The limits of {@linkcode faultsOfLook}. */
export interface LookRules {
  /** The minimum size of every control, in pixels; 0 disables the check. */
  readonly targetMin: number;
}

/**
 * Returns the elements that overflow, are cut off or covered, or are too small to press. Content of a scroll
 * container counts as visible. Runs in the page.
 */
export function faultsOfLook({ targetMin }: LookRules): string[] {
  const found: string[] = [];
  const wide = document.documentElement.clientWidth;
  const describe = (element: Element) =>
    `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${
      (element.textContent ?? "").trim().replaceAll(/\s+/g, " ").slice(0, 40)
    }"`;
  const isHidden = (element: Element) =>
    !element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) ||
    element.closest(".skip, .scroll thead, svg") !== null &&
      getComputedStyle(element).position !== "static" ||
    [...function* () {
      for (let at: Element | null = element; at !== null; at = at.parentElement) yield at;
    }()].some((at) => getComputedStyle(at).clipPath !== "none" || at.matches(".skip"));

  if (document.documentElement.scrollWidth > wide) {
    found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  }
  for (const element of document.querySelectorAll("body *")) {
    if (isHidden(element)) continue;
    const { left, right, width, height } = element.getBoundingClientRect();
    if (
      width > 0 && height > 0 && element.closest(".scroll, pre, svg") === null &&
      (left < -1 || right > wide + 1)
    ) {
      found.push(`${describe(element)} ends at ${Math.round(right)}`);
    }
    const { overflowX, overflowY } = getComputedStyle(element);
    if (
      element instanceof HTMLElement && overflowX !== "visible" &&
      !element.matches("select, pre[tabindex]") &&
      element.scrollWidth > element.clientWidth + 1
    ) {
      found.push(`${describe(element)} is cut off at its side`);
    }
    if (overflowY === "hidden" && element.scrollHeight > element.clientHeight + 1) {
      found.push(`${describe(element)} is cut off below`);
    }
  }
  for (
    const pressed of document.querySelectorAll(
      "button, .button, summary, nav a, select, input:not([type=hidden])",
    )
  ) {
    if (isHidden(pressed)) continue;
    const target = pressed.matches("[type=checkbox]") ? pressed.closest("label") ?? pressed : pressed;
    const { width, height } = target.getBoundingClientRect();
    if (height < targetMin - 0.5 || width < targetMin - 0.5) {
      found.push(`${describe(target)} is ${Math.round(width)} by ${Math.round(height)}`);
    }
    target.scrollIntoView({ block: "center", inline: "nearest" });
    const { left, right, top, bottom } = target.getBoundingClientRect();
    for (
      const [x, y] of [[(left + right) / 2, (top + bottom) / 2], [left + 5, top + 5], [right - 5, bottom - 5]]
    ) {
      const there = document.elementFromPoint(x as number, y as number);
      if (there === null || (!target.contains(there) && !there.contains(target))) {
        found.push(`${describe(target)} is covered by ${there === null ? "nothing" : describe(there)}`);
      }
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.textContent ?? "").trim();
    if (text.length < 8 || node.parentElement === null || isHidden(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = new Set(
      [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)),
    );
    // Words may wrap between each other, as in X-API-Key; a text with less than five characters per line is
    // unreadable.
    if (lines.size > text.split(/\s+|-(?=[A-Za-z])/).length && text.length / lines.size < 5) {
      found.push(`"${text.slice(0, 40)}" is on ${lines.size} lines`);
    }
  }
  return [...new Set(found)].slice(0, 20);
}
