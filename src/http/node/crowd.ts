/**
 * Who is there, by address.
 *
 * @module
 */

/** All members of one key, in the order in which they came. */
interface Group<M> {
  readonly key: string;
  readonly members: Set<M>;
}

/**
 * Members by key, and the keys by how many members they have: adding, removing and finding the largest take the same
 * time however many there are. It holds nothing but its members.
 */
export class Crowd<M> {
  readonly #groups = new Map<string, Group<M>>();
  /** The groups of one, of two and so on. */
  readonly #levels: Set<Group<M>>[] = [];
  #size = 0;
  #largest = 0;

  /** How many members there are. */
  get size(): number {
    return this.#size;
  }

  /** Adds a member that is not there. */
  add(key: string, member: M): void {
    const group = this.#groups.get(key) ?? { key, members: new Set() };
    this.#groups.set(key, group);
    this.#levels[group.members.size]?.delete(group);
    group.members.add(member);
    this.#size++;
    this.#place(group);
    this.#largest = Math.max(this.#largest, group.members.size);
  }

  /** Takes a member out; nothing happens when it is not there. */
  remove(key: string, member: M): void {
    const group = this.#groups.get(key);
    if (group === undefined || !group.members.has(member)) return;
    this.#levels[group.members.size]?.delete(group);
    group.members.delete(member);
    this.#size--;
    if (group.members.size > 0) this.#place(group);
    else this.#groups.delete(key);
    while (this.#largest > 0 && this.#levels[this.#largest]?.size === 0) this.#largest--;
  }

  /** The members of one key, the oldest first. */
  of(key: string): ReadonlySet<M> {
    return this.#groups.get(key)?.members ?? new Set();
  }

  /** All members: those of the key that has the most first, of each the oldest first. */
  *all(): Generator<M> {
    for (let size = this.#largest; size > 0; size--) {
      for (const { members } of this.#levels[size] ?? []) yield* members;
    }
  }

  #place(group: Group<M>): void {
    const { size } = group.members;
    (this.#levels[size] ??= new Set()).add(group);
  }
}
