/** Formats metrics in Prometheus's text format, version 0.0.4. */

/** The format's media type. */
export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

/** Label values by name. */
export type Labels = Readonly<Record<string, string>>;

/** Formats labels in the order of `names`. */
export function labelText(names: readonly string[], labels: Labels): string {
  let text = "";
  for (const name of names) {
    const value = labels[name];
    if (value === undefined) throw new TypeError(`The label ${name} is missing`);
    text += `${text === "" ? "" : ","}${name}="${escapeLabel(value)}"`;
  }
  return text;
}

const needsEscape = /[\\"\n]/;

export function escapeLabel(value: string): string {
  if (!needsEscape.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

export function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** Formats a sample's value or a bucket's bound, infinity as `+Inf`. */
export function numberText(value: number): string {
  return String(value).replace("Infinity", "Inf").replace(/^Inf/, "+Inf");
}
