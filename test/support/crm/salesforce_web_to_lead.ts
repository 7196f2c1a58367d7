/**
 * Salesforce's Web-to-Lead servlet, which answers 200 to every form: only a missing organization or required field shows
 * in a header, and the default lead creator is mailed everything else that was refused.
 */

import type { Issued } from "../authority.ts";
import { formBody, startVendor, type Vendor, type VendorCall } from "./vendor.ts";

export interface WebToLead extends Vendor {
  readonly oid: string;
  hasStatePicklists: boolean;
  readonly leads: Record<string, string>[];
  /** The reasons in the mails to the default lead creator. */
  readonly mails: string[];
}

const lengths: Readonly<Record<string, number>> = {
  first_name: 40,
  last_name: 80,
  company: 255,
  phone: 40,
  email: 80,
  street: 255,
  city: 40,
  state: 80,
  zip: 20,
  country: 80,
  state_code: 10,
  country_code: 10,
  lead_source: 255,
  description: 32_000,
};

/** Starts the test server. */
export async function openWebToLead(certificate: Pick<Issued, "cert" | "key">): Promise<WebToLead> {
  const org: Omit<WebToLead, keyof Vendor> = {
    oid: "00D5e000000HZ7k",
    hasStatePicklists: false,
    leads: [],
    mails: [],
  };
  const vendor = await startVendor(certificate, (call) => {
    if (call.path !== "/servlet/servlet.WebToLead") return { status: 404 };
    const exception = " Exception:common.exception.SalesforceGenericException";
    return { status: 200, headers: { "Is-Processed": `true${accept(call) ? "" : exception}` } };
  });

  function accept(call: VendorCall): boolean {
    const form = call.method === "POST" ? formBody(call) : new URLSearchParams();
    const sent = Object.fromEntries(form);
    if (sent.oid !== org.oid || !sent.last_name || !sent.company) return false;
    const long = Object.entries(lengths).find(([name, max]) => [...sent[name] ?? ""].length > max);
    const unknown = Object.keys(sent).find((name) =>
      name !== "oid" && !/^00N[A-Za-z0-9]{12}/.test(name) && !Object.hasOwn(lengths, name)
    );
    const isStateText = org.hasStatePicklists && (sent.state !== undefined || sent.country !== undefined);
    if (call.query.get("encoding") !== "UTF-8") org.mails.push("unknown encoding");
    else if (long !== undefined) org.mails.push(`data value too large: ${long[0]}`);
    else if (unknown !== undefined) org.mails.push(`unknown field ${unknown}`);
    else if (isStateText) org.mails.push("There's a problem with this state");
    else org.leads.push(sent);
    return true;
  }

  return Object.assign(org, vendor);
}
