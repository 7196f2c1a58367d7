/** A real browser for the tests of pages: Debian's Chromium, or what is installed here. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** @throws {Error} where there is none; scripts/test_plan.ts leaves such tests out */
function findBrowser(): string {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [
    ...(process.env.CHROMIUM === undefined ? [] : [process.env.CHROMIUM]),
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))),
  ];
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error("There is no browser here: install chromium, or name one in CHROMIUM");
  }
  return found;
}

/** Starts it. It talks to nobody but the server under test. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findBrowser(),
    // A machine that is busy with other tests takes its time.
    timeout: 120_000,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
