/**
 * One client, which does by chance what clients do: new leads and forms, repeats of all sorts, and what is refused.
 *
 * @module
 */

import type { Chance } from "./chance.ts";
import type { Request } from "./client.ts";
import { nowMs, pause } from "./clock.ts";
import type { Asked, Key, What } from "./history.ts";
import { keyText } from "./key_text.ts";
import { type Content, formOf, invalidBody, leadOf, notJson } from "./leads.ts";
import type { World } from "./world.ts";

/** A request that is to be sent. */
export type Question =
  & Omit<Asked, "sentAtMs" | "doneAtMs" | "answer" | "failure" | "address" | "keyId" | "tenant">
  & {
    readonly key: Key | { readonly id: 0; readonly text: string; readonly tenant: string };
    readonly address?: string;
    readonly how?: Request["how"];
    readonly path?: string;
  };

/** Who sends it and notes what came of it. */
export interface Asker {
  ask(about: Question): Promise<Asked>;
  /** Whether all are to come to an end. */
  readonly isStopping: boolean;
}

/** Something that was posted and may be posted again. */
interface Posted {
  readonly what: "lead" | "form" | "trapped_form";
  readonly tenant: string;
  readonly idempotencyKey: string | null;
  readonly content: Content;
  readonly body: string;
}

interface Post extends Posted {
  readonly key: Key;
}

const keptMax = 200;
const unheardMs = 5_000;
const triesMax = 10;

/** One client. */
export class Caller {
  readonly #index: number;
  readonly #asker: Asker;
  readonly #world: World;
  readonly #how: Chance;
  readonly #kept: Posted[] = [];
  #made = 0;

  constructor(index: number, { asker, world, how }: { asker: Asker; world: World; how: Chance }) {
    this.#index = index;
    this.#asker = asker;
    this.#world = world;
    this.#how = how;
  }

  /** Does one of the things that callers do. */
  async act(): Promise<void> {
    const how = this.#how;
    const dice = how.below(100);
    if (dice < 40) return await this.#toTheEnd(this.#newLead(how.oneIn(3) ? null : this.#freshKey()));
    if (dice < 48) return await this.#again();
    if (dice < 53) return await this.#otherLead();
    if (dice < 58) return await this.#sameElsewhere();
    if (dice < 66) return await this.#atOnce();
    if (dice < 76) return await this.#toTheEnd(this.#newForm(how.oneIn(5)));
    if (dice < 82) return await this.#invalid();
    if (dice < 86) return void await this.#once("probe", "{}", {});
    if (dice < 89) return void await this.#once("not_json", notJson(how), {});
    if (dice < 90) {
      return void await this.#once("too_large", JSON.stringify({ project_details: "x".repeat(70_000) }), {});
    }
    if (dice < 92) return await this.#unknownKey();
    if (dice < 96) return await this.#slow("drip");
    return await this.#slow("cut");
  }

  /** Posts one new lead, to the end. */
  async post(): Promise<void> {
    await this.#toTheEnd(this.#newLead(this.#freshKey()));
  }

  get #name(): string {
    return `${this.#world.plan.seed.toString(36)}c${this.#index}n${this.#made}`;
  }

  #freshKey(): string {
    return `lot-${this.#name}`;
  }

  #node(): number {
    return this.#how.below(this.#world.nodes.length);
  }

  #key(tenant: string, surface: "intake" | "forms"): Key {
    const { keys, revoked } = this.#world;
    // Whoever has not heard of a revocation goes on for a while.
    const gone = new Set(
      revoked.filter(({ returnedAtMs }) => nowMs() - returnedAtMs > unheardMs).map(({ keyId }) => keyId),
    );
    const all = keys.filter((key) => key.tenant === tenant && key.surface === surface && key.limit === null);
    const alive = all.filter(({ id }) => !gone.has(id));
    // A revoked one is tried now and then.
    return this.#how.pick(this.#how.oneIn(8) ? all : alive);
  }

  #tenant(): string {
    return this.#how.pick(["north", "north", "south", "south", "sandbox"]);
  }

  #newLead(idempotencyKey: string | null): Post {
    this.#made += 1;
    const tenant = this.#tenant();
    const content = leadOf(this.#how, this.#name);
    return {
      ...{ what: "lead", tenant, idempotencyKey, content, body: content.spell(this.#how) },
      key: this.#key(tenant, "intake"),
    };
  }

  #newForm(trap: boolean): Post {
    this.#made += 1;
    const tenant = this.#how.pick(["north", "south"]);
    const content = formOf(this.#how, this.#name, { trap });
    return {
      ...{ what: trap ? "trapped_form" : "form", tenant, content, body: content.spell(this.#how) },
      idempotencyKey: this.#how.oneIn(2) ? null : this.#freshKey(),
      key: this.#key(tenant, "forms"),
    };
  }

  #keep(post: Posted): void {
    this.#kept.push(post);
    if (this.#kept.length > keptMax) this.#kept.shift();
  }

  async #send(post: Post, how?: "drip" | "cut"): Promise<Asked> {
    return await this.#asker.ask({
      ...{
        what: how === "cut" ? "cut_short" : post.what,
        caller: this.#index,
        node: this.#node(),
        key: post.key,
      },
      ...{ idempotencyKey: post.idempotencyKey, content: post.content.name, body: post.body },
      expected: post.content.expected,
      ...(post.what === "lead" ? {} : { path: `/v1/forms/${post.tenant}/contact` }),
      ...(how === undefined ? {} : { how }),
    });
  }

  /** As the specification asks: again after 503, 429 and silence, until there is an answer; a few give up. */
  async #toTheEnd(post: Post): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const { answer } = await this.#send(post);
      const isFinal = answer !== null && answer.status !== 503 && answer.status !== 429;
      if (isFinal) {
        if (answer.status === 200 || answer.status === 202) this.#keep(post);
        return;
      }
      if (this.#how.oneIn(10) || this.#asker.isStopping && tries > 3) return this.#keep(post);
      await pause(50 + this.#how.below(100) * Math.min(4, tries + 1));
    }
  }

  #earlier(): Posted | undefined {
    return this.#kept.length === 0 ? undefined : this.#how.pick(this.#kept);
  }

  #withKey(post: Posted): Post {
    return { ...post, key: this.#key(post.tenant, post.what === "lead" ? "intake" : "forms") };
  }

  /** The same once more, maybe by another key of the tenant, maybe spelled otherwise. */
  async #again(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier === undefined) return;
    const body = this.#how.oneIn(2) ? earlier.body : earlier.content.spell(this.#how);
    await this.#send(this.#withKey({ ...earlier, body }));
  }

  /** Another lead under a used Idempotency-Key. */
  async #otherLead(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier === undefined || earlier.what !== "lead" || earlier.idempotencyKey === null) return;
    this.#made += 1;
    const content = leadOf(this.#how, this.#name);
    await this.#send(this.#withKey({ ...earlier, content, body: content.spell(this.#how) }));
  }

  /** The same Idempotency-Key and content to another customer: that one's own lead. */
  async #sameElsewhere(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier === undefined || earlier.what !== "lead") return;
    const tenant = this.#how.pick(["north", "south", "sandbox"].filter((slug) => slug !== earlier.tenant));
    await this.#toTheEnd(this.#withKey({ ...earlier, tenant }));
  }

  async #atOnce(): Promise<void> {
    const post = this.#newLead(this.#how.oneIn(3) ? null : this.#freshKey());
    await Promise.all(Array.from({ length: 2 + this.#how.below(3) }, () => this.#send(this.#withKey(post))));
    this.#keep(post);
  }

  async #once(what: What, body: string, expected: Record<string, unknown>): Promise<Asked> {
    const key = this.#key(this.#tenant(), "intake");
    return await this.#asker.ask({
      ...{
        what,
        caller: this.#index,
        node: this.#node(),
        key,
        idempotencyKey: null,
        content: "",
        body,
        expected,
      },
    });
  }

  async #invalid(): Promise<void> {
    this.#made += 1;
    const { body, fields } = invalidBody(this.#how, this.#name);
    await this.#once("invalid", body, fields);
  }

  async #unknownKey(): Promise<void> {
    const post = this.#newLead(null);
    const key = { id: 0 as const, text: keyText(this.#how, "lead_live_"), tenant: post.tenant };
    await this.#asker.ask({
      ...{ what: "unknown_key" as What, caller: this.#index, node: this.#node(), key, idempotencyKey: null },
      ...{ content: post.content.name, body: post.body, expected: {} },
    });
  }

  async #slow(how: "drip" | "cut"): Promise<void> {
    const post = this.#newLead(this.#freshKey());
    await this.#send(post, how);
    this.#keep(post);
  }
}
