/** Opens pages whose requests, console messages and errors are recorded. */

import type { Browser, BrowserContextOptions, Page, Request } from "playwright-core";

export class WatchedPages {
  readonly #browser: Browser;
  readonly requests: Request[] = [];
  /** Errors and warnings. */
  readonly complaints: string[] = [];

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Opens a page of 1280 by 900 pixels. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on("request", (request) => this.requests.push(request));
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    await page.goto(url);
    return page;
  }
}
