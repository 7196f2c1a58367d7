/**
 * The driver of leads-node.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { answerLines } from "../../js/conformance/lines.ts";
import { LeadsClient } from "../src/index.ts";

await answerLines((line, settings) =>
  new LeadsClient({
    ...settings,
    key: line.key ?? undefined,
    baseUrl: line.base_url ?? undefined,
    ca: typeof line.ca_file === "string" ? readFileSync(line.ca_file) : undefined,
  })
);
