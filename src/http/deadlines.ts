/** Deadlines in a sorted linked list, which its owner sweeps; one timer per deadline would cost more. */

/** A member of at most one {@linkcode Deadlines} list. */
export interface Timed {
  deadline: Deadline | null;
}

export interface Deadline {
  readonly owner: Timed;
  readonly list: object;
  atMs: number;
  previous: Deadline | null;
  next: Deadline | null;
}

/** A list whose members expire `boundMs` after they are added, or at a chosen time. */
export class Deadlines<T extends Timed> {
  readonly boundMs: number;
  #head: Deadline | null = null;
  #tail: Deadline | null = null;

  constructor(boundMs: number) {
    this.boundMs = boundMs;
  }

  get firstAtMs(): number | null {
    return this.#head?.atMs ?? null;
  }

  add(owner: T, nowMs: number): void {
    this.addAt(owner, nowMs + this.boundMs);
  }

  /** Adds a member that is in no list; takes constant time if its deadline is the latest. */
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

  /** Does nothing if the member is not in this list. */
  remove(owner: T): void {
    const node = owner.deadline;
    if (node === null || node.list !== this) return;
    if (node.previous === null) this.#head = node.next;
    else node.previous.next = node.next;
    if (node.next === null) this.#tail = node.previous;
    else node.next.previous = node.previous;
    owner.deadline = null;
    // Without this, a removed node in the old generation would keep its neighbors alive until a major garbage collection.
    node.previous = null;
    node.next = null;
  }

  /** Removes every expired member and passes it to `onExpired`. */
  sweep(nowMs: number, onExpired: (owner: T) => void): void {
    while (this.#head !== null && this.#head.atMs <= nowMs) {
      const owner = this.#head.owner as T;
      this.remove(owner);
      onExpired(owner);
    }
  }
}
