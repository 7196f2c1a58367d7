/**
 * Work of tenants that shares a number of places. What finds none waits: behind its own tenant's in its order, beside the
 * others' in turns.
 *
 * @module
 */

/**
 * Whether a tenant with `inFlight` requests may start another, of `total` in flight and `allowed` at once: while it has
 * fewer than what is left free. Alone it gets half of all, of two each gets a third, and something is always left for the
 * tenant that comes next, however long the others' requests hang.
 *
 * Chosen: this dynamic threshold (Choudhury and Hahne, 1998) and not a fixed cap, because a fixed cap either slows a tenant
 * that is alone or lets a few hanging ones take everything.
 */
export function mayStart(inFlight: number, total: number, allowed: number): boolean {
  return total < allowed && (inFlight === 0 || inFlight < allowed - total);
}

/** What a queue needs. */
export interface FairQueueOptions<Item> {
  /** Whether one more of a tenant may start, with so many of its own and in all: {@linkcode mayStart}, mostly. */
  readonly mayStart: (ofTenant: number, total: number) => boolean;
  /** Called when an item has a place, within {@linkcode FairQueue.add} or later; must not throw. */
  readonly start: (item: Item) => void;
}

/** The items of one tenant. */
interface Share<Item> {
  readonly waiting: Set<Item>;
  readonly started: Set<Item>;
}

/** Starts items as there are places. Those that wait are bounded by whoever adds them. */
export class FairQueue<Item extends { readonly tenant: string }> {
  readonly #options: FairQueueOptions<Item>;
  /** Of the tenants that have an item, in the order of their turns. */
  readonly #shares = new Map<string, Share<Item>>();
  #started = 0;
  #isStarting = false;

  constructor(options: FairQueueOptions<Item>) {
    this.#options = options;
  }

  /** Starts the item as soon as its tenant may have one more: at once or in its turn. */
  add(item: Item): void {
    const share = this.#shares.get(item.tenant) ?? { waiting: new Set(), started: new Set() };
    this.#shares.set(item.tenant, share);
    share.waiting.add(item);
    this.#startAll();
  }

  /** Takes an item away that has ended or waits no more; one that is not there changes nothing. */
  remove(item: Item): void {
    const share = this.#shares.get(item.tenant);
    if (share === undefined) return;
    if (share.started.delete(item)) this.#started -= 1;
    share.waiting.delete(item);
    if (share.started.size + share.waiting.size === 0) this.#shares.delete(item.tenant);
    this.#startAll();
  }

  // Not one within the other: an item may end while it is being started, as may all that wait.
  #startAll(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    for (let item = this.#next(); item !== null; item = this.#next()) this.#options.start(item);
    this.#isStarting = false;
  }

  #next(): Item | null {
    for (const [tenant, share] of this.#shares) {
      const [item] = share.waiting;
      if (item === undefined || !this.#options.mayStart(share.started.size, this.#started)) continue;
      // Its next turn comes after the others'.
      this.#shares.delete(tenant);
      this.#shares.set(tenant, share);
      share.waiting.delete(item);
      share.started.add(item);
      this.#started += 1;
      return item;
    }
    return null;
  }
}
