// server.js: a contractor's website with a quote form, for Node 22 or later, without dependencies.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { submitForm } from "./submit_form.js";

const bodyBytesMax = 65_536;
const pages = new Map([
  ["/", "home.html"],
  ["/quote", "quote.html"],
  ["/thanks", "thanks.html"],
  ["/privacy", "privacy.html"],
]);
const assets = new Map([
  ["/style.css", "text/css"],
  ["/icon.svg", "image/svg+xml"],
  ["/first_touch.js", "text/javascript"],
  ["/send_once.js", "text/javascript"],
]);
const htmlHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-cache",
  "Content-Security-Policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};

const read = (file) => readFileSync(new URL(`pages/${file}`, import.meta.url), "utf8");
const escape = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Returns the values of each name, which are several for a group of check boxes. PHP's `name[]` becomes `name`. */
function parse(encoded) {
  const values = new Map();
  for (const [sentName, value] of new URLSearchParams(encoded)) {
    const name = sentName.replace(/\[\]$/, "");
    if (!values.has(name)) values.set(name, []);
    values.get(name).push(value);
  }
  return values;
}

/** Fills in a page's placeholders. `shown` has the names of missing fields and of the notices to show. */
function render(file, values, shown = []) {
  const known = new Map([["form_started_at", [new Date().toISOString()]], ...values]);
  const fill = {
    value: (name) => escape((known.get(name) ?? []).join(", ")),
    checked: (name, value) => known.get(name)?.includes(value) ? "checked" : "",
    show: (name) => shown.includes(name) ? "" : "hidden",
    invalid: (name) => shown.includes(name) ? `aria-invalid="true" aria-describedby="${name}-error"` : "",
  };
  const [, title, content] = /^(<title>.*<\/title>)(.*)$/s.exec(read(file));
  const html = read("layout.html").replace("{{ title }}", () => title).replace(
    "{{ content }}",
    () => content,
  );
  return html.replace(/\{\{(\w+) (\w+) ?(.*?)\}\}/g, (_, kind, name, value) => fill[kind](name, value));
}

/** Reads the body; returns null if it is too long. */
async function readBody(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Sends the form and redirects to the thanks page, so that a reload does not send it again. */
async function submit(request, reply) {
  const replyQuote = (status, values, shown) =>
    reply(status, htmlHeaders, render("quote.html", values, shown));
  if (!/^application\/x-www-form-urlencoded/i.test(request.headers["content-type"])) {
    return replyQuote(415, [], ["failed"]);
  }
  const body = await readBody(request);
  if (body === null) return replyQuote(413, [], ["too_long"]);
  const values = parse(body);
  const join = ([name, texts]) => [name, texts.filter(Boolean).join(", ")];
  const fields = Object.fromEntries([...values].map(join));
  fields.page_url ||= request.headers.referer ?? null; // Without JavaScript, the page sends none.
  const sent = await submitForm(fields);
  if (sent.isSent) {
    console.log("form sent:", sent.submissionId);
    return reply(303, { Location: `/thanks?reference=${encodeURIComponent(sent.submissionId ?? "")}` });
  }
  const missing = Object.keys(sent.fields);
  const onPage = missing.filter((name) => read("quote.html").includes(`{{show ${name}}}`));
  const elsewhere = missing.filter((name) => !onPage.includes(name));
  if (elsewhere.length > 0) console.error("required, but not on the page:", elsewhere.join(", "));
  const notices = onPage.length > 0 ? ["missing"] : [];
  if (elsewhere.length > 0 || onPage.length === 0) notices.push("failed");
  replyQuote(onPage.length > 0 ? 422 : 503, values, [...onPage, ...notices]);
}

async function handle(request, reply) {
  const [path, query = ""] = request.url.split("?", 2);
  if (request.method === "POST" && path === "/quote") return await submit(request, reply);
  if (request.method !== "GET" && request.method !== "HEAD") return reply(405, { Allow: "GET, HEAD" });
  const type = assets.get(path);
  if (type) return reply(200, { "Content-Type": type, "Cache-Control": "max-age=3600" }, read(path.slice(1)));
  const file = pages.get(path);
  reply(file ? 200 : 404, htmlHeaders, render(file ?? "404.html", parse(query)));
}

const server = createServer({ requestTimeout: 20_000 }, (request, response) => {
  const reply = (status, headers, body = "") =>
    response.writeHead(status, { "X-Content-Type-Options": "nosniff", ...headers }).end(body);
  handle(request, reply).catch((error) => {
    console.error("request failed:", error.message); // The visitor may have aborted it.
    if (!response.headersSent) reply(503, htmlHeaders, render("quote.html", [], ["failed"]));
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
process.once("SIGTERM", () => server.close()); // Forms that are being sent are completed.
