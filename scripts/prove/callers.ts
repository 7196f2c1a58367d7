/**
 * Callers: clients that post as partners and customers' websites do, also at their worst, and note all that they get.
 *
 * @module
 */

import { type Chance, chance } from "./chance.ts";
import { Client, type Request } from "./client.ts";
import { nowMs, pause } from "./clock.ts";
import type { Asked, Key, PostKind, What } from "./history.ts";
import { type Content, flagNames, formOf, keyText, leadOf, refusals, type Refused } from "./leads.ts";
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
  readonly method?: string;
}

/** Something that was posted and may be posted again. */
interface Posted {
  readonly what: PostKind;
  readonly tenant: string;
  readonly idempotencyKey: string | null;
  readonly content: Content;
  readonly body: string;
}

const lastCaller = 200;
/** How many at once, from which address and by which key; those of the last three meet a published limit. */
const bursts = {
  burst_of_key: { size: 220, address: "127.9.0.3", label: "tight", what: "probe", path: undefined },
  burst_of_address: { size: 90, address: "127.200.0.3", label: "kept", what: "probe", path: undefined },
  burst_of_forms: {
    size: 450,
    address: "127.9.0.5",
    label: "tight forms",
    what: "unknown_form",
    path: "/v1/forms/tight/contacts",
  },
} as const satisfies Record<string, { readonly what: What; readonly [name: string]: unknown }>;
const keptMax = 200;
/** Whoever has not heard of a revocation goes on for so long. */
const unheardMs = 5_000;
const triesMax = 10;

const addressOf = (caller: number) => `127.0.${caller >> 7}.${2 + caller % 128}`;

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
  /** How often each verb was done. */
  readonly verbs: Record<string, number> = {};

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

  /** Does each verb until it was done so often, and comes over each limit. */
  async doEach(times: number): Promise<void> {
    for (const kind of Object.keys(bursts) as (keyof typeof bursts)[]) await this.burst(kind, 0);
    const last = new Caller(lastCaller - 1, this, this.#world, chance(this.#world.plan.seed));
    for (const verb of last.verbs) {
      for (let tries = 0; (this.verbs[verb] ?? 0) < times && tries < 2 * times; tries += 1) {
        await last.do(verb);
      }
    }
  }

  /** Posts some leads when all others have stopped. */
  async postLast(count: number): Promise<void> {
    const last = new Caller(lastCaller, this, this.#world, chance(this.#world.plan.seed));
    await Promise.all(Array.from({ length: count }, () => last.toTheEnd(last.make("lead", "north"))));
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
    this.related = held.map(({ content }) => String(content.expected.email))
      .filter((email) => email.endsWith("@example.com")).slice(0, count);
    const used = (await this.postAtOnce("lead", 2 * count, "south")).map((lead, index) => ({
      ...{ ...lead, idempotencyKey: `used-${index}` },
    }));
    await this.repeat(used);
    const others = await this.postAtOnce("lead", 3 * count, "north");
    // With the address of one of them instead of its own.
    const named = (content: Content, index: number): Pick<Posted, "content" | "body"> => {
      const email = this.related[index];
      const text = content.spell(chance(index)).trim().replace(/\s*"email":\s*"[^"]*",?/, "");
      const flags = (content.expected.flags as string[]).filter((flag) => flag !== "email_shape_suspect");
      return {
        body: `{"email":"${email}",${text.slice(1)}`.replace(/,\s*}$/, "}"),
        content: { ...content, name: `${content.name}-own`, expected: { ...content.expected, flags, email } },
      };
    };
    // Of some people there are leads of their own, and leads kept aside under others' Idempotency-Keys.
    await this.repeat(others.map((one, index) => ({
      ...(used[index % used.length] as Posted),
      ...(index < count
        ? named(one.content, index)
        : { content: one.content, body: one.content.spell(chance(index)) }),
    })));
    const own = others.slice(0, count).map((one, index) => ({
      ...{ ...one, ...named(one.content, index), idempotencyKey: `own-${index}` },
    }));
    await this.repeat(own);
    // Under their own Idempotency-Keys: somebody of the same last name, and somebody else.
    for (const other of ["", "else"]) {
      await this.repeat(own.map((one, index) => {
        const lastName = `${one.content.expected.last_name}${other}`;
        const lead = { first_name: "Eve", last_name: lastName, phone: `${2_125_550_100 + index}` };
        const expected = { ...lead, phone: `+1${lead.phone}`, country: "US", extra: "{}", flags: [] };
        const body = JSON.stringify(lead);
        return { ...one, body, content: { name: body, expected, spell: () => body } };
      }));
    }
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
    const { key, how, path = "/v1/intake", address = addressOf(question.caller) } = question;
    const { what, caller, body, idempotencyKey = null, content = "", expected = {}, method = "POST" } =
      question;
    const node = this.#world.nodes[question.node];
    const asked: Asked = {
      ...{ what, caller, node: question.node, body, idempotencyKey, content, expected, address },
      requestId: `${this.asked.length} of the proof`,
      ...{ keyId: key.id, tenant: key.tenant, sentAtMs: nowMs(), doneAtMs: 0, answer: null, failure: null },
    };
    this.asked.push(asked);
    try {
      asked.answer = await this.#client(address).send({
        port: (path === "/v1/intake" ? node?.intakePort : node?.formsPort) ?? 0,
        ...{ method, path, body },
        headers: {
          "Content-Type": "application/json",
          "X-API-Key": key.text,
          "X-Request-Id": asked.requestId,
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

  /** Many requests at once: by a key or from an address that has the published limit. */
  async burst(kind: keyof typeof bursts, node: number): Promise<void> {
    const { size, label, ...rest } = bursts[kind];
    const key = this.#world.notes.keys.find((one) => one.label === label) as Key;
    const make: (chance: Chance, name: string, tenant: string) => Refused = refusals[rest.what];
    const { expected } = make(chance(0), "", "tight");
    const question = {
      caller: -1,
      node,
      key,
      body: "{}",
      ...rest,
      path: rest.path ?? "/v1/intake",
      expected,
    };
    await Promise.all(Array.from({ length: size }, () => this.ask(question)));
  }

  /** Posts by each of these keys at once. */
  async postBy(keys: readonly Key[]): Promise<void> {
    this.#rounds += 1;
    const last = new Caller(lastCaller + this.#rounds, this, this.#world, chance(this.#world.plan.seed));
    await Promise.all(keys.map((key) => last.postBy(key)));
  }

  /** Posts by these keys while something is done to them, and after it. */
  async postMeanwhile(keys: readonly Key[], act: () => Promise<unknown>): Promise<void> {
    this.#rounds += 1;
    const how = chance(this.#world.plan.seed + this.#rounds);
    const last = new Caller(lastCaller + this.#rounds, this, this.#world, how);
    let isOver = false;
    const posting = [1, 2].map(async () => {
      while (!isOver) await last.postBy(how.pick(keys));
    });
    await act();
    isOver = true;
    await Promise.all(posting);
    await this.postBy(keys);
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

  /** What callers do, with how often of a hundred times; what comes to nothing returns `false`. */
  readonly #verbs: Readonly<Record<string, readonly [share: number, act: () => Promise<unknown>]>> = {
    "new lead": [36, () => this.toTheEnd(this.#newLead(this.#how.oneIn(3) ? null : this.#freshKey()))],
    "form": [5, () => this.toTheEnd(this.#newForm("form"))],
    "trapped form": [3, () => this.toTheEnd(this.#newForm("trapped_form"))],
    "spam form": [3, () => this.toTheEnd(this.#newForm("spam_form"))],
    "repeat": [8, () => this.#again()],
    "other content under a used key": [6, () => this.#other()],
    "same to another tenant": [5, () => this.#sameElsewhere()],
    "several at once": [6, () => this.#atOnce()],
    "keys that differ in one character": [1, () => this.#twins()],
    "leads that differ in one member": [1, () => this.#variants()],
    "same under another key": [2, () => this.#sameAgain()],
    "dripping lead": [3, () => this.#inPieces("drip")],
    "lead cut short": [4, () => this.#inPieces("cut")],
    ...Object.fromEntries(
      (Object.keys(refusals) as (keyof typeof refusals)[]).map((what) =>
        [`refused: ${what}`, [what === "invalid" ? 4 : 1.5, () => this.#refused(what)]] as const
      ),
    ),
  };

  get verbs(): string[] {
    return Object.keys(this.#verbs);
  }

  /** Does one of the things that callers do. */
  async act(): Promise<void> {
    let dice = this.#how.below(100);
    for (const [verb, [share]] of Object.entries(this.#verbs)) {
      dice -= share;
      if (dice < 0) return await this.do(verb);
    }
  }

  /** Does it, and counts it. */
  async do(verb: string): Promise<void> {
    const { verbs } = this.#callers;
    if (await this.#verbs[verb]?.[1]() !== false) verbs[verb] = (verbs[verb] ?? 0) + 1;
  }

  /** Posts one by this key, and does not try again. */
  async postBy(key: Key): Promise<void> {
    await this.#send(this.make(key.surface === "intake" ? "lead" : "form", key.tenant), { key });
  }

  async #inPieces(how: "drip" | "cut"): Promise<void> {
    const post = this.#newLead(this.#how.oneIn(3) ? null : this.#freshKey());
    await this.#send(post, { how });
    this.#keep(post);
  }

  async #refused(what: keyof typeof refusals): Promise<void> {
    this.#made += 1;
    const how = this.#how;
    const isForm = what.includes("form") || what === "wrong_tenant";
    const tenant = isForm ? how.pick(["north", "south", "bare"]) : this.#tenant();
    const make: (chance: Chance, name: string, tenant: string) => Refused = refusals[what];
    const known = this.#key(tenant, isForm ? "forms" : "intake");
    const unknown = { id: 0, text: keyText(how, "lead_live_"), tenant };
    // What comes before the key is looked at needs none.
    const isUnknown = what === "unknown_key" ||
      (what === "too_large" || what === "wrong_method") && how.oneIn(2);
    await this.#ask(what, "", { ...make(how, this.#name, tenant), key: isUnknown ? unknown : known });
  }

  /** Makes one of its kind for a tenant, without an Idempotency-Key. */
  make(what: Posted["what"], tenant: string): Posted {
    const one = what === "lead" ? this.#newLead(null) : this.#newForm(what);
    return { ...one, tenant, idempotencyKey: null };
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
      revoked.filter(({ returnedAtMs, until }) => until === undefined && nowMs() - returnedAtMs > unheardMs)
        .map(({ keyId }) => keyId),
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

  #newForm(what: Exclude<PostKind, "lead">): Posted {
    this.#made += 1;
    const content = formOf(this.#how, this.#name, what);
    return {
      ...{ what, content, body: content.spell(this.#how) },
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

  /** Posts it, by any key of the tenant or this one. */
  async #send(post: Posted, { how, key }: { how?: "drip" | "cut"; key?: Key } = {}): Promise<Asked> {
    const isLead = post.what === "lead";
    return await this.#ask(how === "cut" ? "cut_short" : post.what, post.body, {
      ...{ idempotencyKey: post.idempotencyKey, content: post.content.name, expected: post.content.expected },
      key: key ?? this.#key(post.tenant, isLead ? "intake" : "forms"),
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
  async #again(): Promise<unknown> {
    const earlier = this.#earlier();
    if (earlier === undefined) return false;
    const body = this.#how.oneIn(2) ? earlier.body : earlier.content.spell(this.#how);
    await this.#send({ ...earlier, body });
  }

  /** Another lead or form under a used Idempotency-Key. */
  async #other(): Promise<unknown> {
    const earlier = this.#earlier();
    if (earlier === undefined || earlier.idempotencyKey === null) return false;
    const { content, body } = this.make(earlier.what, earlier.tenant);
    for (const tries of [1, 2]) {
      await this.#send({ ...earlier, content, body: tries === 1 ? body : content.spell(this.#how) });
    }
  }

  /** The same Idempotency-Key and content to another customer: that one's own lead. */
  async #sameElsewhere(): Promise<unknown> {
    const earlier = this.#earlier();
    if (earlier?.what !== "lead") return false;
    const tenant = this.#how.pick(["north", "south", "sandbox"].filter((slug) => slug !== earlier.tenant));
    await this.toTheEnd({ ...earlier, tenant });
  }

  /** Another lead, and not the same one again. */
  async #variants(): Promise<void> {
    const post = this.#newLead(null);
    await this.toTheEnd(post);
    const { content } = post;
    if (content.expected.extra !== "{}") return;
    const flags = flagNames.filter((flag) =>
      flag === "extra_fields_preserved" || (content.expected.flags as string[]).includes(flag)
    );
    for (const extra of ['{"crm_twin":1}', '{"crm_twin":"1"}', '{"crm_twin":2}']) {
      const spell = (how: Chance) => content.spell(how).trim().replace(/\s*}$/, `,${extra.slice(1)}`);
      const expected = { ...content.expected, flags, extra };
      const twin = { name: content.name + extra, expected, spell };
      await this.toTheEnd({ ...post, content: twin, body: spell(this.#how) });
    }
  }

  /** With an Idempotency-Key, with another one, with that one as a form, and without any: each is an event of its own. */
  async #sameAgain(): Promise<void> {
    const post = this.#newLead(this.#freshKey());
    const tenant = this.#how.pick(["north", "south", "bare"]);
    const form = { ...this.make("form", tenant), idempotencyKey: post.idempotencyKey };
    const own = { ...post, tenant };
    for (const one of [own, { ...own, idempotencyKey: `${post.idempotencyKey?.slice(0, 198)}-2` }, form]) {
      await this.toTheEnd(one);
    }
    for (const one of [own, form]) await this.toTheEnd({ ...one, idempotencyKey: null });
  }

  async #twins(): Promise<void> {
    const key = this.#how.pick([this.#freshKey().slice(0, 199), `${this.#name} `.padEnd(199, "~")]);
    for (const end of "aAb") await this.toTheEnd(this.#newLead(`${key}${end}`));
  }

  async #atOnce(): Promise<void> {
    const post = this.#newLead(this.#how.oneIn(3) ? null : this.#freshKey());
    await Promise.all(Array.from({ length: 2 + this.#how.below(3) }, () => this.#send(post)));
    this.#keep(post);
  }
}
