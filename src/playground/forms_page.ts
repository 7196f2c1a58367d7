/** Renders the playground for forms. */

import { formExample, formPlaceholders, honeypotName } from "../contract/forms.ts";
import { documents } from "../documents/published.ts";
import { formKeyCheck } from "../documents/guidance.ts";
import type { BaseUrls } from "../documents/openapi.ts";
import { defaultThreshold } from "../forms/spam/score.ts";
import { type Markup, markup } from "../http/markup.ts";
import { type AssetVersions, contactNote, head, jsonEditor, keyRow, meaningList } from "./page.ts";

const { email: _, ...withoutEmail } = formExample;

/** The bodies to try, by title. */
const examples: Readonly<Record<string, object>> = {
  "Accepted": formExample,
  "Missing field": withoutEmail,
  "Field with another name": { ...withoutEmail, your_mail: formExample.email },
  "List as a value": { ...formExample, services: ["roof", "gutters"] },
  "Honeypot filled in": { ...formExample, [honeypotName]: "https://backlinks.example" },
  "Typical spam": {
    ...formExample,
    message:
      "We offer SEO services and quality backlinks to rank your website on the first page of Google. " +
      "Visit https://backlinks.example to boost your traffic!",
  },
};

const bodyOf = (example: object) => JSON.stringify(example, null, 2);

function field(id: string, label: Markup, input: Markup): Markup {
  return markup`<div class="field"><label for="${id}">${label}</label>${input}</div>\n`;
}

function editor(): Markup {
  const options = Object.entries(examples).map(([title, example]) =>
    markup`<option value="${bodyOf(example)}">${title}</option>`
  );
  return markup`<div class="pane edit"><h2 class="quiet">Post</h2>
<div class="controls"><label>Example <select id="example" autocomplete="off">${options}
<option value="" hidden>Custom</option></select></label></div>
${jsonEditor("The submission as JSON", bodyOf(formExample))}
<h3>The form</h3><div class="fields">
${
    field(
      "required",
      markup`Required fields <small>with commas</small>`,
      markup`<input id="required" type="text" value="name, email" autocomplete="off" spellcheck="false">`,
    )
  }${
    field(
      "threshold",
      markup`Held from a score of`,
      markup`<input id="threshold" type="text" inputmode="numeric" value="${defaultThreshold}" autocomplete="off">`,
    )
  }${
    field(
      "blocked",
      markup`Blocked words <small>with commas</small>`,
      markup`<input id="blocked" type="text" autocomplete="off" spellcheck="false">`,
    )
  }</div></div>`;
}

function result(): Markup {
  return markup`<div id="status" class="status stuck" role="status" aria-live="polite"></div>
<div class="pane result"><h2 class="quiet">Result</h2>
<ul id="findings" class="findings"></ul>
<div id="score"></div>
<div id="compare"></div>
<div id="mail" hidden><h3>Email to the customer</h3>
<p id="mail-about"></p><iframe id="mail-html" title="The email as HTML" sandbox></iframe>
<details class="example"><summary>As plain text</summary>
<pre class="code" id="mail-text" tabindex="0" role="group" aria-label="The email as plain text"></pre></details></div>
<h3>Response</h3><pre class="code" id="response" tabindex="0" role="group" aria-label="Response"></pre>
</div>`;
}

function keySection(contact: string | null): Markup {
  const input = (id: string, placeholder: string) =>
    markup`<input id="${id}" type="text" placeholder="${placeholder}" autocomplete="off" spellcheck="false">`;
  return markup`<section id="key-check"><h2>Check a form and its key</h2>
<p>An empty object, <code>{}</code>, with your key is the documented probe: it stores and sends nothing. Its response
fills in the required fields above.</p>
<div class="scripted probe"><p>This page sends the key only to this service, and never stores it.</p>
<div class="fields">${
    field(
      "tenant",
      markup`Customer <small><code>{tenant}</code> in the URL</small>`,
      input("tenant", formPlaceholders.tenant),
    )
  }${
    field(
      "form-key",
      markup`Form <small><code>{form_key}</code></small>`,
      input("form-key", formPlaceholders.formKey),
    )
  }</div>
${keyRow("form_test_…")}
<p id="model-status" role="status" aria-live="polite"></p></div>
<p><b>To see the spam score</b>, enter a key of a sandbox, which starts with <code>form_test_</code>. The page then loads the
weights of the score, and computes it in your browser. The page itself does not contain them, because senders of spam could
use them to try out texts. The operator issues sandbox keys.</p>${contactNote(contact)}
${meaningList(formKeyCheck)}</section>`;
}

const unknowns: readonly Markup[] = [
  markup`<b>Repeats</b>: the same fields in the same form within 10 minutes get 200 <code>duplicate</code>.`,
  markup`<b>Corrections</b>: what the operator and the customer release or dismiss changes the score.`,
  markup`<b>Other senders</b>: the same text from several of them raises the score.`,
  markup`<b>The form's settings</b>: its threshold and blocked words, unless you enter them here.`,
];

/** Renders the page for a service at these URLs. `contact` is the email address for keys. */
export function formsPlaygroundPage(
  urls: Pick<BaseUrls, "intake">,
  { versions, contact }: { readonly versions: AssetVersions; readonly contact: string | null },
): string {
  const { formsBriefPage, formsBrief } = documents;
  return markup`<!doctype html>
<html lang="en">
<head>
${
    head(versions, {
      title: "Forms playground",
      about: "Edit a form's post and see how the service would respond. The post never leaves the browser.",
      script: "formsScript",
    })
  }
</head>
<body>
<a class="skip" href="#body">Skip to the editor</a>
<header><h1>Forms <span>playground</span></h1>
<nav aria-label="Documents"><a href="${urls.intake}${formsBriefPage.path}">Forms brief</a>
<a href="${formsBrief.path}">as Markdown</a> <a href="${urls.intake}${documents.playground.path}">Lead playground</a>
<a href="/healthz">Health</a></nav></header>
<main>
<p class="lede">Paste the JSON that your web server posts, and see the response, what the service reads from it, and the email
that the customer gets. This page runs the service's own code, so a submission never leaves your browser.</p>
<p class="note unscripted">To try posts here, enable JavaScript.</p>
<p id="notice" class="note" role="alert" hidden></p>
<section id="playground" class="panes scripted" aria-label="Playground">${editor()}${result()}</section>
${keySection(contact)}
<div class="reference"><section id="unknown"><h2>What this page cannot know</h2>
<ul>${unknowns.map((item) => markup`<li>${item}</li>`)}</ul></section></div>
</main>
</body>
</html>
`.text;
}
