import {
  idempotencyKey,
  InvalidLeadError,
  type Lead,
  LeadsClient,
  LeadsError,
  type LeadsEvent,
} from "@leads-example/leads-js";
import { type PageAnswer, send } from "@leads-example/leads-js/page";
import { type Relay, relay } from "@leads-example/leads-js/relay";

/** What a program in TypeScript writes, and the types that it gets. */
export async function post(key: string, signal: AbortSignal): Promise<string> {
  const leads = new LeadsClient({
    key,
    baseUrl: "https://intake.example",
    observer: (event: LeadsEvent) => console.log(event.type === "try" ? event.status : event.waitMs),
  });
  const lead: Lead = { first_name: "Ada", cost: "12.50", shoe_size: 38 };
  try {
    const ack = await leads.postLead(lead, idempotencyKey("acme", "1"), { signal, deadlineMs: 5_000 });
    const status: "accepted" | "duplicate" = ack.status;
    return status;
  } catch (error) {
    if (error instanceof InvalidLeadError) return Object.keys(error.fields).join();
    if (error instanceof LeadsError && error.unknownOutcome) return error.kind;
    throw error;
  }
}

export const handle: Relay = relay({
  key: "",
  baseUrl: "https://intake.example",
  origins: ["https://www.example.com"],
  fields: ["phone"],
  namespace: "www",
});

export const answer: Promise<PageAnswer> = send("/lead", document.forms[0] as HTMLFormElement, {
  form: "contact",
});

// @ts-expect-error: an idempotency key is required
export const wrong = (leads: LeadsClient) => leads.postLead({});
