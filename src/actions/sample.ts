/** Creates the made-up events of route tests. */

import { randomBytes } from "node:crypto";
import type { RouteScope } from "../store/delivery/effects.ts";
import type { DeliveredEvent } from "./event.ts";

/** Creates an event with an undeliverable email address and, for a lead, a fictional phone number. */
export function sampleEvent(
  { tenant, source, form }: RouteScope & { readonly tenant: string },
  nowMs: number,
): DeliveredEvent {
  const common = {
    // The prefix distinguishes this id from those of real events, which start with hexadecimal digits.
    eventId: `test${randomBytes(17).toString("hex")}`,
    tenant,
    source: source === "" ? "route-test" : source,
    campaign: "",
    form,
    receivedAt: new Date(nowMs).toISOString(),
    attempt: 1,
    flags: [],
  };
  const email = "test@example.com";
  if (form !== "") {
    return {
      ...common,
      kind: "form",
      content: JSON.stringify({ name: "Test Lead", email, message: "Made-up message." }),
      extra: JSON.stringify({ form_key: form, attribution: {} }),
    };
  }
  return {
    ...common,
    kind: "lead",
    content: JSON.stringify({
      first_name: "Test",
      last_name: "Lead",
      phone: "+15035550100",
      email,
      street_address: "100 Example Street",
      city: "Portland",
      state: "OR",
      zip: "97201",
      country: "US",
      project_area: "kitchen",
      project_service: "remodel",
      project_details: "Made-up details of a project.",
    }),
    extra: "{}",
  };
}
