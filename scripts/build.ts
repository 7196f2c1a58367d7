/**
 * `npm run build`: bundles the service and the actions process into `build/programs`. Compared with the
 * sources, bundles start with half the processor time and use a quarter less memory.
 */

import { fileURLToPath } from "node:url";
import { buildPrograms, programsFolder } from "./package/programs.ts";

await buildPrograms(fileURLToPath(new URL("../", import.meta.url)));
console.log(`${programsFolder}/service.js and ${programsFolder}/actions.js`);
