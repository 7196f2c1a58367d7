/**
 * `npm run prove`: runs the service under faults for as long as asked, and looks from outside whether each promise was
 * kept.
 *
 * @module
 */

import process from "node:process";
import { type Options, readOptions, usage } from "./options.ts";
import { huntAll } from "./planted/table.ts";
import { prove } from "./run.ts";

// When a connection is lost while the driver asks for the types of arrays, nobody waits for what becomes of that question.
process.on("unhandledRejection", (error) => {
  if (!String((error as { code?: unknown } | null)?.code).startsWith("CONNECTION_")) throw error;
});

let options: Options | null = null;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exit(2);
}
if (options === null) {
  console.log(usage);
} else {
  const say = (line: string) => console.log(line);
  const { planted, seed } = options;
  const isKept = planted === null ? await prove(options, say) : await huntAll(planted, { seed, say });
  // Connections to what is gone may still wait for their ends.
  process.exit(isKept ? 0 : 1);
}
