/**
 * `node kits/conformance/bench.ts [KIT …] [--posts 2000] [--rounds 5]`: what a kit costs beside the bare HTTP client that
 * it is built on, in the same run. Posts a second over one kept-alive connection each, medians with spread.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { keys } from "./secrets.ts";
import { kitFolders, kitsFolder } from "./suite.ts";

/** Takes every lead, as fast as Node can, in a process of its own. */
const server = `
  const { createServer } = require("node:http");
  const body = JSON.stringify({
    event_id: "0660bd1782f0d200016cea739903366605de5c",
    status: "accepted",
    received_at: "2026-11-20T22:51:59.806Z",
    source: "bench",
    flags: [],
  });
  const head = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(202, head).end(body));
  }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { posts: { type: "string", default: "2000" }, rounds: { type: "string", default: "5" } },
});
const names = positionals.length === 0 ? kitFolders() : positionals;
const child = spawn(process.execPath, ["-e", server], { stdio: ["ignore", "pipe", "inherit"] });
const [port] = await once(child.stdout, "data");
const address = `http://127.0.0.1:${String(port).trim()}`;
console.log("kit      posts/s  bare posts/s  kit against bare (least–most)");
try {
  for (const name of names) {
    const rounds = await measured(name);
    const ratios = rounds.map(({ kit, bare }) => kit / bare).sort((a, b) => a - b);
    const [least = NaN, most = NaN] = [ratios[0], ratios.at(-1)];
    const kit = median(rounds.map((round) => round.kit));
    const bare = median(rounds.map((round) => round.bare));
    console.log(
      `${name.padEnd(8)} ${kit.toFixed(0).padStart(7)}  ${bare.toFixed(0).padStart(12)}  ` +
        `${median(ratios).toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`,
    );
  }
} finally {
  child.kill();
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;
}

async function measured(name: string): Promise<{ kit: number; bare: number }[]> {
  const folder = join(kitsFolder, name);
  const bench = spawn(join(folder, "conformance/bench"), [values.posts, values.rounds], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`,
      LEADS_BASE_URL: address,
      LEADS_API_KEY: keys.key,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  bench.stdout.setEncoding("utf8").on("data", (text: string) => said += text);
  const [code] = await once(bench, "close");
  if (code !== 0) throw new Error(`${name}'s bench ended with ${code}`);
  return said.trim().split("\n").map((line) => JSON.parse(line));
}
