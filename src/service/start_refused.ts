/**
 * A start that has failed in another process, which has said why.
 *
 * @module
 */

/** One of several processes has not started; the exit code is its own. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`A process ended with ${exitCode} before it had started`);
    this.exitCode = exitCode;
  }
}
