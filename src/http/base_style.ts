/** The shared style sheet of the site, the playground, the briefs and the plan pages. */

export const baseStyle = `
:root {
  --paper: #fbfaf7;
  --ink: #1f2421;
  --soft: #56605a;
  --line: #dcd9d0;
  --accent: #2b5a4d;
  --accent-ink: #fff;
  --tint: #eef3ef;
  --field: #fff;
  --code: #f2f0ea;
  --bad: #a8321f;
  --bad-paper: #fbe9e5;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #141719;
    --ink: #e3e6e3;
    --soft: #a3aca7;
    --line: #33393b;
    --accent: #86c9b1;
    --accent-ink: #10201b;
    --tint: #1b2422;
    --field: #141719;
    --code: #1c2123;
    --bad: #f29a88;
    --bad-paper: #3a211d;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html {
  font: 1rem/1.55 var(--sans);
  color: var(--ink);
  background: var(--paper);
  scroll-padding-top: 1rem;
  text-size-adjust: 100%;
  -webkit-text-size-adjust: 100%;
}
body { margin: 0 auto; padding: 0 clamp(1rem, 4vw, 2.5rem) 3rem; }
a { color: var(--accent); text-underline-offset: 0.2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 0.5rem; padding: 0.5rem 1rem; background: var(--paper); border: 1px solid var(--line); z-index: 1; }
input, select, textarea, button { font: inherit; color: inherit; }
input:is([type="text"], [type="password"], [type="email"], [type="search"]), select, textarea {
  background: var(--field);
  border: 1px solid var(--line);
  border-radius: 7px;
  padding: 0.4rem 0.6rem;
  min-height: 2.5rem;
  min-width: 0;
  width: 100%;
}
[aria-invalid="true"] { border-color: var(--bad) !important; }
button, a[href*="/buy/"] {
  background: var(--accent);
  color: var(--accent-ink);
  border: 1px solid var(--accent);
  border-radius: 7px;
  padding: 0.4rem 1rem;
  min-height: 2.5rem;
  cursor: pointer;
}
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
/* Only a script adds these buttons. */
.copy {
  display: block;
  margin: 0 0 0.3rem auto;
  background: none;
  border-color: var(--line);
  color: var(--accent);
  font-size: 0.84rem;
  min-height: 2.1rem;
  padding: 0.15rem 0.8rem;
}
/* For screen readers only. */
.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  margin: -1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
@media (max-width: 40rem) {
  .copy { min-height: 2.75rem; }
  /* With a smaller font, phones zoom in when you tap a field. */
  input, select, textarea { font-size: 1rem !important; }
}
@media (prefers-reduced-motion: no-preference) {
  html { scroll-behavior: smooth; }
}
`;
