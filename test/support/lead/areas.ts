/** The first vocabulary as the validator's input. */

import type { Areas } from "../../../src/lead/lead.ts";
import { foldArea } from "../../../src/lead/place.ts";
import terms from "../../vectors/areas.json" with { type: "json" };

/** The 37 terms of DECISIONS, section 9. */
export const areas: Areas = new Map(terms.map((area) => [foldArea(area), area]));
