/**
 * A small dedicated file system (tmpfs) that can be filled without affecting other disks.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startWatchdog, type Watchdog } from "../watchdog.ts";

export class SmallDisk {
  readonly folder: string;
  readonly #watchdog: Watchdog;

  private constructor(folder: string) {
    this.folder = folder;
    this.#watchdog = startWatchdog('umount -l "$1"', { args: [folder] });
  }

  /** Mounts a file system; returns `null` if that fails, for example without root. */
  static mount(folder: string, megabytes: number): SmallDisk | null {
    mkdirSync(folder, { recursive: true });
    const size = `size=${megabytes}m,mode=0711`;
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", size, "proof", folder]);
    return status === 0 ? new SmallDisk(folder) : null;
  }

  /** Fills the remaining space. */
  fill(): void {
    const file = openSync(join(this.folder, "ballast"), "w");
    for (let size = 1 << 20; size >= 512; size >>= 1) {
      const bytes = new Uint8Array(size);
      try {
        while (writeSync(file, bytes) > 0);
      } catch {
        // Pieces of this size no longer fit.
      }
    }
    closeSync(file);
  }

  /** Frees the filled space. */
  empty(): void {
    rmSync(join(this.folder, "ballast"), { force: true });
  }

  close(): void {
    spawnSync("umount", ["-l", this.folder]);
    this.#watchdog.dismiss();
  }
}
