/**
 * A button above each block of code that copies it: for pages that are whole without a script. `scripts/build_playground.ts`
 * makes `copy_buttons.json` of this, for the pages that run nothing else.
 */

/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** How long a button says what it did. */
const saidMs = 2_000;

/** What a block is named after when it has no name of its own. */
const named = "h1, h2, h3, summary";

/** Puts a button before every `pre.code` of the page. What it did is said to those who do not see it, too. */
export function addCopyButtons(): void {
  const status = document.createElement("p");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);
  let name = "";
  for (const element of document.querySelectorAll<HTMLElement>(`${named}, pre.code`)) {
    if (element.matches(named)) name = element.textContent ?? "";
    else element.before(buttonOf(element, { name: element.getAttribute("aria-label") ?? name, status }));
  }
}

function buttonOf(block: HTMLElement, { name, status }: { name: string; status: HTMLElement }): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  const word = document.createElement("span");
  const about = document.createElement("span");
  about.className = "unseen";
  about.textContent = name.trim();
  button.append(word, " ", about);
  const say = (text: string) => {
    word.textContent = text || "Copy";
    status.textContent = text;
  };
  say("");
  let clearing: ReturnType<typeof setTimeout> | undefined;
  button.addEventListener("click", async () => {
    clearTimeout(clearing);
    // Said again only when it was silent before.
    status.textContent = "";
    say(await copy(block));
    clearing = setTimeout(() => say(""), saidMs);
  });
  return button;
}

async function copy(block: HTMLElement): Promise<string> {
  try {
    // Without the line break at the end, which a terminal would take for Enter.
    await navigator.clipboard.writeText((block.textContent ?? "").trimEnd());
    return "Copied";
  } catch {
    // Not every page may write to the clipboard: what is selected can be copied by hand.
    getSelection()?.selectAllChildren(block);
    return "Selected";
  }
}
