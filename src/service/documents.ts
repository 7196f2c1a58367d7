/**
 * The documents that a surface publishes. They name the addresses of the surfaces, which the listeners may have to find
 * first.
 *
 * @module
 */

import { brief } from "../contract/brief.ts";
import { type DocumentName, documents, surfaceOf } from "../contract/documents.ts";
import { formsBrief } from "../contract/forms_brief.ts";
import { openapi } from "../contract/openapi.ts";
import type { BaseUrls } from "../contract/openapi/paths.ts";
import type { Handler } from "../http/exchange.ts";
import { versionOf } from "../http/prepared.ts";
import { documentHandler } from "../intake/docs.ts";
import copyButtons from "../http/copy_buttons.json" with { type: "json" };
import { briefPage } from "../playground/brief_page.ts";
import bundle from "../playground/bundle.json" with { type: "json" };
import { icon } from "../playground/icon.ts";
import { playgroundPage } from "../playground/page.ts";
import type { Config } from "../settings/config.ts";
import { addressUrl } from "./listeners.ts";

/** The listeners' own addresses by surface, once they are open. */
type OpenUrls = () => ReadonlyMap<string, string>;

/** The documents of a surface, by path. */
export function documentHandlers(
  surface: "intake" | "forms",
  config: Config,
  openUrls: OpenUrls,
): Record<string, Handler> {
  const urls = () => baseUrls(config, openUrls());
  const { script, style } = bundle;
  const copyScript = copyButtons.script;
  const versions = {
    script: versionOf(script),
    copyScript: versionOf(copyScript),
    style: versionOf(style),
    icon: versionOf(icon),
  };
  const briefs = {
    brief: () => brief(urls().intake, config.contactEmail),
    formsBrief: () => formsBrief(urls(), config.contactEmail),
  };
  const page = (name: keyof typeof briefs) =>
    briefPage(briefs[name](), { versions, markdownUrl: urls()[surfaceOf(name)] + documents[name].path });
  const texts: Readonly<Record<DocumentName, () => string>> = {
    openapi: () => JSON.stringify(openapi(urls())),
    ...briefs,
    briefPage: () => page("brief"),
    formsBriefPage: () => page("formsBrief"),
    playground: () => playgroundPage(urls().intake, { versions, contact: config.contactEmail }),
    script: () => script,
    copyScript: () => copyScript,
    style: () => style,
    icon: () => icon,
  };
  const names = (Object.keys(texts) as DocumentName[]).filter((name) => surfaceOf(name) === surface);
  return Object.fromEntries(
    names.map((name) => [documents[name].path, documentHandler(name, texts[name])]),
  );
}

/** Where the surfaces are, as far as this process can know of those that another one serves. */
function baseUrls(config: Config, openUrls: ReadonlyMap<string, string>): BaseUrls {
  const of = (name: keyof BaseUrls) => {
    const { url, listen } = config[name];
    return url ?? openUrls.get(name) ?? addressUrl(listen, config.tls !== null);
  };
  return { intake: of("intake"), forms: of("forms"), subscription: of("subscription") };
}
