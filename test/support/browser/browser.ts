/** Starts a real browser: Debian's Chromium or the one named in CHROMIUM. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome"];

/**
 * Finds the browser's executable.
 *
 * @throws {Error} when there is none; scripts/test_plan.ts skips the tests that need one
 */
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

/** Starts the browser without background traffic. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findBrowser(),
    // A machine under load starts it slowly.
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
