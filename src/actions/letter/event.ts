/**
 * The letter of an event, whatever its kind.
 *
 * @module
 */

import type { Sending } from "../destination.ts";
import { leadLetter } from "./lead.ts";
import type { Letter } from "./letter.ts";
import { submissionLetter } from "./submission.ts";

/** Writes it for the tenant's people. Where a route is tried, it says so where nobody can miss it. */
export function eventLetter(
  { event, tenant, isTest }: Pick<Sending, "event" | "tenant" | "isTest">,
): Letter {
  const letter = event.kind === "lead" ? leadLetter(event, tenant) : submissionLetter(event, tenant);
  if (!isTest) return letter;
  return {
    ...letter,
    subject: `Test: ${letter.subject}`,
    banner: "This is a test. What follows is invented: nobody is waiting for an answer.",
  };
}
