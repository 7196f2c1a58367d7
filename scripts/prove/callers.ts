/**
 * Callers: clients that send correct and incorrect requests, as partners and tenants' websites do, and record every response.
 *
 * @module
 */

import { type Random, seededRandom } from "./random.ts";
import { Client, type Request } from "./client.ts";
import { nowMs, pause, waitFor } from "./clock.ts";
import {
  acknowledgedId,
  type Exchange,
  type HttpResponse,
  type Key,
  type PostKind,
  type RequestKind,
} from "./history.ts";
import {
  type Content,
  exactNumber,
  flagNames,
  forForm,
  formKeys,
  keyText,
  marker,
  randomLead,
  randomSubmission,
  refusals,
  type RefusedRequest,
  shortLead,
} from "./leads.ts";
import type { TestEnv } from "./test_env.ts";

/** A request to send; the defaults are those of a request that stores nothing. */
interface OutgoingRequest
  extends Partial<Pick<Exchange, "idempotencyKey" | "content" | "expected" | "address">> {
  readonly kind: RequestKind;
  readonly caller: number;
  readonly node: number;
  readonly key: Pick<Key, "id" | "text" | "tenant">;
  readonly body: string;
  readonly transfer?: Request["transfer"];
  readonly path?: string;
  readonly method?: string;
  /** The value of a second `Idempotency-Key` header. */
  readonly secondKey?: string;
}

/** A lead or submission that can be posted again. */
interface Posted {
  readonly kind: PostKind;
  readonly tenant: string;
  readonly idempotencyKey: string | null;
  readonly content: Content;
  readonly body: string;
}

const lastCaller = 200;
/** Bursts that exceed a published limit, each with its size, address and key. */
const bursts = {
  burst_of_key: { size: 220, address: "127.9.0.3", label: "tight", kind: "probe", path: undefined },
  burst_of_address: { size: 90, address: "127.200.0.3", label: "kept", kind: "probe", path: undefined },
  burst_of_forms_address: {
    size: 190,
    address: "127.201.0.3",
    label: "site",
    kind: "unknown_form",
    path: "/v1/forms/north/contacts",
  },
  burst_of_forms: {
    size: 450,
    address: "127.9.0.5",
    label: "tight forms",
    kind: "unknown_form",
    path: "/v1/forms/tight/contacts",
  },
} as const satisfies Record<string, { readonly kind: RequestKind; readonly [name: string]: unknown }>;
const postedMax = 200;
/** How long callers continue to use a revoked key. */
const revokedUseMs = 5_000;
const triesMax = 10;
const refillMs = 6_000;
/** How long a post is repeated after 429 and 503. */
const postMs = 30_000;
/** How long a client continues after a burst, and its pause between requests. */
const insistMs = 3_000;
const insistEveryMs = 20;

const addressOf = (caller: number) => `127.0.${caller >> 7}.${2 + caller % 128}`;

const formKeyIn = ({ expected }: Content): string => JSON.parse(String(expected.extra)).form_key;

/** The callers of a round. */
export class Callers {
  readonly exchanges: Exchange[] = [];
  readonly #testEnv: TestEnv;
  readonly #clients = new Map<string, Client>();
  #running: Promise<unknown> = Promise.resolve();
  /** The email addresses of people who are in more than one post. */
  related: readonly string[] = [];
  /** The documents last served, by process and path. */
  readonly #documents = new Map<string, { readonly etag: string; readonly text: string }>();
  #extraCallers = 0;
  /** Whether all callers must stop. */
  isStopping = false;
  /** How often each operation ran, by name. */
  readonly operations: Record<string, number> = {};

  constructor(testEnv: TestEnv) {
    this.#testEnv = testEnv;
  }

  start(): void {
    const { seed, callers, pauseMs } = this.#testEnv.plan;
    this.#running = Promise.all(Array.from({ length: callers }, async (_, index) => {
      const random = seededRandom(seed * 31 + index);
      const caller = this.#newCaller(index, random);
      // Spreads the callers' first requests.
      await pause(random.below(pauseMs * 2));
      while (!this.isStopping) {
        await caller.runRandom();
        await pause(random.below(pauseMs * 2));
      }
    }));
  }

  /** Stops all callers after their current operation. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.#running;
  }

  /** Exceeds each limit, and runs each operation until it has run `countMin` times. */
  async completeOperations(countMin: number): Promise<void> {
    for (const burstName of Object.keys(bursts) as (keyof typeof bursts)[]) {
      await this.burst(burstName, 0);
      // The tokens earned in this pause let more of the second burst pass, which tests the rate.
      await pause(refillMs);
      await this.burst(burstName, 0);
    }
    const last = this.#newCaller(lastCaller - 1);
    for (const operation of last.operations) {
      while ((this.operations[operation] ?? 0) < countMin) await last.run(operation);
    }
  }

  #newCaller(index: number, random = seededRandom(this.#testEnv.plan.seed)): Caller {
    return new Caller(index, this, this.#testEnv, random);
  }

  /** Posts leads concurrently to a tenant that gets no later lead, without Idempotency-Keys. */
  async postLast(count: number): Promise<void> {
    const last = this.#newCaller(lastCaller);
    await this.repeat(Array.from({ length: count }, () => last.make("lead", "tight")));
  }

  /** Posts `count` leads or submissions to a tenant concurrently, without Idempotency-Keys. */
  async postConcurrently(kind: Posted["kind"], count: number, tenant: string): Promise<readonly Posted[]> {
    const last = this.#newCaller(lastCaller + ++this.#extraCallers);
    const posts = Array.from({ length: count }, () => last.make(kind, tenant));
    await this.repeat(posts);
    return posts;
  }

  /** Posts each of these again, concurrently. */
  async repeat(posts: readonly Posted[]): Promise<void> {
    const again = this.#newCaller(lastCaller);
    await Promise.all(posts.map((post) => again.postUntilAnswered(post)));
  }

  /** Posts leads, held submissions and collisions, and sets {@linkcode related} to the people who are in more than one. */
  async postRelated(count: number): Promise<void> {
    const held = await this.postConcurrently("trapped_form", 3 * count, "north");
    this.related = held.map(({ content }) => String(content.expected.email))
      .filter((email) => email.endsWith("@example.com")).slice(0, count);
    const used = (await this.postConcurrently("lead", 2 * count, "south")).map((lead, index) => ({
      ...lead,
      idempotencyKey: `used-${index}`,
    }));
    await this.repeat(used);
    const others = await this.postConcurrently("lead", 3 * count, "north");
    // Replaces a lead's email address with that of a related person.
    const withRelatedEmail = (content: Content, index: number): Pick<Posted, "content" | "body"> => {
      const email = this.related[index];
      const text = content.spell(seededRandom(index)).trim().replace(/\s*"email":\s*"[^"]*",?/, "");
      const flags = (content.expected.flags as string[]).filter((flag) => flag !== "email_shape_suspect");
      return {
        body: `{"email":"${email}",${text.slice(1)}`.replace(/,\s*}$/, "}"),
        content: { ...content, name: `${content.name}-own`, expected: { ...content.expected, flags, email } },
      };
    };
    // Related people get leads of their own, and collisions under other people's Idempotency-Keys.
    await this.repeat(others.map((one, index) => ({
      ...(used[index % used.length] as Posted),
      ...(index < count
        ? withRelatedEmail(one.content, index)
        : { content: one.content, body: one.content.spell(seededRandom(index)) }),
    })));
    const own = others.slice(0, count).map((one, index) => ({
      ...one,
      ...withRelatedEmail(one.content, index),
      idempotencyKey: `own-${index}`,
    }));
    await this.repeat(own);
    // Under each Idempotency-Key of a related person: a person with the same last name, and one with another.
    for (const other of ["", "else"]) {
      await this.repeat(own.map((one, index) => {
        const lastName = `${one.content.expected.last_name}${other}`;
        const content = shortLead(lastName, { phone: `${2_125_550_100 + index}` }, {});
        return { ...one, content, body: content.spell(seededRandom(0)) };
      }));
    }
    const keyed = (await this.postConcurrently("form", 2 * count, "south")).map((form, index) => ({
      ...form,
      idempotencyKey: `form-${index}`,
    }));
    await this.repeat(keyed);
    const further = await this.postConcurrently("form", 2 * count, "bare");
    await this.repeat(keyed.map((one, index) => {
      const { content, body } = further[index] as Posted;
      return { ...one, content, body };
    }));
  }

  /** Posts leads with these `project_area` terms in another spelling; `isKnown` determines the expected flag. */
  async postAreas(terms: readonly string[], isKnown: boolean): Promise<void> {
    await this.repeat(terms.map((term) => {
      const area = isKnown ? term : term.toUpperCase();
      const content = shortLead(
        `${marker}${this.#testEnv.plan.seed}${term}`,
        { project_area: ` ${term.toUpperCase()}\t` },
        { project_area: area, flags: isKnown ? [] : ["project_area_unknown"] },
      );
      return {
        kind: "lead",
        tenant: "north",
        idempotencyKey: `${term} ${isKnown}`,
        content,
        body: content.spell(seededRandom(0)),
      };
    }));
  }

  /** Posts groups of leads of equal cost, without Idempotency-Keys, that differ only beyond the precision of a double or in a sign. */
  async postLongNumbers(groups: number): Promise<void> {
    const numbers = ["12345678901234567890", "12345678901234567891", "-12345678901234567890"];
    await this.repeat(
      Array.from({ length: groups }, (_, index) => index).flatMap((index) =>
        numbers.map((number) => {
          const content = shortLead(
            `${marker}${this.#testEnv.plan.seed}number${index}`,
            { crm_id: exactNumber(number), cost: 12.5 },
            {
              cost: undefined,
              cost_cents: 1_250,
              crm_id: undefined,
              extra: `{"crm_id":${number}}`,
              flags: ["extra_fields_preserved"],
            },
          );
          const body = content.spell(seededRandom(0));
          return { kind: "lead", tenant: "north", idempotencyKey: null, content, body };
        })
      ),
    );
  }

  /** Returns a public document of a process, which is the last one if the process says that it has not changed. */
  async get(index: number, path: "/v1/vocabulary" | "/api/plans"): Promise<string> {
    const node = this.#testEnv.nodes[index];
    const port = (path === "/api/plans" ? node?.plansPort : node?.intakePort) ?? 0;
    const last = this.#documents.get(`${index} ${path}`);
    const headers: Record<string, string> = last === undefined ? {} : { "If-None-Match": last.etag };
    const request = { port, path, method: "GET", headers, body: "" };
    const response = await this.#client("127.0.1.4").send(request);
    if (last !== undefined && response.status === 304) return last.text;
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    const { text, headers: { etag } } = response;
    this.#documents.set(`${index} ${path}`, { etag: String(etag), text });
    return text;
  }

  /**
   * Posts a lead without recording it, again after 429, 503 and no response, and returns the event's id, or `""` if the lead is
   * not accepted.
   */
  async postUnrecorded(lead: object, key: string, idempotencyKey = ""): Promise<string> {
    let tries = 0;
    const response = await waitFor(async () => {
      tries += 1;
      const answer = await this.#sendUnrecorded(lead, key, idempotencyKey);
      return answer.status !== 429 && answer.status !== 503 && answer;
    }, { deadlineMs: postMs });
    const isAccepted = response && (response.status === 202 || response.status === 200 && tries > 1);
    return isAccepted ? acknowledgedId({ response }) : "";
  }

  /** Returns how many more requests a key's limit allows after one that it has allowed, or `null` if it allows none. */
  async remaining(key: string): Promise<number | null> {
    const { status, headers } = await this.#sendUnrecorded({}, key, "");
    return status === 422 ? Number(/"key";r=(\d+)/.exec(String(headers.ratelimit))?.[1]) : null;
  }

  #sendUnrecorded(lead: object, key: string, idempotencyKey: string): Promise<HttpResponse> {
    return this.#client("127.0.1.4").send({
      port: this.#testEnv.nodes[0]?.intakePort ?? 0,
      path: "/v1/intake",
      method: "POST",
      headers: { "X-API-Key": key, "Idempotency-Key": idempotencyKey },
      body: JSON.stringify(lead),
    });
  }

  /** Opens a link from a digest. */
  async openHeldLink(method: string, token: string): Promise<void> {
    const port = this.#testEnv.nodes[0]?.formsPort ?? 0;
    await this.#client("127.0.1.4").send({ port, path: `/held/${token}`, method, headers: {}, body: "" });
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  #client(address: string): Client {
    // The protocol depends only on the address, so that a seed reproduces it.
    const isHttp2 = Number(address.split(".").at(-1)) % 2 === 1;
    const client = this.#clients.get(address) ??
      new Client({ address, ca: this.#testEnv.authority.pem, isHttp2 });
    this.#clients.set(address, client);
    return client;
  }

  /** Sends a request and records it. */
  async send(request: OutgoingRequest): Promise<Exchange> {
    const { key, transfer, path = "/v1/intake", address = addressOf(request.caller), secondKey } = request;
    const { kind, caller, body, idempotencyKey = null, content = "", expected = {}, method = "POST" } =
      request;
    const node = this.#testEnv.nodes[request.node];
    // The service must replace a request id that contains a key.
    const hasKeyAsId = this.exchanges.length % 16 === 3;
    const requestId = hasKeyAsId
      ? `${this.exchanges.length % 32 === 3 ? "é" : ""}${key.text}`
      : `${this.exchanges.length} of the proof`;
    const exchange: Exchange = {
      kind,
      caller,
      node: request.node,
      body,
      idempotencyKey,
      content,
      expected,
      address,
      requestId: hasKeyAsId ? null : requestId,
      keyId: key.id,
      tenant: key.tenant,
      sentAtMs: nowMs(),
      doneAtMs: 0,
      response: null,
      failure: null,
    };
    this.exchanges.push(exchange);
    // Node sends headers as Latin-1, so the bytes of a key in UTF-8 become characters. An empty header counts as no header.
    const isLatin1 = /^[\x20-\x7e\xa0-\xff]*$/.test(idempotencyKey ?? "");
    const sentKey = isLatin1 ? idempotencyKey ?? "" : Buffer.from(idempotencyKey ?? "").toString("latin1");
    const hasKey = idempotencyKey !== null || this.exchanges.length % 8 === 0;
    try {
      exchange.response = await this.#client(address).send({
        port: (path === "/v1/intake" ? node?.intakePort : node?.formsPort) ?? 0,
        method,
        path,
        body,
        headers: {
          "Content-Type": "application/json",
          "X-API-Key": key.text,
          "X-Request-Id": requestId,
          ...(hasKey ? { "Idempotency-Key": secondKey === undefined ? sentKey : [sentKey, secondKey] } : {}),
        },
        ...(transfer === undefined ? {} : { transfer }),
      });
    } catch (error) {
      exchange.failure = String((error as { code?: unknown }).code ?? error);
    }
    exchange.doneAtMs = nowMs();
    return exchange;
  }

  /** Sends concurrent requests whose keys or address have the published limit, and then more, one after the other. */
  async burst(burstName: keyof typeof bursts, node: number): Promise<void> {
    const { size, label, path, ...rest } = bursts[burstName];
    const tenant = path?.split("/")[3];
    const keys = this.#testEnv.notes.keys.filter((one) =>
      one.label === label && one.tenant === (tenant ?? one.tenant)
    );
    const makeRefused: (random: Random, name: string, tenant: string) => RefusedRequest = refusals[rest.kind];
    const { expected } = makeRefused(seededRandom(0), "", "tight");
    const request = { caller: -1, node, body: "{}", ...rest, path: path ?? "/v1/intake", expected };
    const keyAt = (index: number) => keys[index % keys.length] as Key;
    await Promise.all(Array.from({ length: size }, (_, at) => this.send({ ...request, key: keyAt(at) })));
    // Refused requests must not earn tokens.
    for (const endsAtMs = nowMs() + insistMs; nowMs() < endsAtMs;) {
      await this.send({ ...request, key: keyAt(0) });
      await pause(insistEveryMs);
    }
  }

  /** Posts with each of these keys concurrently. */
  async postWith(keys: readonly Key[]): Promise<void> {
    const last = this.#newCaller(lastCaller + ++this.#extraCallers);
    await Promise.all(keys.map((key) => last.postWith(key)));
  }

  /** Probes every process with a key that does not exist. */
  async probeUnknown(key: Pick<Key, "text" | "tenant">): Promise<void> {
    const probe = refusals.unknown_key(seededRandom(0), "");
    for (const { index } of this.#testEnv.nodes) {
      await this.send({
        kind: "unknown_key",
        caller: lastCaller,
        node: index,
        key: { ...key, id: 0 },
        ...probe,
      });
    }
  }

  /** Posts with these keys while `act` runs, and again afterwards. */
  async postMeanwhile(keys: readonly Key[], act: () => Promise<unknown>): Promise<void> {
    this.#extraCallers += 1;
    const random = seededRandom(this.#testEnv.plan.seed + this.#extraCallers);
    const last = this.#newCaller(lastCaller + this.#extraCallers, random);
    let isOver = false;
    // In every second call, a single client posts, so that no post waits for the commit of another.
    const posting = Array.from({ length: 1 + this.#extraCallers % 2 }, async () => {
      while (!isOver) await last.postWith(random.pick(keys));
    });
    await act();
    isOver = true;
    await Promise.all(posting);
    await this.postWith(keys);
  }
}

/** A client that runs random operations: new leads and submissions, repeats of all kinds, and refused requests. */
class Caller {
  readonly #index: number;
  readonly #callers: Callers;
  readonly #testEnv: TestEnv;
  readonly #random: Random;
  readonly #posted: Posted[] = [];
  #names = 0;

  constructor(index: number, callers: Callers, testEnv: TestEnv, random: Random) {
    this.#index = index;
    this.#callers = callers;
    this.#testEnv = testEnv;
    this.#random = random;
  }

  /** The operations by name, with their shares in percent. */
  readonly #operations: Readonly<Record<string, readonly [share: number, act: () => Promise<unknown>]>> = {
    "new lead": [36, () => this.postUntilAnswered(this.#newLead(this.#keyOrNone()))],
    "form": [5, () => this.postUntilAnswered(this.#newForm("form"))],
    "trapped form": [3, () => this.postUntilAnswered(this.#newForm("trapped_form"))],
    "spam form": [3, () => this.postUntilAnswered(this.#newForm("spam_form"))],
    "repeat": [8, () => this.#repeat()],
    "other content under a used Idempotency-Key": [6, () => this.#otherContent()],
    "same to another tenant": [5, () => this.#sameForOtherTenant()],
    "same post concurrently": [6, () => this.#concurrently()],
    "Idempotency-Keys that differ in one character": [1, () => this.#similarKeys()],
    "leads that differ in one member": [1, () => this.#differentMember()],
    "same to another form": [1, () => this.#sameForEachForm()],
    "same with and without the honeypot": [1, () => this.#withAndWithoutHoneypot()],
    "same under another Idempotency-Key": [2, () => this.#sameUnderOtherKeys()],
    "dripping lead": [3, () => this.#inPieces("drip")],
    "lead cut short": [4, () => this.#inPieces("cut")],
    ...Object.fromEntries(
      (Object.keys(refusals) as (keyof typeof refusals)[]).map((kind) =>
        [`refused: ${kind}`, [kind === "invalid" ? 4 : 1.5, () => this.#refused(kind)]] as const
      ),
    ),
  };

  get operations(): string[] {
    return Object.keys(this.#operations);
  }

  /** Runs a random operation. */
  async runRandom(): Promise<void> {
    let dice = this.#random.below(100);
    for (const [operation, [share]] of Object.entries(this.#operations)) {
      dice -= share;
      if (dice < 0) return await this.run(operation);
    }
  }

  /** Runs an operation and counts it. */
  async run(operation: string): Promise<void> {
    const { operations } = this.#callers;
    await this.#operations[operation]?.[1]();
    operations[operation] = (operations[operation] ?? 0) + 1;
  }

  /** Posts once and probes once with this key, without retries. */
  async postWith(key: Key): Promise<void> {
    const [post, probe] = key.surface === "intake"
      ? ["lead", "probe"] as const
      : ["form", "form_probe"] as const;
    await this.#post(this.make(post, key.tenant), { key });
    await this.#send(probe, "", { ...refusals[probe](this.#random, this.#name, key.tenant), key });
  }

  async #inPieces(transfer: "drip" | "cut"): Promise<void> {
    const post = this.#newLead(this.#keyOrNone());
    await this.#post(post, { transfer });
    this.#remember(post);
  }

  async #refused(kind: keyof typeof refusals): Promise<void> {
    this.#names += 1;
    const random = this.#random;
    const isForm = kind.includes("form") && kind !== "forms_key" || kind === "wrong_tenant";
    const isOtherSurface = kind === "forms_key" || kind === "lead_key_for_form";
    const tenant = isForm || isOtherSurface ? random.pick(["north", "south", "bare"]) : this.#tenant();
    const make: (random: Random, name: string, tenant: string) => RefusedRequest = refusals[kind];
    const known = this.#key(tenant, isForm !== isOtherSurface ? "forms" : "intake");
    const unknown = { id: 0, text: keyText(random, "lead_live_"), tenant };
    // These checks precede authentication, so they also apply to unknown keys.
    const isUnknown = kind === "unknown_key" ||
      (kind === "too_large" || kind === "wrong_method") && random.oneIn(2);
    await this.#send(kind, "", { ...make(random, this.#name, tenant), key: isUnknown ? unknown : known });
  }

  /** Creates a post to a tenant, without an Idempotency-Key. */
  make(kind: Posted["kind"], tenant: string): Posted {
    const one = kind === "lead" ? this.#newLead(null) : this.#newForm(kind);
    return { ...one, tenant, idempotencyKey: null };
  }

  get #name(): string {
    return `${this.#testEnv.plan.seed.toString(36)}c${this.#index}n${this.#names}`;
  }

  #freshKey(): string {
    const name = `lot-${this.#name}`;
    // Includes keys that differ only in case, keys of the maximum length, and characters outside ASCII.
    return this.#random.pick([
      name,
      name,
      name,
      name.toUpperCase(),
      `'";,\\ ${name}`,
      name.padStart(200, "~"),
      `ключ-🦄-${name}`,
    ]);
  }

  #keyOrNone(): string | null {
    return this.#random.oneIn(3) ? null : this.#freshKey();
  }

  #key(tenant: string, surface: "intake" | "forms"): Key {
    const { keys, revocations } = this.#testEnv.notes;
    const isRevoked = ({ id }: Key) =>
      revocations.some(({ keyId, returnedAtMs, reactivated }) =>
        keyId === id && reactivated === undefined && nowMs() - returnedAtMs > revokedUseMs
      );
    const all = keys.filter((key) =>
      key.tenant === tenant && key.surface === surface && (key.limit === null || tenant === "tight")
    );
    // Revoked keys are still used occasionally.
    return this.#random.pick(this.#random.oneIn(8) ? all : all.filter((key) => !isRevoked(key)));
  }

  #tenant(): string {
    return this.#random.pick(["north", "north", "south", "south", "sandbox", "bare"]);
  }

  #newLead(idempotencyKey: string | null): Posted {
    this.#names += 1;
    const content = randomLead(this.#random, this.#name);
    const body = content.spell(this.#random);
    return { kind: "lead", tenant: this.#tenant(), idempotencyKey, content, body };
  }

  #newForm(kind: Exclude<PostKind, "lead">): Posted {
    this.#names += 1;
    const content = randomSubmission(this.#random, this.#name, kind);
    return {
      kind,
      content,
      body: content.spell(this.#random),
      tenant: this.#random.pick(["north", "south", "bare"]),
      idempotencyKey: this.#random.oneIn(2) ? null : this.#freshKey(),
    };
  }

  #remember(post: Posted): void {
    this.#posted.push(post);
    if (this.#posted.length > postedMax) this.#posted.shift();
  }

  async #send(kind: RequestKind, body: string, more: Partial<OutgoingRequest> = {}): Promise<Exchange> {
    return await this.#callers.send({
      kind,
      body,
      caller: this.#index,
      node: this.#random.below(this.#testEnv.nodes.length),
      key: more.key ?? this.#key(this.#tenant(), "intake"),
      ...more,
    });
  }

  /** Posts once, with this key or with a random key of the tenant. */
  async #post(post: Posted, { transfer, key }: { transfer?: "drip" | "cut"; key?: Key } = {}) {
    const isLead = post.kind === "lead";
    return await this.#send(transfer === "cut" ? "cut_short" : post.kind, post.body, {
      idempotencyKey: post.idempotencyKey,
      content: post.content.name,
      expected: post.content.expected,
      key: key ?? this.#key(post.tenant, isLead ? "intake" : "forms"),
      ...(isLead ? {} : { path: `/v1/forms/${post.tenant}/${formKeyIn(post.content)}` }),
      ...(transfer === undefined ? {} : { transfer }),
    });
  }

  /** Posts with retries after 503, 429 or no response, as the specification requires; gives up at random. */
  async postUntilAnswered(post: Posted): Promise<void> {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const status = (await this.#post(post)).response?.status ?? 503;
      if (status === 200 || status === 202) return this.#remember(post);
      if (status !== 503 && status !== 429) return;
      if (this.#random.oneIn(10) || this.#callers.isStopping && tries > 3) return this.#remember(post);
      await pause(50 + this.#random.below(100) * Math.min(4, tries + 1));
    }
  }

  /** Returns one of the last posts for which `isSuitable` holds, or else posts a new lead and returns it. */
  async #earlier(isSuitable: (post: Posted) => boolean): Promise<Posted> {
    const suitable = this.#posted.filter(isSuitable);
    if (suitable.length > 0) return this.#random.pick(suitable);
    const post = this.#newLead(this.#freshKey());
    await this.postUntilAnswered(post);
    return post;
  }

  /** Repeats an earlier post, possibly in another spelling. */
  async #repeat(): Promise<void> {
    const earlier = await this.#earlier(() => true);
    const body = this.#random.oneIn(2) ? earlier.body : earlier.content.spell(this.#random);
    await this.#post({ ...earlier, body });
  }

  /** Posts another lead or form under a used Idempotency-Key. */
  async #otherContent(): Promise<void> {
    const earlier = await this.#earlier(({ idempotencyKey }) => idempotencyKey !== null);
    const { content, body } = this.make(earlier.kind, earlier.tenant);
    for (const tries of [1, 2]) {
      await this.#post({ ...earlier, content, body: tries === 1 ? body : content.spell(this.#random) });
    }
  }

  /** Posts the same Idempotency-Key and content to another tenant, which makes a separate lead. */
  async #sameForOtherTenant(): Promise<void> {
    const earlier = await this.#earlier(() => true);
    const all = earlier.kind === "lead" ? ["north", "south", "sandbox"] : ["north", "south", "bare"];
    const tenant = this.#random.pick(all.filter((slug) => slug !== earlier.tenant));
    await this.postUntilAnswered({ ...earlier, tenant });
  }

  /** Posts the same submission to each form, which makes separate events. */
  async #sameForEachForm(): Promise<void> {
    const post = { ...this.#newForm("form"), idempotencyKey: null };
    const body = post.content.spell(this.#random);
    for (const form of [...formKeys, ...formKeys]) {
      const content = forForm({ ...post.content, name: this.#name }, form);
      await this.postUntilAnswered({ ...post, content, body });
    }
  }

  /** Posts a submission with and without the honeypot filled in, which makes separate events. */
  async #withAndWithoutHoneypot(): Promise<void> {
    this.#names += 1;
    const seed = this.#random.below(10_000);
    for (const kind of ["trapped_form", "form"] as const) {
      const made = randomSubmission(seededRandom(seed), this.#name, kind);
      const content = { ...made, name: `${made.name} ${kind}` };
      const body = content.spell(this.#random);
      await this.postUntilAnswered({ kind, tenant: "south", idempotencyKey: null, content, body });
    }
  }

  /** Posts leads that differ only in one member, which makes separate events. */
  async #differentMember(): Promise<void> {
    const post = this.#newLead(null);
    await this.postUntilAnswered(post);
    const { content } = post;
    if (content.expected.extra !== "{}") return;
    const flags = flagNames.filter((flag) =>
      flag === "extra_fields_preserved" || (content.expected.flags as string[]).includes(flag)
    );
    const long = "x".repeat(20_000);
    const extras = ["1", '"1"', "2", `"${long}1"`, `"${long}2"`].map((value) => `{"crm_twin":${value}}`);
    for (const [index, extra] of extras.entries()) {
      const spell = (random: Random) => content.spell(random).trim().replace(/\s*}$/, `,${extra.slice(1)}`);
      const expected = { ...content.expected, flags, extra };
      const variant = { name: `${content.name} ${index}`, expected, spell };
      await this.postUntilAnswered({ ...post, content: variant, body: spell(this.#random) });
    }
  }

  /** Posts under two Idempotency-Keys, as a submission under the first one, and without any, which makes separate events. */
  async #sameUnderOtherKeys(): Promise<void> {
    const post = this.#newLead(this.#freshKey());
    const tenant = this.#random.pick(["north", "south", "bare"]);
    const form = { ...this.make("form", tenant), idempotencyKey: post.idempotencyKey };
    const own = { ...post, tenant };
    for (const one of [own, { ...own, idempotencyKey: `${post.idempotencyKey?.slice(0, 198)}-2` }, form]) {
      await this.postUntilAnswered(one);
    }
    for (const one of [own, form]) await this.postUntilAnswered({ ...one, idempotencyKey: null });
  }

  async #similarKeys(): Promise<void> {
    const key = this.#random.pick([this.#freshKey().slice(0, 199), `${this.#name} `.padEnd(199, "~")]);
    for (const end of "aAbéè") await this.postUntilAnswered(this.#newLead(`${key}${end}`));
  }

  async #concurrently(): Promise<void> {
    const post = this.#newLead(this.#keyOrNone());
    await Promise.all(Array.from({ length: 2 + this.#random.below(3) }, () => this.#post(post)));
    this.#remember(post);
  }
}
