import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clients } from "../../src/documents/clients.ts";
import { World } from "../support/world.ts";
import { temporaryFolder } from "../support/folder.ts";

// A caller's project in which openapi-typescript is installed, so that npx fetches nothing.
const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
const bin = join(packages, ".bin");
const folder = temporaryFolder("brief");
symlinkSync(packages, join(folder, "node_modules"));
const world = await World.open();
await world.start();
const key = await world.issue();

const text = (await world.send("/api/INTEGRATION.md")).text;
// The kits' examples are files of the kits, whose tests run them: test/kits/checks.test.ts.
const ownText = text.replace(/^<details name="kit">.*?^<\/details>$/gms, "");
const snippets = [...ownText.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({
  language: language as string,
  code: code as string,
}));
const inShell = snippets.filter(({ language }) => language === "sh").map(({ code }) => code);

/** Runs a program in the folder of the snippets, as a caller has it there. */
function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((settle) => {
    execFile(command, args, {
      cwd: folder,
      timeout: 60_000,
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: folder,
        LEADS_API_KEY: key.text,
        NO_COLOR: "1",
        ...env,
      },
    }, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

/** Runs a snippet of the brief and returns what it printed; it must end well and without a complaint. */
async function shell(code: string): Promise<string> {
  const { code: exit, stdout, stderr } = await run("sh", ["-e", "-c", code]);
  assert.equal(exit, 0, stderr);
  return stdout;
}

const parsed = (answer: string) => ({
  status: Number(/^HTTP\/\S+ (\d+)/.exec(answer)?.[1]),
  json: JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)),
});

test("the brief has snippets in the languages that are tested here, and no others", () => {
  // The clients in other languages are run by test/docs/clients.test.ts.
  const others = Object.values(clients).map(({ fence }) => fence);
  assert.deepEqual(
    [...new Set(snippets.map(({ language }) => language))].sort(),
    [...others, "json", "sh"].sort(),
  );
  assert.equal(inShell.length, 4);
});

test("curl: the key check answers 422 with the three required fields, and stores nothing", async () => {
  const answer = parsed(await world.leavesNothing(() => shell(inShell[0] as string)));
  assert.equal(answer.status, 422);
  assert.deepEqual(answer.json.fields, { first_name: "required", last_name: "required", phone: "required" });
});

test("curl: the lead is accepted, and its repeat is a duplicate", async () => {
  const first = parsed(await shell(inShell[1] as string));
  assert.deepEqual([first.status, first.json.status, first.json.flags], [202, "accepted", []]);
  const again = parsed(await shell(inShell[1] as string));
  assert.deepEqual([again.status, again.json.event_id], [200, first.json.event_id]);
  const sample = JSON.parse(snippets.find(({ language }) => language === "json")?.code ?? "");
  assert.deepEqual(Object.keys(first.json), Object.keys(sample));
});

test("curl: the vocabulary comes as JSON", async () => {
  const { project_area } = JSON.parse(await shell(inShell[3] as string));
  assert.equal(project_area.length, 37);
});

test("openapi-typescript makes types from the live document, and a client on them compiles strictly", async () => {
  await shell(inShell[2] as string);
  assert.match(readFileSync(join(folder, "lead-intake.d.ts"), "utf8"), /export interface paths/);
  writeFileSync(join(folder, "typed.ts"), typedClient);
  const { code, stderr } = await run("deno", ["check", "--no-config", "typed.ts"]);
  assert.equal(code, 0, stderr);
  const accepted = await run("node", ["typed.ts"], {
    BASE_URL: text.match(/POST (\S+)\/v1\/intake`/)?.[1] ?? "",
  });
  assert.equal(accepted.stdout, "accepted\n", accepted.stderr);
});

/** Each expected error would be reported as unused, if the types let it through. */
const typedClient = `\
  import type { components, paths } from "./lead-intake.d.ts";

  type Post = paths["/v1/intake"]["post"];
  type Lead = components["schemas"]["Lead"];
  type Body<S extends keyof Post["responses"]> = Post["responses"][S] extends
    { content: { "application/json": infer B } } ? B : never;
  type Headers = NonNullable<Post["parameters"]["header"]>;

  const smallest: Lead = { first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567" };
  const whole: Lead = { ...smallest, email: null, project_service: "Remodel", cost: 12.5 };
  const further = { ...smallest, campaign: "spring" };
  const extended: Lead = further;
  // @ts-expect-error phone is required
  const partial: Lead = { first_name: "Ada", last_name: "Lovelace" };
  // @ts-expect-error cost is a number
  const priced: Lead = { ...smallest, cost: "12.50" };
  // @ts-expect-error first_name cannot be null
  const nameless: Lead = { ...smallest, first_name: null };
  void [whole, extended, partial, priced, nameless];

  async function send(lead: Lead, headers: Headers): Promise<Body<202> | Body<200>> {
    const answer = await fetch(process.env.BASE_URL + "/v1/intake", {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json", "X-API-Key": process.env.LEADS_API_KEY ?? "" },
      body: JSON.stringify(lead),
    });
    if (answer.status === 202) return await answer.json() as Body<202>;
    if (answer.status === 200) return await answer.json() as Body<200>;
    if (answer.status === 422) {
      const refused = await answer.json() as Body<422>;
      const reasons: string[] = Object.entries(refused.fields ?? {}).map(([name, reason]) => name + " is " + reason);
      throw new Error([refused.request_id, ...reasons].join());
    }
    const limited = await answer.json() as Body<429>;
    const id: string | undefined = limited.request_id;
    throw new Error([limited.error, id].join());
  }

  const acknowledged = await send(smallest, { "Idempotency-Key": "acme:typed:1", "X-Request-Id": "typed" });
  const flag: string | undefined = acknowledged.flags[0];
  // @ts-expect-error there are two statuses, and this is neither
  const isRefused = acknowledged.status === "refused";
  void [flag, isRefused];
  console.log(acknowledged.status);
`;

/** The snippets in TypeScript, each under the name that its first line gives. */
const programs = snippets.filter(({ language }) => language === "ts").map(({ code }) => ({
  name: /^\/\/ (\w+\.ts):/.exec(code)?.[1] ?? "",
  code,
}));

test("TypeScript: the client compiles strictly, checks its key, and sends a lead", async () => {
  assert.deepEqual(programs.map(({ name }) => name), ["lead_intake.ts", "send.ts"]);
  for (const { name, code } of programs) writeFileSync(join(folder, name), code);
  const { code, stderr } = await run("deno", ["check", "--no-config", "send.ts"]);
  assert.equal(code, 0, stderr);
  const sent = await run("node", ["send.ts"]);
  assert.match(sent.stdout, /^accepted [0-9a-z]+ \[\]\n$/, sent.stderr);
  const repeated = await run("node", ["send.ts"]);
  assert.equal(repeated.stdout, sent.stdout.replace("accepted", "duplicate"));
});
