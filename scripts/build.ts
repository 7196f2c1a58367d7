/**
 * `npm run build`: writes the service and the actions process as one file each, to `build/programs`. Nothing needs it:
 * a release has them, because they start with half of the processor time and take a quarter less memory.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { buildPrograms, programsFolder } from "./package/programs.ts";

await buildPrograms(fileURLToPath(new URL("../", import.meta.url)));
console.log(`${programsFolder}/service.js and ${programsFolder}/actions.js`);
