import assert from "node:assert/strict";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clients } from "../../src/documents/clients.ts";
import { TestEnv } from "../support/test_env.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type Command, mustRun } from "../support/tool.ts";

// A caller's project with openapi-typescript installed, so that npx fetches nothing.
const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
const bin = join(packages, ".bin");
const folder = temporaryFolder("brief");
symlinkSync(packages, join(folder, "node_modules"));
const testEnv = await TestEnv.open();
await testEnv.start();
const key = await testEnv.issue();

const text = (await testEnv.send("/api/INTEGRATION.md")).text;
// The kits' examples are run by test/kits/checks.test.ts.
const ownText = text.replace(/^<details name="kit">.*?^<\/details>$/gms, "");
const snippets = [...ownText.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({
  language: language as string,
  code: code as string,
}));
const inShell = snippets.filter(({ language }) => language === "sh").map(({ code }) => code);

/** Runs a program, which must succeed, in the folder of the snippets and returns its output. */
function run(...command: Command): Promise<string> {
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, LEADS_API_KEY: key.text };
  return mustRun(command, { cwd: folder, env, isBare: true });
}

const shell = (code: string) => run("sh", "-e", "-c", code);

const parsed = (answer: string) => ({
  status: Number(/^HTTP\/\S+ (\d+)/.exec(answer)?.[1]),
  json: JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)),
});

test("the brief has snippets in exactly the languages tested here", () => {
  // The clients in other languages are run by test/docs/clients.test.ts.
  const others = Object.values(clients).map(({ fence }) => fence);
  assert.deepEqual(
    [...new Set(snippets.map(({ language }) => language))].sort(),
    [...others, "json", "sh"].sort(),
  );
  assert.equal(inShell.length, 4);
});

test("curl: the key check answers 422 with the three required fields and stores nothing", async () => {
  const answer = parsed(await testEnv.leavesNothing(() => shell(inShell[0] as string)));
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

test("curl: the vocabulary is JSON", async () => {
  const { project_area } = JSON.parse(await shell(inShell[3] as string));
  assert.equal(project_area.length, 37);
});

test("openapi-typescript generates types from the live document", async () => {
  await shell(inShell[2] as string);
  assert.match(readFileSync(join(folder, "lead-intake.d.ts"), "utf8"), /export interface paths/);
});

/** The TypeScript snippets by the file name in their first line. */
const programs = snippets.filter(({ language }) => language === "ts").map(({ code }) => ({
  name: /^\/\/ (\w+\.ts):/.exec(code)?.[1] ?? "",
  code,
}));

// test/docs/clients.test.ts runs it.
test("TypeScript: the client compiles strictly", async () => {
  assert.deepEqual(programs.map(({ name }) => name), ["lead_intake.ts", "send.ts"]);
  for (const { name, code } of programs) writeFileSync(join(folder, name), code);
  await run("deno", "check", "--no-config", "send.ts");
});
