/**
 * Makes Prometheus's file of rules of the alerts.
 *
 * @module
 */

import { type Alert, alerts, records } from "./alerts.ts";

// Where the installed documents are; an external label of Prometheus's says where people can open them.
const documents = "{{ with $externalLabels.docs }}{{ . }}{{ else }}/opt/lead-intake/docs{{ end }}";

const head = `# Made by scripts/build_monitoring.ts of scripts/monitoring/alerts.ts.
#
# page: leads are lost or late now. ticket: the next working day will do.
`;

/** The file: YAML, whose strings JSON's are. */
export function rulesFile(): string {
  const record = Object.entries(records).map(([name, expr]) =>
    [`      - record: ${name}`, `        expr: ${JSON.stringify(expr)}`].join("\n")
  );
  const rule = Object.entries<Alert>(alerts).map((
    [name, { severity, for: duration, expr, summary, description }],
  ) =>
    [
      `      - alert: ${name}`,
      "        expr: |",
      ...expr.split("\n").map((line) => `          ${line}`),
      `        for: ${duration}`,
      "        labels:",
      `          severity: ${severity}`,
      "        annotations:",
      `          summary: ${JSON.stringify(summary)}`,
      `          description: ${JSON.stringify(description)}`,
      `          runbook_url: ${JSON.stringify(`${documents}/runbook.md#${name.toLowerCase()}`)}`,
    ].join("\n")
  );
  return `${head}groups:
  - name: lead-intake-records
    rules:
${record.join("\n")}
  - name: lead-intake
    rules:
${rule.join("\n")}
`;
}
