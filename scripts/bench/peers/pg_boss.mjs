/** pg-boss as a peer, with one job per event. `prepare` fills its queue, `work` delivers in batches. */

import { createRequire } from "node:module";
import process from "node:process";
import { openPost, readChunks } from "./queue.mjs";

const require = createRequire(import.meta.url);
const { PgBoss } = require("pg-boss");

const boss = new PgBoss({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  // No maintenance: a round needs none.
  schedule: false,
  supervise: false,
});
boss.on("error", (error) => process.stderr.write(`${error.stack ?? error}\n`));
await boss.start();

async function prepare() {
  await boss.createQueue("deliver");
  for await (const chunk of readChunks(5_000)) {
    await boss.insert("deliver", chunk.map((data) => ({ data })));
  }
  await boss.stop({ graceful: false });
}

async function work() {
  const post = openPost();
  const options = {
    batchSize: Number(process.env.BATCH_SIZE),
    localConcurrency: Number(process.env.WORKERS),
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
  };
  await boss.work("deliver", options, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => post(data)));
  });
  process.stdout.write('{"event":"started"}\n');
  process.on("SIGTERM", async () => {
    await boss.stop({ graceful: false });
    process.exit(0);
  });
}

await (process.argv[2] === "prepare" ? prepare() : work());
