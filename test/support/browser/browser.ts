/**
 * A real browser for the tests of pages: Debian's Chromium, or what is installed here.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const macApplication = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/**
 * The path of a browser, or `null` when there is none on this machine. With `CI=true` a missing browser is a
 * failure.
 *
 * @throws {Error} in CI, when there is none
 */
export function findBrowser(): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [
    ...(process.env.CHROMIUM === undefined ? [] : [process.env.CHROMIUM]),
    ...names.flatMap((name) => folders.map((folder) => join(folder, name))),
    macApplication,
  ];
  const found = candidates.find((path) => existsSync(path)) ?? null;
  if (found === null && process.env.CI === "true") {
    throw new Error("There is no browser for the tests of pages: install chromium");
  }
  return found;
}

/** Starts it. It talks to nobody but the server under test. */
export function startBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
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
