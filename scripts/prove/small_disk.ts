/**
 * A small file system of our own (tmpfs), so that a disk can run full without harm to anybody else's.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { postWatchdog, type Watchdog } from "../watchdog.ts";

/** Mounted, until it is closed. */
export class SmallDisk {
  readonly folder: string;
  readonly #watchdog: Watchdog;

  private constructor(folder: string) {
    this.folder = folder;
    this.#watchdog = postWatchdog('umount -l "$1"', { args: [folder] });
  }

  /** Mounts one; `null` where this account may not. */
  static mount(folder: string, megabytes: number): SmallDisk | null {
    mkdirSync(folder, { recursive: true });
    const { status } = spawnSync("mount", [
      "-t",
      "tmpfs",
      "-o",
      `size=${megabytes}m,mode=0711`,
      "proof",
      folder,
    ]);
    return status === 0 ? new SmallDisk(folder) : null;
  }

  /** Takes all the room that is left. */
  fill(): void {
    const file = openSync(join(this.folder, "ballast"), "w");
    for (let size = 1 << 20; size >= 512; size >>= 1) {
      const bytes = new Uint8Array(size);
      try {
        while (writeSync(file, bytes) > 0);
      } catch {
        // Full for a piece of this size.
      }
    }
    closeSync(file);
  }

  /** Gives it back. */
  empty(): void {
    rmSync(join(this.folder, "ballast"), { force: true });
  }

  close(): void {
    spawnSync("umount", ["-l", this.folder]);
    this.#watchdog.dismiss();
  }
}
