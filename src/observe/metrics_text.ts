/** Prometheus's text format, version 0.0.4. */

/** Its media type. */
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

const special = /[\\"\n]/;

/** A label's value. */
export function escapeLabel(value: string): string {
  if (!special.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

/** A family's help. */
export function escapeHelp(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** A sample's value, or a bucket's bound. */
export function numberText(value: number): string {
  return String(value).replace("Infinity", "Inf").replace(/^Inf/, "+Inf");
}
