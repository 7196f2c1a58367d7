/** Renders the playground and the briefs' pages. Without JavaScript, the playground is a reference for the contract. */

import { type FieldName, fieldNames, fields, projectServices } from "../contract/fields.ts";
import { formatCents, formatCount, limits } from "../contract/limits.ts";
import { leadExamples, placeholders } from "../documents/examples.ts";
import { keyCheck } from "../documents/guidance.ts";
import { type DocumentName, documents } from "../documents/published.ts";
import { shellSnippets } from "../documents/snippets.ts";
import { render } from "../http/markdown.ts";
import { Markup, markup, withCode } from "../http/markup.ts";
import { exampleGroups, reference } from "./reference.ts";

/** The versions of the files that the pages load; they are part of the files' URLs. */
export interface AssetVersions {
  readonly script: string;
  readonly copyScript: string;
  readonly formsScript: string;
  readonly style: string;
  readonly icon: string;
}

const datalistIds: Partial<Record<FieldName, string>> = {
  project_area: "area-terms",
  project_service: "service-terms",
};

function fieldRow(name: string, options: { required: boolean; limit: string; input: Markup }): Markup {
  const requiredMark = options.required ? markup` <b class="need">required</b>` : null;
  return markup`<div class="field" data-field="${name}">
<label for="field-${name}"><code>${name}</code>${requiredMark} <small>${options.limit}</small></label>${options.input}
<p class="message" id="message-${name}"></p></div>
`;
}

function textField(name: FieldName): Markup {
  const { required, lengthMax } = fields[name];
  const described = markup`aria-describedby="message-${name}" autocomplete="off" spellcheck="false"`;
  const list = datalistIds[name] === undefined ? null : markup` list="${datalistIds[name]}"`;
  const input = name === "project_details"
    ? markup`<textarea id="field-${name}" rows="4" ${described}></textarea>`
    : markup`<input id="field-${name}" type="text" ${described}${list}>`;
  return fieldRow(name, { required, limit: `max. ${formatCount(lengthMax)}`, input });
}

function form(): Markup {
  const cost = fieldRow("cost", {
    required: false,
    limit: `${formatCents(limits.costCentsMin)} to ${formatCents(limits.costCentsMax)}`,
    input: markup`<input id="field-cost" type="text" inputmode="decimal" aria-describedby="message-cost"
 autocomplete="off">`,
  });
  const services = projectServices.map((name) => markup`<option value="${name}">`);
  return markup`<div id="form" class="fields" hidden>${fieldNames.map(textField)}${cost}
<p id="form-broken" class="note" hidden>The form is unavailable because the JSON is invalid. Correct it first.</p>
<datalist id="area-terms"></datalist><datalist id="service-terms">${services}</datalist></div>`;
}

function controls(): Markup {
  const groups = exampleGroups.map(({ title, examples }) => {
    const options = Object.entries(examples).map(([name, one]) =>
      markup`<option value="${name}">${one.title}</option>`
    );
    return markup`<optgroup label="${title}">${options}</optgroup>`;
  });
  return markup`<div class="controls">
<label>Example <select id="example" autocomplete="off">${groups}<option value="" hidden>Custom</option></select></label>
<fieldset class="switch"><legend>Edit as</legend>
<label><input type="radio" name="view" value="json" checked autocomplete="off"> JSON</label>
<label><input type="radio" name="view" value="form" autocomplete="off"> Form</label></fieldset>
</div>`;
}

export function jsonEditor(label: string, text: string): Markup {
  return markup`<div id="json"><div class="editor" id="editor"><pre id="mirror" aria-hidden="true"></pre>
<textarea id="body" aria-label="${label}" aria-describedby="size" spellcheck="false" autocomplete="off"
 autocapitalize="off" wrap="soft">${text}</textarea></div>
<p class="under"><span id="size"></span><button type="button" id="tidy" class="plain">Format</button></p></div>`;
}

function editor(): Markup {
  return markup`<div class="pane edit"><h2 class="quiet">Request</h2>
${controls()}
${jsonEditor("The lead as JSON", leadExamples.minimal.body)}
${form()}
<div class="field"><label for="idempotency-key"><code>Idempotency-Key</code> <small>header, recommended</small></label>
<input id="idempotency-key" type="text" value="${placeholders.idempotencyKey}" autocomplete="off" spellcheck="false"
 aria-describedby="message-idempotency-key">
<p class="message" id="message-idempotency-key"></p></div>
<label class="check"><input type="checkbox" id="repeat" autocomplete="off"> Repeat of a lead that was accepted before</label>
</div>`;
}

function result(): Markup {
  return markup`<div id="status" class="status stuck" role="status" aria-live="polite"></div>
<div class="pane result"><h2 class="quiet">Result</h2>
<ul id="findings" class="findings"></ul>
<div id="compare"></div>
<h3>Response</h3><pre class="code" id="response" tabindex="0" role="group" aria-label="Response"></pre>
<h3>curl command</h3>
<pre class="code" id="curl" tabindex="0" role="group" aria-label="curl command"></pre>
</div>`;
}

export function keyRow(placeholder: string): Markup {
  return markup`<div class="row"><label for="key">Your key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="${placeholder}" aria-describedby="key-shape">
<button type="button" id="probe">Post {}</button></div>
<p id="key-shape" class="message"></p><div id="probe-result" role="status" aria-live="polite"></div>`;
}

export function meaningList(
  rows: readonly { readonly response: string; readonly meaning: string }[],
): Markup {
  const items = rows.map(({ response, meaning }) =>
    markup`<div><dt>${withCode(response)}</dt><dd>${withCode(meaning)}</dd></div>`
  );
  return markup`<dl class="meanings">${items}</dl>`;
}

export function contactNote(contact: string | null): Markup | null {
  return contact === null
    ? null
    : markup`<p>To get a key, or if yours gets a 401, write to <a href="mailto:${contact}">${contact}</a>.</p>`;
}

function keyCheckForm(baseUrl: string, contact: string | null): Markup {
  return markup`<section id="key-check"><h2>Check a key</h2>
<p>Production allows one probe: an empty object, <code>{}</code>, with your key. It stores, delivers and emails nothing.</p>
<div class="scripted probe"><p>This page sends the key only to this service and never stores it.</p>
${keyRow("lead_live_…")}</div>
<pre class="code" tabindex="0"><code>${shellSnippets(baseUrl).keyCheck}</code></pre>
${meaningList(keyCheck)}${contactNote(contact)}</section>`;
}

/** Renders the elements that load the icon, the style sheet and a script. */
function assetLinks(versions: AssetVersions, script: "script" | "copyScript" | "formsScript"): Markup {
  const isForms = script === "formsScript";
  const { path: stylePath } = documents[isForms ? "formsStyle" : "style"];
  const { path: iconPath } = documents[isForms ? "formsIcon" : "icon"];
  return markup`<link rel="icon" href="${iconPath}?v=${versions.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${stylePath}?v=${versions.style}">
<script type="module" src="${documents[script].path}?v=${versions[script]}"></script>`;
}

/** Renders the content of a playground's `head` element. */
export function head(
  versions: AssetVersions,
  { title, about, script }: { title: string; about: string; script: "script" | "formsScript" },
): Markup {
  return markup`<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${about}">
<meta name="color-scheme" content="light dark">
${assetLinks(versions, script)}`;
}

/** Renders the playground for a service at `baseUrl`. `contact` is the email address from which partners can request a key. */
export function playgroundPage(
  baseUrl: string,
  { versions, contact }: { readonly versions: AssetVersions; readonly contact: string | null },
): string {
  const { brief, briefPage, openapi } = documents;
  return markup`<!doctype html>
<html lang="en" data-base-url="${baseUrl}">
<head>
${
    head(versions, {
      title: "Lead intake playground",
      about: "Edit a lead and see how the service would respond. Your lead never leaves the browser.",
      script: "script",
    })
  }
</head>
<body>
<a class="skip" href="#body">Skip to the editor</a>
<header><h1>Lead intake <span>playground</span></h1>
<nav aria-label="Documents"><a href="${briefPage.path}">Integration brief</a>
<a href="${brief.path}">as Markdown</a> <a href="${openapi.path}">OpenAPI</a>
<a href="/v1/vocabulary">Vocabulary</a> <a href="/healthz">Health</a></nav></header>
<main>
<p class="lede">Edit a lead and see how the service would respond. This page runs the service's own validator, so your lead
never leaves your browser.</p>
<p class="note unscripted">To try leads here, enable JavaScript. Without it, this page is a reference for fields, responses,
limits and examples.</p>
<p id="notice" class="note" role="alert" hidden></p>
<section id="playground" class="panes scripted" aria-label="Playground">${editor()}${result()}</section>
${keyCheckForm(baseUrl, contact)}
<div class="reference"><nav aria-label="Contents" class="contents"><a href="#rules">Rules</a>
<a href="#limits">Limits</a> <a href="#envelope">Envelope</a> <a href="#responses">Responses</a>
<a href="#vocabulary">Vocabulary</a> <a href="#examples">Examples</a></nav>
${reference(baseUrl)}</div>
</main>
</body>
</html>
`.text;
}

/** Renders a brief as a page. `markdownUrl` is the URL of the brief's Markdown. */
export function briefPage(
  markdown: string,
  options: { readonly versions: AssetVersions; readonly markdownUrl: string },
): string {
  const { versions, markdownUrl } = options;
  const { html, headings } = render(markdown);
  const [title] = headings;
  const contents = headings.filter(({ depth }) => depth === 2)
    .map(({ id, text }) => markup`<a href="#${id}">${text}</a> `);
  const others =
    ([["playground", "Playground"], ["briefPage", "Leads"], ["formsBriefPage", "Forms"]] as const)
      .map(([name, text]: readonly [DocumentName, string]) =>
        markup`<a href="${documents[name].path}">${text}</a> `
      );
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title?.text ?? ""}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="alternate" type="text/markdown" href="${markdownUrl}">
${assetLinks(versions, "copyScript")}
</head>
<body class="brief">
<a class="skip" href="#main">Skip to main content</a>
<header><nav aria-label="Documents">${others}<a href="${markdownUrl}">This page as Markdown</a></nav></header>
<main id="main" tabindex="-1">
<nav aria-label="Contents" class="contents">${contents}</nav>
${new Markup(html)}</main>
</body>
</html>
`.text;
}

/** An SVG icon: an arrow into a tray. */
export const icon = `\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
<rect width="32" height="32" rx="7" fill="#2f5d50"/>\
<path d="M16 6v11m-5-5 5 5 5-5M7 18v6h18v-6" fill="none" stroke="#fff" stroke-width="2.6" \
stroke-linecap="round" stroke-linejoin="round"/></svg>
`;
