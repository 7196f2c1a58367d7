/**
 * What a development tier has sent and nobody has received: kept in memory, the newest only.
 *
 * @module
 */

import type { Received } from "./smtp_server.ts";
import type { WebhookCall } from "./webhook_sink.ts";

/** A mail or a webhook. */
export type Caught =
  | { readonly kind: "mail"; readonly id: number; readonly at: Date; readonly mail: Received }
  | {
    readonly kind: "webhook";
    readonly id: number;
    readonly at: Date;
    readonly call: WebhookCall;
    /** What the receiver found when it checked the signature. */
    readonly signature: string;
    readonly isGenuine: boolean;
  };

/** {@linkcode Caught} before it has its place. */
export type Arrival =
  | Omit<Extract<Caught, { kind: "mail" }>, "id" | "at">
  | Omit<Extract<Caught, { kind: "webhook" }>, "id" | "at">;

const countMax = 200;
// Two hundred of the largest would be gigabytes.
const charactersMax = 50_000_000;

/** The newest 200, and fewer when they are large. */
export class Shelf {
  readonly #all: Caught[] = [];
  #last = 0;
  #characters = 0;

  /** Newest first. */
  get all(): readonly Caught[] {
    return this.#all.toReversed();
  }

  /** Puts one on the shelf; the oldest go when there is no room. */
  add(arrival: Arrival): void {
    this.#last += 1;
    const caught = { ...arrival, id: this.#last, at: new Date() } as Caught;
    this.#all.push(caught);
    this.#characters += sizeOf(caught);
    while (this.#all.length > countMax || (this.#characters > charactersMax && this.#all.length > 1)) {
      this.#characters -= sizeOf(this.#all.shift() as Caught);
    }
  }

  /** The one with this number, when it is there still. */
  find(id: number): Caught | undefined {
    return this.#all.find((one) => one.id === id);
  }
}

function sizeOf(caught: Caught): number {
  return caught.kind === "mail" ? caught.mail.raw.length : caught.call.body.length;
}
