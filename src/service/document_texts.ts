/** Renders the documents for partners. Loaded at the first request for a document, because posts do not need it. */

import { brief } from "../documents/brief.ts";
import { type DocumentName, documents, surfaceOf } from "../documents/published.ts";
import { formsBrief } from "../documents/forms_brief.ts";
import { type BaseUrls, openapi } from "../documents/openapi.ts";
import { versionOf } from "../http/cached_response.ts";
import copyButtons from "../documents/copy_buttons.json" with { type: "json" };
import bundle from "../playground/bundle.json" with { type: "json" };
import formsBundle from "../playground/forms_bundle.json" with { type: "json" };
import { formsPlaygroundPage } from "../playground/forms_page.ts";
import { briefPage, icon, playgroundPage } from "../playground/page.ts";

/** The values that the documents contain. */
export interface DocumentValues {
  readonly urls: BaseUrls;
  readonly contactEmail: string | null;
}

export function documentText(name: DocumentName, { urls, contactEmail }: DocumentValues): string {
  const { script, style } = bundle;
  const copyScript = copyButtons.script;
  const versions = () => ({
    script: versionOf(script),
    copyScript: versionOf(copyScript),
    formsScript: versionOf(formsBundle.script),
    style: versionOf(style),
    icon: versionOf(icon),
  });
  const briefs = {
    brief: () => brief(urls.intake, contactEmail),
    formsBrief: () => formsBrief(urls, contactEmail),
  };
  const page = (name: keyof typeof briefs) =>
    briefPage(briefs[name](), {
      versions: versions(),
      markdownUrl: urls[surfaceOf(name)] + documents[name].path,
    });
  const texts: Readonly<Record<DocumentName, () => string>> = {
    openapi: () => JSON.stringify(openapi(urls)),
    ...briefs,
    briefPage: () => page("brief"),
    formsBriefPage: () => page("formsBrief"),
    playground: () => playgroundPage(urls.intake, { versions: versions(), contact: contactEmail }),
    script: () => script,
    copyScript: () => copyScript,
    style: () => style,
    icon: () => icon,
    formsPlayground: () => formsPlaygroundPage(urls, { versions: versions(), contact: contactEmail }),
    formsScript: () => formsBundle.script,
    formsStyle: () => style,
    formsIcon: () => icon,
  };
  return texts[name]();
}
