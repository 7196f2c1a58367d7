/** graphile-worker as a peer, with one job per event. `prepare` fills its queue, `work` delivers. */

import { createRequire } from "node:module";
import process from "node:process";
import { openPost, readChunks } from "./queue.mjs";

// No log line per successful job.
process.env.NO_LOG_SUCCESS = "1";
const require = createRequire(import.meta.url);
const { Logger, makeWorkerUtils, run } = require("graphile-worker");

const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") {
    process.stderr.write(`${message}\n`);
  }
});

async function prepare() {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  for await (const chunk of readChunks(5_000)) {
    await utils.addJobs(chunk.map((payload) => ({ identifier: "deliver", payload })));
  }
  await utils.release();
}

async function work() {
  const post = openPost();
  const runner = await run({
    preset: {
      worker: {
        connectionString,
        logger,
        concurrentJobs: Number(process.env.CONNECTIONS),
        maxPoolSize: 10,
        localQueue: { size: Number(process.env.QUEUE_SIZE) },
        completeJobBatchDelay: Number(process.env.COMPLETE_DELAY_MS),
        failJobBatchDelay: 0,
      },
    },
    taskList: { deliver: (payload) => post(payload) },
    parsedCronItems: [],
  });
  process.stdout.write('{"event":"started"}\n');
  // The worker handles SIGTERM itself.
  await runner.promise;
  process.exit(0);
}

await (process.argv[2] === "prepare" ? prepare() : work());
