/**
 * Plays one case with a driver, and tells what differs.
 *
 * @module
 */

import { type Call, type Case, fill, fillAll, type Place, type Values } from "./case.ts";
import type { Certificates, Pair } from "./certificates.ts";
import { Driver, type Environment, type Line, type Reply } from "./drivers.ts";
import { differences, fulfils, waitDifferences } from "./expect.ts";
import { resolved } from "./named_answers.ts";
import { header, type Seen } from "./request_text.ts";
import { keys, lead, secretsIn } from "./secrets.ts";
import { ScriptedServer } from "./server.ts";
import { type Kit, wireFaults } from "./wire.ts";

/** A driver that has not answered by then never will, on a machine ten times slower than ours too. */
const answerWithinS = 90;

/** What all cases share. */
export interface TestEnv {
  readonly kit: Kit;
  /** The driver of all cases that have no environment of their own. */
  readonly driver: Driver;
  readonly startDriver: (environment: Environment) => Driver;
  readonly certificates: Certificates;
  readonly blackHolePort: number;
  readonly refusingPort: number;
}

/** A call as it was made. */
interface Played {
  readonly call: Call;
  readonly line: Line;
  readonly reply: Reply;
  readonly requests: readonly Seen[];
}

/** Plays a case. Returns what differs, a sentence each. */
export async function play(played: Case, testEnv: TestEnv): Promise<string[]> {
  const elsewhere = await openServer({ place: "http", answers: ["accepted"], and_so_on: true }, {}, testEnv);
  const server = await openServer(played, { other_url: urlOf(elsewhere) }, testEnv);
  const port = played.place === "black hole" ? testEnv.blackHolePort : server?.port ?? testEnv.refusingPort;
  const scheme = played.place.startsWith("https") ? "https" : "http";
  const base = `${scheme}://${played.host ?? "127.0.0.1"}:${port}${played.behind ?? ""}`;
  const values: Values = { ...keys, base, port: String(port), other_url: urlOf(elsewhere) };
  const own = played.environment === undefined
    ? null
    : testEnv.startDriver(fillAll(played.environment, values));
  try {
    const faults = await calls(played, { values, testEnv, driver: own ?? testEnv.driver, server });
    return [
      ...faults,
      ...(server === null ? [] : serverFaults(played, server)),
      ...(elsewhere !== null && elsewhere.connections > 0
        ? ["somebody connected to where nothing was to go"]
        : []),
    ];
  } catch (error) {
    return [(error as Error).message];
  } finally {
    if (own !== null) {
      await own.close();
    }
    await server?.close();
    await elsewhere?.close();
  }
}

/** Where a case is played. */
interface Stage {
  readonly values: Values;
  readonly testEnv: TestEnv;
  readonly driver: Driver;
  readonly server: ScriptedServer | null;
}

async function calls(played: Case, stage: Stage): Promise<string[]> {
  const results = played.together === true ? await together(played, stage) : await oneByOne(played, stage);
  return results.flatMap((result, n) =>
    callFaults(result, played, stage).map((fault) => results.length === 1 ? fault : `call ${n + 1}: ${fault}`)
  );
}

const withinMs = ({ within_s = answerWithinS }: Case) => within_s * 1000;

async function oneByOne(played: Case, stage: Stage): Promise<Played[]> {
  const results: Played[] = [];
  for (const call of played.calls) {
    const before = stage.server?.seen.length ?? 0;
    const line = lineOf(call, played, stage);
    const reply = await stage.driver.ask(line, withinMs(played));
    await stage.server?.ended();
    results.push({ call, line, reply, requests: stage.server?.seen.slice(before) ?? [] });
  }
  return results;
}

function together(played: Case, stage: Stage): Promise<Played[]> {
  return Promise.all(played.calls.map(async (call) => {
    const line = lineOf(call, played, stage);
    const reply = await stage.driver.ask(line, withinMs(played));
    const requests = stage.server?.seen.filter((request) =>
      header(request, "idempotency-key") === line.idempotency_key
    );
    return { call, line, reply, requests: requests ?? [] };
  }));
}

function lineOf(call: Call, played: Case, { values, testEnv }: Stage): Line {
  const { client = "a", options, ...own } = call.line as Record<string, unknown>;
  return fillAll({
    // A client is a case's own, and of one set of options.
    client: `${played.name} ${client}`,
    call: "post_lead",
    base_url: values.base,
    key: keys.key,
    ca_file: played.place.startsWith("https") ? testEnv.certificates.caFile : null,
    lead_json: lead,
    idempotency_key: "acme:1",
    request_id: null,
    options: { deadline_ms: 120_000, try_timeout_ms: 20_000, tries: 5, ...options as object },
    random: 0.5,
    real_time: false,
    cancel_after_waits: null,
    ...own,
  }, values);
}

function callFaults(result: Played, played: Case, { values, testEnv }: Stage): string[] {
  const { call, line, reply, requests } = result;
  const sentId = requests[0] === undefined ? null : header(requests[0], "x-request-id");
  const environmentKey = fill(played.environment?.LEADS_API_KEY ?? "", values);
  return [
    ...shapeFaults(reply, line),
    ...(call.result === undefined ? [] : differences("result", reply.result, call.result)),
    ...(call.error === undefined ? [] : differences("error", reply.error, call.error)),
    ...(call.result !== undefined && reply.error !== undefined
      ? [`there is an error: ${reply.line.slice(0, 400)}`]
      : []),
    ...(call.waits_ms === undefined ? [] : waitDifferences(reply.waits_ms, call.waits_ms)),
    ...(played.drawn === true && reply.waits_ms?.[1] === Number(reply.waits_ms?.[0]) * 2
      ? ["the waits are of one draw"]
      : []),
    ...(call.says === undefined || reply.text?.toLowerCase().includes(call.says)
      ? []
      : [`the text does not say "${call.says}"`]),
    ...secretsIn(shown(reply)).map((secret) => `${secret} stands in what the driver answered`),
    ...wireFaults(requests, {
      call: String(line.call),
      key: String(line.key ?? environmentKey),
      lead: String(line.lead_json),
      idempotencyKey: String(line.idempotency_key),
      requestId: line.request_id as string | null,
      path: (played.behind ?? "").replace(/\/$/, ""),
    }, testEnv.kit),
    ...(sentId === null || line.call === "vocabulary" && reply.result !== undefined
      ? []
      : differences("result or error", reply.result ?? reply.error, { request_id: sentId })),
  ];
}

/** All of an answer but the detail, which is told as the service said it, and belongs nowhere else. */
function shown(reply: Reply): string {
  if (reply.error === undefined) return reply.line;
  return JSON.stringify({ ...reply, line: "", error: { ...reply.error, detail: null } });
}

/** What every answer of a driver has. */
function shapeFaults({ result, error, waits_ms, text }: Reply, line: Line): string[] {
  const kinds = ["unauthorized", "invalid_lead", "refused", "unavailable", "cancelled", "misconfigured"];
  return [
    ...((result === undefined) === (error === undefined) ? ["there is not one of result and error"] : []),
    ...(Array.isArray(waits_ms) && waits_ms.every((wait) => typeof wait === "number" && wait >= 0)
      ? []
      : ["waits_ms is no list of numbers"]),
    ...(typeof text === "string" && text !== "" ? [] : ["there is no text"]),
    ...(error === undefined ? [] : differences("error", error, {
      kind: { one_of: kinds },
      ...(error.kind === "misconfigured" ? { request_id: { one_of: [null, undefined] } } : {}),
      unknown_outcome: line.call === "post_lead" ? { one_of: [true, false] } : false,
      ...(error.kind === "misconfigured"
        ? { status: null, code: null, detail: null, tries: 0, unknown_outcome: false }
        : {}),
      ...(error.kind === "invalid_lead" ? {} : { fields: { one_of: [undefined, null] } }),
    })),
  ];
}

function serverFaults(played: Case, server: ScriptedServer): string[] {
  const {
    requests = played.and_so_on ? undefined : played.answers.length,
    connections,
    distinct,
    seen = [],
  } = played;
  const values = distinct === undefined ? [] : server.seen.map((request) => header(request, distinct));
  return [
    ...server.faults,
    ...(new Set(values).size === values.length ? [] : [`${distinct} is not another one on each request`]),
    ...(requests === undefined || fulfils(server.seen.length, requests)
      ? []
      : [`${server.seen.length} requests came and not ${JSON.stringify(requests)}`]),
    ...(connections === undefined || fulfils(server.connections, connections)
      ? []
      : [`${server.connections} connections were opened and not ${JSON.stringify(connections)}`]),
    ...seen.flatMap((conditions, n) => {
      const request = server.seen[n];
      const before = server.seen[n - 1];
      if (request === undefined) return [`there is no request ${n + 1}`];
      const names = Object.keys(conditions).filter((name) => name.startsWith("header "));
      return differences(`request ${n + 1}`, {
        method: request.method,
        target: request.target,
        body: request.body.toString(),
        after_ms: request.atMs - (before?.atMs ?? request.atMs),
        ...Object.fromEntries(names.map((name) => [name, header(request, name.slice("header ".length))])),
      }, conditions);
    }),
  ];
}

const urlOf = (server: ScriptedServer | null) => server === null ? "" : `http://127.0.0.1:${server.port}`;

async function openServer(
  played: Pick<Case, "place" | "answers" | "and_so_on" | "host">,
  values: Values,
  { certificates }: TestEnv,
): Promise<ScriptedServer | null> {
  if (played.place === "nobody" || played.place === "black hole") return null;
  const host = played.host === "[::1]" ? "::1" : /^127\./.test(played.host ?? "") ? played.host : "127.0.0.1";
  const pair = pairOf(played.place, certificates);
  return await ScriptedServer.open({
    host: host as string,
    ...(pair === null ? {} : {
      tls: played.place === "https by TLS 1.1"
        ? { ...pair, minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }
        : pair,
    }),
    answers: played.answers.map(resolved),
    andSoOn: played.and_so_on === true,
    values: { ...keys, ...values },
  });
}

function pairOf(place: Place, certificates: Certificates): Pair | null {
  if (place === "https" || place === "https by TLS 1.1") return certificates.trusted;
  if (place === "https of another name") return certificates.ofAnotherName;
  if (place === "https of another authority") return certificates.ofAnotherAuthority;
  return null;
}
