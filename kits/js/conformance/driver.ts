/**
 * The driver of leads-js, on Node. `fetch` has no authorities of its own: a thread of this process has, so each
 * `ca_file` gets one.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type ClientOptions, LeadsClient } from "../src/index.ts";
import { answerer, type Line, readLines, write } from "./lines.ts";

if (isMainThread) await share();
else answerThread(workerData as string);

/** Hands each line to the thread of its authorities. */
async function share(): Promise<void> {
  const threads = new Map<string, { worker: Worker; open: Map<string, () => void> }>();
  const answers: Promise<void>[] = [];
  for await (const text of readLines()) {
    if (text.trim() === "") continue;
    const line: Line = JSON.parse(text);
    const file = line.ca_file ?? "";
    const thread = threads.get(file) ?? start(file);
    threads.set(file, thread);
    answers.push(new Promise((resolve) => thread.open.set(line.id, resolve)));
    thread.worker.postMessage(line);
  }
  await Promise.all(answers);
  for (const { worker } of threads.values()) await worker.terminate();
}

function start(file: string) {
  const worker = new Worker(new URL(import.meta.url), { workerData: file });
  const open = new Map<string, () => void>();
  worker.on("message", (answer: { id: string }) => {
    write(answer);
    open.get(answer.id)?.();
    open.delete(answer.id);
  });
  return { worker, open };
}

function answerThread(file: string): void {
  if (file !== "") setDefaultCACertificates([...getCACertificates("default"), readFileSync(file, "utf8")]);
  const answer = answerer((line, settings) =>
    // What is missing is found by the kit.
    new LeadsClient({ ...settings, key: line.key ?? "", baseUrl: line.base_url ?? "" } as ClientOptions)
  );
  parentPort?.on("message", async (line: Line) => parentPort?.postMessage(await answer(line)));
}
