/**
 * Adds a copy button above each code block. `scripts/build_playground.ts` bundles this module as `copy_buttons.json` for
 * pages that run no other script.
 */

/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** How long a button shows its result. */
const resultMs = 2_000;

/** The elements that name the code blocks below them. */
const headings = "h1, h2, h3, summary";

/** Adds a button before every `pre.code` on the page, and announces results to screen readers. */
export function addCopyButtons(): void {
  const status = document.createElement("p");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);
  let name = "";
  for (const element of document.querySelectorAll<HTMLElement>(`${headings}, pre.code`)) {
    if (element.matches(headings)) name = element.textContent ?? "";
    else element.before(createButton(element, { name: element.getAttribute("aria-label") ?? name, status }));
  }
}

function createButton(
  block: HTMLElement,
  { name, status }: { name: string; status: HTMLElement },
): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  const label = document.createElement("span");
  const blockName = document.createElement("span");
  blockName.className = "unseen";
  blockName.textContent = name.trim();
  button.append(label, " ", blockName);
  const show = (text: string) => {
    label.textContent = text || "Copy";
    status.textContent = text;
  };
  show("");
  let clearing: ReturnType<typeof setTimeout> | undefined;
  button.addEventListener("click", async () => {
    clearTimeout(clearing);
    // Screen readers announce the same text again only after a change.
    status.textContent = "";
    show(await copy(block));
    clearing = setTimeout(() => show(""), resultMs);
  });
  return button;
}

async function copy(block: HTMLElement): Promise<string> {
  try {
    // Without the trailing line break, which would act as Enter in a terminal.
    await navigator.clipboard.writeText((block.textContent ?? "").trimEnd());
    return "Copied";
  } catch {
    // The script cannot access the clipboard, but the user can copy the selection.
    getSelection()?.selectAllChildren(block);
    return "Selected";
  }
}
