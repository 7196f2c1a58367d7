/**
 * Callers: clients that post as partners and customers' websites do, also at their worst, and note all that they get.
 *
 * @module
 */

import { type Chance, chance } from "./chance.ts";
import { Client, type Request } from "./client.ts";
import { nowMs, pause } from "./clock.ts";
import type { Asked, Key, What } from "./history.ts";
import { type Content, formOf, invalidBody, keyText, leadOf, notJson } from "./leads.ts";
import type { World } from "./world.ts";

/** A request that is to be sent; what is left out is that of a body that nothing is stored of. */
interface Question extends Partial<Pick<Asked, "idempotencyKey" | "content" | "expected" | "address">> {
  readonly what: What;
  readonly caller: number;
  readonly node: number;
  readonly key: Pick<Key, "id" | "text" | "tenant">;
  readonly body: string;
  readonly how?: Request["how"];
  readonly path?: string;
}

/** Something that was posted and may be posted again. */
interface Posted {
  readonly what: "lead" | "form" | "trapped_form";
  readonly tenant: string;
  readonly idempotencyKey: string | null;
  readonly content: Content;
  readonly body: string;
}

const lastCaller = 200;
const burstSize = { burst_of_key: 220, burst_of_address: 90 } as const;
const keptMax = 200;
/** Whoever has not heard of a revocation goes on for so long. */
const unheardMs = 5_000;
const triesMax = 10;

/** All callers of a round. */
export class Callers {
  readonly asked: Asked[] = [];
  readonly #world: World;
  readonly #clients = new Map<string, Client>();
  #running: Promise<unknown> = Promise.resolve();
  /** The addresses of people of whom there is more than one post. */
  related: readonly string[] = [];
  #rounds = 0;
  /** Whether all are to come to an end. */
  isStopping = false;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    const { seed, callers, pauseMs } = this.#world.plan;
    this.#running = Promise.all(Array.from({ length: callers }, async (_, index) => {
      const how = chance(seed * 31 + index);
      const caller = new Caller(index, this, this.#world, how);
      // Not all at once.
      await pause(how.below(pauseMs * 2));
      while (!this.isStopping) {
        await caller.act();
        await pause(how.below(pauseMs * 2));
      }
    }));
  }

  /** Lets each finish what it is at. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.#running;
  }

  /** Posts some leads when all others have stopped. */
  async postLast(count: number): Promise<void> {
    const last = new Caller(lastCaller, this, this.#world, chance(this.#world.plan.seed));
    await Promise.all(Array.from({ length: count }, () => last.post()));
  }

  /** Posts as many as that of a kind to one tenant at once, without Idempotency-Keys. */
  async postAtOnce(what: Posted["what"], count: number, tenant: string): Promise<readonly Posted[]> {
    this.#rounds += 1;
    const last = new Caller(lastCaller + this.#rounds, this, this.#world, chance(this.#world.plan.seed));
    const posts = Array.from({ length: count }, () => last.make(what, tenant));
    await this.repeat(posts);
    return posts;
  }

  /** Posts all of them, again, at once. */
  async repeat(posts: readonly Posted[]): Promise<void> {
    const again = new Caller(lastCaller, this, this.#world, chance(this.#world.plan.seed));
    await Promise.all(posts.map((post) => again.toTheEnd(post)));
  }

  /** Posts leads, held forms and what is kept aside, some of the same people, whose addresses are {@linkcode related}. */
  async postRelated(count: number): Promise<void> {
    const held = await this.postAtOnce("trapped_form", 3 * count, "north");
    this.related = held.slice(0, count).map(({ content }) => String(content.expected.email));
    const used = (await this.postAtOnce("lead", 2 * count, "south")).map((lead, index) => ({
      ...{ ...lead, idempotencyKey: `used-${index}` },
    }));
    await this.repeat(used);
    const others = await this.postAtOnce("lead", 3 * count, "north");
    const named = (content: Content, index: number): string => {
      const text = content.spell(chance(index)).trim().replace(/\s*"email":\s*"[^"]*",?/, "");
      return `{"email":"${this.related[index]}",${text.slice(1)}`.replace(/,\s*}$/, "}");
    };
    // Of some people there are leads of their own, and leads kept aside under others' Idempotency-Keys.
    await this.repeat(others.map(({ content }, index) => {
      const isTheirs = index < count;
      const body = isTheirs ? named(content, index) : content.spell(chance(index));
      const expected = { ...content.expected, ...(isTheirs ? { email: this.related[index] } : {}) };
      return { ...(used[index % used.length] as Posted), content: { ...content, expected }, body };
    }));
    await this.repeat(
      others.slice(0, count).map((one, index) => {
        const content = { ...one.content, name: `${one.content.name}-own` };
        const flags = (content.expected.flags as string[]).filter((flag) => flag !== "email_shape_suspect");
        const expected = { ...content.expected, flags, email: this.related[index] };
        return { ...one, content: { ...content, expected }, body: named(content, index) };
      }),
    );
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  #client(address: string): Client {
    // The last number of the address decides, so that a seed repeats it.
    const isHttp2 = Number(address.split(".").at(-1)) % 2 === 1;
    const client = this.#clients.get(address) ??
      new Client({ address, ca: this.#world.authority.pem, isHttp2 });
    this.#clients.set(address, client);
    return client;
  }

  /** Sends one request and notes it. */
  async ask(question: Question): Promise<Asked> {
    const { key, how, path = "/v1/intake", address = `127.0.0.${2 + question.caller}`, ...rest } = question;
    const node = this.#world.nodes[question.node];
    const asked: Asked = {
      ...{ idempotencyKey: null, content: "", expected: {}, ...rest, address },
      ...{ keyId: key.id, tenant: key.tenant, sentAtMs: nowMs(), doneAtMs: 0, answer: null, failure: null },
    };
    this.asked.push(asked);
    try {
      asked.answer = await this.#client(address).send({
        port: (path === "/v1/intake" ? node?.intakePort : node?.formsPort) ?? 0,
        ...{ method: "POST", path, body: question.body },
        headers: {
          "Content-Type": "application/json",
          "X-API-Key": key.text,
          ...(asked.idempotencyKey === null ? {} : { "Idempotency-Key": asked.idempotencyKey }),
        },
        ...(how === undefined ? {} : { how }),
      });
    } catch (error) {
      asked.failure = String((error as { code?: unknown }).code ?? error);
    }
    asked.doneAtMs = nowMs();
    return asked;
  }

  /** Many checks of a key at once: of one that has the published limit, or from an address that has it. */
  async burst(kind: "burst_of_key" | "burst_of_address", node: number): Promise<void> {
    const isOfKey = kind === "burst_of_key";
    const key = this.#world.notes.keys.find(({ limit, label }) =>
      isOfKey ? limit !== null : label === "kept"
    );
    const address = isOfKey ? "127.9.0.3" : "127.200.0.3";
    const question = { what: "probe", caller: -1, node, key: key as Key, body: "{}", address } as const;
    await Promise.all(Array.from({ length: burstSize[kind] }, () => this.ask(question)));
  }
}

/** One client, which does by chance what clients do: new leads and forms, repeats of all sorts, and what is refused. */
class Caller {
  readonly #index: number;
  readonly #callers: Callers;
  readonly #world: World;
  readonly #how: Chance;
  readonly #kept: Posted[] = [];
  #made = 0;

  constructor(index: number, callers: Callers, world: World, how: Chance) {
    this.#index = index;
    this.#callers = callers;
    this.#world = world;
    this.#how = how;
  }

  /** Does one of the things that callers do. */
  async act(): Promise<unknown> {
    const how = this.#how;
    const dice = how.below(100);
    if (dice < 40) return await this.toTheEnd(this.#newLead(how.oneIn(3) ? null : this.#freshKey()));
    if (dice < 48) return await this.#again();
    if (dice < 53) return await this.#otherLead();
    if (dice < 58) return await this.#sameElsewhere();
    if (dice < 66) return await this.#atOnce();
    if (dice < 76) return await this.toTheEnd(this.#newForm(how.oneIn(5)));
    if (dice < 82) {
      this.#made += 1;
      const { body, fields } = invalidBody(how, this.#name);
      return await this.#ask("invalid", body, { expected: fields });
    }
    if (dice < 86) return await this.#ask("probe", "{}");
    if (dice < 89) return await this.#ask("not_json", notJson(how));
    if (dice < 90) {
      return await this.#ask("too_large", JSON.stringify({ project_details: "x".repeat(70_000) }));
    }
    const post = this.#newLead(dice < 92 ? null : this.#freshKey());
    if (dice < 92) {
      const key = { id: 0, text: keyText(how, "lead_live_"), tenant: post.tenant };
      return await this.#ask("unknown_key", post.body, { key, content: post.content.name });
    }
    await this.#send(post, dice < 96 ? "drip" : "cut");
    this.#keep(post);
  }

  /** Makes one of its kind for a tenant, without an Idempotency-Key. */
  make(what: Posted["what"], tenant: string): Posted {
    const one = what === "lead" ? this.#newLead(null) : this.#newForm(what === "trapped_form");
    return { ...one, tenant, idempotencyKey: null };
  }

  /** Posts one new lead, to the end. */
  async post(): Promise<void> {
    await this.toTheEnd(this.#newLead(this.#freshKey()));
  }

  get #name(): string {
    return `${this.#world.plan.seed.toString(36)}c${this.#index}n${this.#made}`;
  }

  #freshKey(): string {
    const name = `lot-${this.#name}`;
    // Two that differ in their last character, or in case alone, are two.
    return this.#how.pick([name, name, name, name.toUpperCase(), `'";,\\ ${name}`, name.padStart(200, "~")]);
  }

  #key(tenant: string, surface: "intake" | "forms"): Key {
    const { keys, revoked } = this.#world.notes;
    const gone = new Set(
      revoked.filter(({ returnedAtMs }) => nowMs() - returnedAtMs > unheardMs).map(({ keyId }) => keyId),
    );
    const all = keys.filter((key) => key.tenant === tenant && key.surface === surface && key.limit === null);
    // A revoked one is tried now and then.
    return this.#how.pick(this.#how.oneIn(8) ? all : all.filter(({ id }) => !gone.has(id)));
  }

  #tenant(): string {
    return this.#how.pick(["north", "north", "south", "south", "sandbox", "bare"]);
  }

  #newLead(idempotencyKey: string | null): Posted {
    this.#made += 1;
    const content = leadOf(this.#how, this.#name);
    return { what: "lead", tenant: this.#tenant(), idempotencyKey, content, body: content.spell(this.#how) };
  }

  #newForm(trap: boolean): Posted {
    this.#made += 1;
    const content = formOf(this.#how, this.#name, { trap });
    return {
      ...{ what: trap ? "trapped_form" : "form", content, body: content.spell(this.#how) },
      tenant: this.#how.pick(["north", "south", "bare"]),
      idempotencyKey: this.#how.oneIn(2) ? null : this.#freshKey(),
    };
  }

  #keep(post: Posted): void {
    this.#kept.push(post);
    if (this.#kept.length > keptMax) this.#kept.shift();
  }

  async #ask(what: What, body: string, more: Partial<Question> = {}): Promise<Asked> {
    return await this.#callers.ask({
      ...{ what, body, caller: this.#index, node: this.#how.below(this.#world.nodes.length) },
      ...{ key: more.key ?? this.#key(this.#tenant(), "intake"), ...more },
    });
  }

  /** Posts it, by any key of the tenant. */
  async #send(post: Posted, how?: "drip" | "cut"): Promise<Asked> {
    const isLead = post.what === "lead";
    return await this.#ask(how === "cut" ? "cut_short" : post.what, post.body, {
      ...{ idempotencyKey: post.idempotencyKey, content: post.content.name, expected: post.content.expected },
      key: this.#key(post.tenant, isLead ? "intake" : "forms"),
      ...(isLead ? {} : { path: `/v1/forms/${post.tenant}/contact` }),
      ...(how === undefined ? {} : { how }),
    });
  }

  /** As the specification asks: again after 503, 429 and silence, until there is an answer; a few give up. */
  async toTheEnd(post: Posted): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const status = (await this.#send(post)).answer?.status ?? 503;
      if (status === 200 || status === 202) return this.#keep(post);
      if (status !== 503 && status !== 429) return;
      if (this.#how.oneIn(10) || this.#callers.isStopping && tries > 3) return this.#keep(post);
      await pause(50 + this.#how.below(100) * Math.min(4, tries + 1));
    }
  }

  #earlier(): Posted | undefined {
    return this.#kept.length === 0 ? undefined : this.#how.pick(this.#kept);
  }

  /** The same once more, maybe spelled otherwise. */
  async #again(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier === undefined) return;
    const body = this.#how.oneIn(2) ? earlier.body : earlier.content.spell(this.#how);
    await this.#send({ ...earlier, body });
  }

  /** Another lead under a used Idempotency-Key. */
  async #otherLead(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier?.what !== "lead" || earlier.idempotencyKey === null) return;
    this.#made += 1;
    const content = leadOf(this.#how, this.#name);
    await this.#send({ ...earlier, content, body: content.spell(this.#how) });
  }

  /** The same Idempotency-Key and content to another customer: that one's own lead. */
  async #sameElsewhere(): Promise<void> {
    const earlier = this.#earlier();
    if (earlier?.what !== "lead") return;
    const tenant = this.#how.pick(["north", "south", "sandbox"].filter((slug) => slug !== earlier.tenant));
    await this.toTheEnd({ ...earlier, tenant });
  }

  async #atOnce(): Promise<void> {
    const post = this.#newLead(this.#how.oneIn(3) ? null : this.#freshKey());
    await Promise.all(Array.from({ length: 2 + this.#how.below(3) }, () => this.#send(post)));
    this.#keep(post);
  }
}
