/**
 * Many things with the same time bound, cheaply: a linked list in the order of their deadlines that one
 * interval looks at, in place of a timer each.
 *
 * @module
 */

/** A member of a {@linkcode Deadlines} list: at most one list at a time. */
export interface Timed {
  deadline: Deadline | null;
}

/** The place of a member in its list. */
export interface Deadline {
  readonly owner: Timed;
  readonly list: object;
  atMs: number;
  previous: Deadline | null;
  next: Deadline | null;
}

/** Members that each have `boundMs` from when they were added. The time is passed in. */
export class Deadlines<T extends Timed> {
  readonly boundMs: number;
  #head: Deadline | null = null;
  #tail: Deadline | null = null;

  constructor(boundMs: number) {
    this.boundMs = boundMs;
  }

  /** The deadline of the member whose time is up first; `null` when there is none. */
  get firstAtMs(): number | null {
    return this.#head?.atMs ?? null;
  }

  /** Adds a member that is in no list, with the deadline `nowMs + boundMs`. */
  add(owner: T, nowMs: number): void {
    this.addAt(owner, nowMs + this.boundMs);
  }

  /** Adds a member that is in no list, with a deadline of its own. It mostly is the latest, and found its place at once. */
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

  /** Takes a member out; nothing happens when it is not in this list. */
  remove(owner: T): void {
    const node = owner.deadline;
    if (node === null || node.list !== this) return;
    if (node.previous === null) this.#head = node.next;
    else node.previous.next = node.next;
    if (node.next === null) this.#tail = node.previous;
    else node.next.previous = node.previous;
    owner.deadline = null;
    // One that has become old and is of no use any more would keep its neighbours, and they theirs, until V8 collects old objects.
    node.previous = null;
    node.next = null;
  }

  /** Takes out every member whose deadline has passed and hands it to `expired`. */
  sweep(nowMs: number, expired: (owner: T) => void): void {
    while (this.#head !== null && this.#head.atMs <= nowMs) {
      const owner = this.#head.owner as T;
      this.remove(owner);
      expired(owner);
    }
  }
}
