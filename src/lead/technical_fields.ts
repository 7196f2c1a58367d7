/** Recognizes the fields of a form that the site fills in, not the visitor. This module is browser compatible. */

/**
 * The kinds of technical fields. `token` and `time` change with each rendering of a page; `page` has addresses and titles of
 * pages; `visit` describes the visitor's device, session and campaign; `form` names the form; `certificate` documents the
 * visitor's consent.
 */
export type TechnicalKind = "token" | "time" | "page" | "visit" | "form" | "certificate";

/** The names that plug-ins and frameworks use, in lower case and without punctuation. */
const names: Readonly<Record<TechnicalKind, string>> = {
  token:
    "altcha authenticitytoken ctbotdetectoreventtoken eventvalidation formbuildid formtoken gformuniqueid " +
    "requestverificationtoken smarttoken token viewstate viewstategenerator",
  time:
    "apbcttimestamp formloadedat formstartedat formstarttime formtimestamp loadedat renderedat startedat submissiondate submissiontime " +
    "submittedat timestamp",
  page:
    "firstpage landingpage landingpageurl landingurl pagepath pagetitle pageuri pageurl postreferer referer refererurl " +
    "referrer referrerurl sourceurl urlreferer urlreferrer wphttpreferer",
  visit:
    "browserlanguage clientid clientip devicetype fbc fbclid fbp ga gaclientid gbraid gclid hubspotutk hutk ip " +
    "ipaddress lang locale msclkid remoteip screenresolution sessionid timezone timezoneoffset ttclid useragent userip " +
    "visitorid wbraid",
  form:
    "action fluentformid formid formkey formname gformsubmit postid queriedid website wpcf7 wpcf7containerpost " +
    "wpcf7locale wpcf7unittag wpcf7version wpformsid",
  certificate:
    "certurl consentcertificate contactstatecerturl jornayaid jornayaleadid jornayatoken leadidtoken " +
    "trustedform trustedformcert trustedformcerturl trustedformpingurl trustedformtoken trustedformurl universalleadid " +
    "xxtrustedformcerturl xxtrustedformpingurl xxtrustedformtoken",
};

const kinds: ReadonlyMap<string, TechnicalKind> = new Map(
  Object.entries(names).flatMap(([kind, list]) =>
    list.split(" ").map((name) => [name, kind as TechnicalKind] as const)
  ),
);

/** Matches the names of tokens that contain what they are for, and those of Akismet. */
const tokenNames = /nonce|captcha|csrf|xsrf|turnstile|^ak_/i;

/** The maximum length of a name that is compared; a longer name is no technical one. */
const nameLengthMax = 60;

/** Returns a name as it is compared: letters and digits of ASCII, in lower case; empty for a long name. */
export function fieldLetters(name: string): string {
  if (name.length > nameLengthMax) return "";
  return name.toLowerCase().replace(/[^a-z0-9]/g, "").replace(/^(?:(?:form)?fields|wpforms)(?=.)/, "");
}

/** Returns the kind of a field by its name (`g-recaptcha-response`, `fields[Page URL]`), or `null` for the visitor's own. */
export function technicalKind(name: string): TechnicalKind | null {
  const letters = fieldLetters(name);
  if (letters !== "" && tokenNames.test(name)) return "token";
  return kinds.get(letters) ?? (letters.startsWith("utm") ? "visit" : null);
}
