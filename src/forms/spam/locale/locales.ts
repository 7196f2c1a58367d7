/**
 * The languages that the spam score knows. This module is browser compatible.
 *
 * @module
 */

import { en } from "./en.ts";
import { es } from "./es.ts";
import type { Locale } from "./locale.ts";
import { ru } from "./ru.ts";

/** Every language; one more is a file beside these, and its name here. */
export const locales: readonly Locale[] = [en, es, ru];
