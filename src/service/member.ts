/**
 * One of several processes, as their parent sees it: started, heard, and started again when it has ended.
 *
 * @module
 */

import type { ChildProcess } from "node:child_process";
import { counted, type Figure, together } from "../observe/figures.ts";
import type { Log } from "../observe/log.ts";
import type { Seat } from "../settings/seat.ts";
import type { ToParent, ToProcess } from "./channel.ts";
import type { Notice } from "./notifier.ts";
import { StartRefused } from "./start_refused.ts";

/** What a member works with. */
export interface MemberOptions {
  readonly number: number;
  readonly of: number;
  /** Starts the program once more, in this place. */
  readonly spawn: (seat: Seat) => ChildProcess;
  /** What it tells before it has started is told on: systemd waits for it. */
  readonly whileStarting: (notice: Notice) => void;
  /** It wants the figures of all. */
  readonly askAll: () => Promise<readonly Figure[]>;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly nowMs: () => number;
}

// A process that ends again and again is started after 0.1 s, then after twice as long each time; one that has lived for a
// minute has not.
const pauseMs = 100;
const pauseMsMax = 30_000;
const wellAfterMs = 60_000;
/**
 * Looks of the parent, one a second, without a sign of life until a process is ended. Chosen: more than the ten seconds of a
 * store's beat that never ends, and less than the 30 s after which systemd ends all of them.
 */
const silentLooksMax = 15;
/** The same of one that is being started again, until it accepts connections: one that waits for its database says so. */
const silentStartMax = 60;
const figuresMs = 1_000;

/** One process, and those that take its place. */
export class Member {
  readonly number: number;
  readonly #options: MemberOptions;
  #child: ChildProcess | null = null;
  #startedAtMs = 0;
  #hasStarted = false;
  #silentLooks = 0;
  #failures = 0;
  #lastFailure: string | null = null;
  #wasKilled = false;
  #isStopping = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #past: readonly Figure[] = [];
  #last: readonly Figure[] = [];
  #figuresAsked = 0;
  #asking: Promise<void> | null = null;
  #onFigures: (figures: readonly Figure[]) => void = () => {};
  #onStart: { started: () => void; refused: (error: StartRefused) => void } | null = null;
  #onEnd: () => void = () => {};
  /** It has said that it was ready, once. */
  isReady = false;
  /** What it last said of itself. */
  status = "starting";

  constructor(options: MemberOptions) {
    this.number = options.number;
    this.#options = options;
  }

  /** Whether it accepts connections now, as far as is known. */
  get isUp(): boolean {
    return this.#child !== null && this.#hasStarted;
  }

  /** Whether it is past being ended for its silence: its end is overdue. */
  get isStuck(): boolean {
    return this.#silentLooks > this.#silenceMax + 5;
  }

  get #silenceMax(): number {
    return this.#hasStarted ? silentLooksMax : silentStartMax;
  }

  /**
   * Starts it, and resolves when it accepts connections.
   *
   * @throws {StartRefused} when it ends before; it is not started again then
   */
  start(): Promise<void> {
    return new Promise((started, refused) => {
      this.#onStart = { started, refused };
      this.#spawn();
    });
  }

  /** Looks whether it has given a sign of life since the last look, and ends it when it has not for too long. */
  look(): void {
    if (this.#child === null || this.#isStopping) return;
    this.#silentLooks += 1;
    if (this.#silentLooks !== this.#silenceMax) return;
    this.#wasKilled = true;
    this.#child?.kill("SIGKILL");
  }

  /** Its figures, with the counts of those before it; as they were last seen while it does not answer. */
  async figures(): Promise<readonly Figure[]> {
    // Whoever asks meanwhile gets the same answer.
    if (this.isUp) await (this.#asking ??= this.#ask().finally(() => this.#asking = null));
    return this.#past.length === 0 ? this.#last : together([this.#last, this.#past]);
  }

  async #ask(): Promise<void> {
    this.#figuresAsked += 1;
    const id = this.#figuresAsked;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((settle) => {
      this.#onFigures = (figures) => {
        this.#last = figures;
        settle();
      };
      timer = setTimeout(settle, figuresMs);
      this.#tell({ kind: "ask", id });
    });
    clearTimeout(timer);
  }

  /** Has it finish what is under way, and resolves when it has ended; after `graceMs` it is killed. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    if (this.#child === null) return;
    const ended = new Promise<void>((settle) => this.#onEnd = settle);
    const timer = setTimeout(() => this.#child?.kill("SIGKILL"), graceMs);
    this.#tell({ kind: "stop" });
    await ended;
    clearTimeout(timer);
  }

  /** Ends it at once. */
  kill(): void {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#child?.kill("SIGKILL");
  }

  #spawn(): void {
    const { spawn, number, of, log, nowMs } = this.#options;
    this.#hasStarted = false;
    this.#silentLooks = 0;
    this.#wasKilled = false;
    this.#startedAtMs = nowMs();
    const child = spawn({ number, of, lastFailure: this.#lastFailure });
    this.#child = child;
    log.info("process_started", { process: number, pid: child.pid });
    child.on("message", (message) => this.#hear(message as ToParent));
    // A child that cannot be started tells it here, and may say nothing else.
    child.once("error", (error) => {
      log.error("process_failed", {
        process: number,
        cause: (error as NodeJS.ErrnoException).code ?? error.name,
      });
      if (child.pid === undefined) this.#ended(child, 1, null);
    });
    child.once("exit", (code, signal) => this.#ended(child, code, signal));
  }

  #hear(message: ToParent): void {
    switch (message.kind) {
      case "started":
        this.#hasStarted = true;
        this.#silentLooks = 0;
        this.#onStart?.started();
        this.#onStart = null;
        return;
      case "figures":
        return message.id === this.#figuresAsked ? this.#onFigures(message.figures) : undefined;
      case "ask_all":
        return void this.#options.askAll().then((figures) =>
          this.#tell({ kind: "all", id: message.id, figures })
        );
      case "notice":
        return this.#noticed(message.notice);
    }
  }

  #noticed(notice: Notice): void {
    const { READY, STATUS, WATCHDOG } = notice;
    if (STATUS !== undefined) this.status = STATUS;
    if (READY !== undefined) this.isReady = true;
    if (WATCHDOG !== undefined || !this.#hasStarted) this.#silentLooks = 0;
    if (!this.#hasStarted && !this.isReady) this.#options.whileStarting(notice);
  }

  #tell(message: ToProcess): void {
    // One that is gone hears nothing; that it is gone is told elsewhere.
    if (this.#child?.connected) this.#child.send(message, () => {});
  }

  #ended(child: ChildProcess, code: number | null, signal: string | null): void {
    if (child !== this.#child) return;
    this.#child = null;
    this.#past = counted(together([this.#past, this.#last]));
    this.#last = [];
    if (this.#onStart !== null) {
      this.#onStart.refused(new StartRefused(code ?? 1));
      this.#onStart = null;
      return;
    }
    if (!this.#isStopping) this.#startAgain(code, signal);
    this.#onEnd();
  }

  #startAgain(code: number | null, signal: string | null): void {
    const { log, number, nowMs } = this.#options;
    const livedMs = Math.round(nowMs() - this.#startedAtMs);
    if (livedMs > wellAfterMs) this.#failures = 0;
    // In systemd's words, which the figures have of a process that was alone.
    this.#lastFailure = this.#wasKilled
      ? "watchdog"
      : signal !== null
      ? "signal"
      : code === 0
      ? null
      : "exit-code";
    const againMs = Math.min(pauseMsMax, pauseMs * 2 ** this.#failures);
    this.#failures += 1;
    const how = this.#lastFailure ?? "success";
    this.status = `ended (${how}), and is started again`;
    const fields = { process: number, result: how, code, signal, lived_ms: livedMs, again_in_ms: againMs };
    if (this.#lastFailure === null) log.info("process_ended", fields);
    else log.error("process_ended", fields);
    this.#timer = setTimeout(() => this.#spawn(), againMs);
  }
}
