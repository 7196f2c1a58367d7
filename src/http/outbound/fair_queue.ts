/** Shares places among tenants: first in, first out per tenant, round robin across tenants. */

/**
 * Whether a tenant with `inFlight` of `total` requests may start another: while it has fewer than the free places of
 * `allowed`. Alone it gets half, of two each gets a third, and a place is always left for the next tenant.
 *
 * Chosen: this dynamic threshold (Choudhury and Hahne, 1998), because a fixed cap slows a lone tenant or lets a few
 * hanging ones take everything.
 */
export function mayStart(inFlight: number, total: number, allowed: number): boolean {
  return total < allowed && (inFlight === 0 || inFlight < allowed - total);
}

/** Options of {@linkcode FairQueue}. */
export interface FairQueueOptions<Item> {
  /** Whether a tenant may start one more: usually {@linkcode mayStart}. */
  readonly mayStart: (ofTenant: number, total: number) => boolean;
  /** Called when an item gets a place, possibly within {@linkcode FairQueue.add}; must not throw. */
  readonly start: (item: Item) => void;
}

interface Share<Item> {
  readonly waiting: Set<Item>;
  readonly started: Set<Item>;
}

/** Starts items as places become free; callers bound the waiting ones. */
export class FairQueue<Item extends { readonly tenant: string }> {
  readonly #options: FairQueueOptions<Item>;
  /** In round-robin order. */
  readonly #shares = new Map<string, Share<Item>>();
  #started = 0;
  #isStarting = false;

  constructor(options: FairQueueOptions<Item>) {
    this.#options = options;
  }

  /** Queues an item; may start it at once. */
  add(item: Item): void {
    const share = this.#shares.get(item.tenant) ?? { waiting: new Set(), started: new Set() };
    this.#shares.set(item.tenant, share);
    share.waiting.add(item);
    this.#startAll();
  }

  /** Removes an ended or canceled item. */
  remove(item: Item): void {
    const share = this.#shares.get(item.tenant);
    if (share === undefined) return;
    if (share.started.delete(item)) this.#started -= 1;
    share.waiting.delete(item);
    if (share.started.size + share.waiting.size === 0) this.#shares.delete(item.tenant);
    this.#startAll();
  }

  // Not reentrant: an item may end while it starts.
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
      // Moves to the end of the round.
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
