/**
 * What one of several processes and its parent tell one another, and the process's end of it.
 *
 * @module
 */

import process from "node:process";
import type { Figure } from "../observe/figures.ts";
import type { Seat } from "../settings/seat.ts";
import type { Notice } from "./notifier.ts";
import type { Parent } from "./run.ts";

/** What a process tells its parent. */
export type ToParent =
  /** It accepts connections. */
  | { readonly kind: "started" }
  /** What it would tell systemd were it alone. */
  | { readonly kind: "notice"; readonly notice: Notice }
  /** Its own figures, asked for under this number. */
  | { readonly kind: "figures"; readonly id: number; readonly figures: readonly Figure[] }
  /** Somebody wants to see those of all. */
  | { readonly kind: "ask_all"; readonly id: number };

/** What the parent tells a process. */
export type ToProcess =
  /** Finish what is under way, and end. */
  | { readonly kind: "stop" }
  | { readonly kind: "ask"; readonly id: number }
  | { readonly kind: "all"; readonly id: number; readonly figures: readonly Figure[] };

// More than the parent waits for each of them.
const figuresMs = 3_000;

/** A process's way to its parent. */
export class Channel implements Parent {
  readonly process: number;
  readonly #waiting = new Map<number, (figures: readonly Figure[]) => void>();
  #asked = 0;
  #own: () => readonly Figure[] = () => [];
  #onStop: (why: string) => void = () => {};

  constructor({ number }: Seat) {
    this.process = number;
    process.on("message", (message) => this.#hear(message as ToProcess));
    // Nobody would stop or watch this process any more.
    process.on("disconnect", () => this.#onStop("parent_gone"));
  }

  /** From now on, `stop` is called when the parent wants this process to end, or has ended itself. */
  onStop(stop: (why: string) => void): void {
    this.#onStop = stop;
    if (!process.connected) stop("parent_gone");
  }

  /** From now on, `own` is what this process tells of itself. */
  show(own: () => readonly Figure[]): void {
    this.#own = own;
  }

  /** Tells the parent that connections are accepted. */
  started(): void {
    this.#tell({ kind: "started" }).catch(() => {});
  }

  /** Tells the parent what systemd would be told. */
  readonly notify = (notice: Notice): Promise<void> => this.#tell({ kind: "notice", notice });

  /** The figures of all processes, as far as they answer; of this one alone when the parent is gone. */
  figures(): Promise<readonly Figure[]> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((settle) => {
      const alone = () => {
        this.#waiting.delete(id);
        settle(this.#own());
      };
      const timer = setTimeout(alone, figuresMs);
      this.#waiting.set(id, (figures) => {
        clearTimeout(timer);
        settle(figures);
      });
      this.#tell({ kind: "ask_all", id }).catch(alone);
    });
  }

  #hear(message: ToProcess): void {
    switch (message.kind) {
      case "stop":
        return this.#onStop("parent");
      case "ask":
        return void this.#tell({ kind: "figures", id: message.id, figures: this.#own() }).catch(() => {});
      case "all":
        this.#waiting.get(message.id)?.(message.figures);
        this.#waiting.delete(message.id);
    }
  }

  #tell(message: ToParent): Promise<void> {
    return new Promise((resolve, reject) => {
      const gone = (error: Error) => {
        // A sign of life goes out every second: this finds it too should nobody have said "disconnect".
        this.#onStop("parent_gone");
        reject(error);
      };
      if (process.send === undefined || !process.connected) return gone(new Error("The parent is gone"));
      process.send(message, undefined, undefined, (error) => error ? gone(error) : resolve());
    });
  }
}
