/** Deadlines in a sorted linked list that one interval checks, instead of a timer each. */

/** A member of at most one {@linkcode Deadlines} list. */
export interface Timed {
  deadline: Deadline | null;
}

/** A node of the list. */
export interface Deadline {
  readonly owner: Timed;
  readonly list: object;
  atMs: number;
  previous: Deadline | null;
  next: Deadline | null;
}

/** Members with `boundMs` from when they are added; time is passed in. */
export class Deadlines<T extends Timed> {
  readonly boundMs: number;
  #head: Deadline | null = null;
  #tail: Deadline | null = null;

  constructor(boundMs: number) {
    this.boundMs = boundMs;
  }

  /** The earliest deadline, or `null`. */
  get firstAtMs(): number | null {
    return this.#head?.atMs ?? null;
  }

  /** Adds an unlisted member with the deadline `nowMs + boundMs`. */
  add(owner: T, nowMs: number): void {
    this.addAt(owner, nowMs + this.boundMs);
  }

  /** Adds an unlisted member with its own deadline, which is usually the latest. */
  addAt(owner: T, atMs: number): void {
    let previous = this.#tail;
    while (previous !== null && previous.atMs > atMs) previous = previous.previous;
    const next = previous === null ? this.#head : previous.next;
    const node: Deadline = { owner, list: this, atMs, previous, next };
    if (previous === null) this.#head = node;
    else previous.next = node;
    if (next === null) this.#tail = node;
    else next.previous = node;
    owner.deadline = node;
  }

  /** Removes a member; does nothing if it is not in this list. */
  remove(owner: T): void {
    const node = owner.deadline;
    if (node === null || node.list !== this) return;
    if (node.previous === null) this.#head = node.next;
    else node.previous.next = node.next;
    if (node.next === null) this.#tail = node.previous;
    else node.next.previous = node.previous;
    owner.deadline = null;
    // Unlinked, or an old node would keep its neighbors alive until a major collection.
    node.previous = null;
    node.next = null;
  }

  /** Removes every expired member and passes it to `expired`. */
  sweep(nowMs: number, expired: (owner: T) => void): void {
    while (this.#head !== null && this.#head.atMs <= nowMs) {
      const owner = this.#head.owner as T;
      this.remove(owner);
      expired(owner);
    }
  }
}
