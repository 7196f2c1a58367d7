/** Shares concurrency among tenants: first in, first out per tenant, round robin across tenants. */

/**
 * Whether a tenant with `inFlight` of `total` requests may start another. It may if fewer are in flight than are free of
 * `allowed`, so one tenant alone gets half, and each of two a third. Chosen: this dynamic threshold (Choudhury and Hahne,
 * 1998), because a fixed cap slows a single tenant down or lets a few whose requests hang take everything.
 */
export function mayStart(inFlight: number, total: number, allowed: number): boolean {
  return total < allowed && (inFlight === 0 || inFlight < allowed - total);
}

export interface FairQueueOptions<Item> {
  /** Whether a tenant may start another item; usually {@linkcode mayStart}. */
  readonly mayStart: (inFlight: number, total: number) => boolean;
  /** Starts an item, possibly within {@linkcode FairQueue.add}; must not throw. */
  readonly start: (item: Item) => void;
}

interface Share<Item> {
  readonly waiting: Set<Item>;
  readonly started: Set<Item>;
}

/** Starts items as soon as `mayStart` allows; the caller limits how many wait. */
export class FairQueue<Item extends { readonly tenant: string }> {
  readonly #options: FairQueueOptions<Item>;
  /** The shares by tenant, in round-robin order. */
  readonly #shares = new Map<string, Share<Item>>();
  #started = 0;
  #isStarting = false;

  constructor(options: FairQueueOptions<Item>) {
    this.#options = options;
  }

  add(item: Item): void {
    const share = this.#shares.get(item.tenant) ?? { waiting: new Set(), started: new Set() };
    this.#shares.set(item.tenant, share);
    share.waiting.add(item);
    this.#startAll();
  }

  /** Removes an item that has ended or was canceled. */
  remove(item: Item): void {
    const share = this.#shares.get(item.tenant);
    if (share === undefined) return;
    if (share.started.delete(item)) this.#started -= 1;
    share.waiting.delete(item);
    if (share.started.size + share.waiting.size === 0) this.#shares.delete(item.tenant);
    this.#startAll();
  }

  // An item may end while it is being started, which calls this method again.
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
      // Moves the tenant to the end of the round.
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
