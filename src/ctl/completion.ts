/** Defines `ctl completion`. */

import process from "node:process";
import { fileURLToPath } from "node:url";
import { listTenants } from "#src/store/operator/tenants.ts";
import type { Command, Reply } from "./command.ts";
import { parseChoice } from "./values.ts";

const program = fileURLToPath(new URL("../../scripts/ctl.ts", import.meta.url));

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the script for bash, or for zsh through bashcompinit; without a candidate, the shell completes file names. */
function script(shell: "bash" | "zsh"): string {
  const run = `${shellQuote(process.execPath)} ${shellQuote(program)}`;
  return `type ctl > /dev/null 2>&1 || ctl() { ${run} "$@"; }
_ctl() {
  local IFS=$'\\n'
  COMPREPLY=($(${run} completion ${shell} -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2> /dev/null))
}
${
    shell === "zsh"
      ? "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
      : ""
  }complete -o default -F _ctl ctl`;
}

/** Returns the candidates for the last word in a command line; `"tenants"` stands for all tenants' slugs. */
function candidates(commands: readonly Command[], line: readonly string[]): readonly string[] | "tenants" {
  const before = line.slice(0, -1);
  const names = before.filter((word) => !word.startsWith("-"));
  const command = commands.find(({ words }) => words === names[0] || words === names.slice(0, 2).join(" "));
  if (command === undefined) {
    const next = commands.map(({ words }) => words.split(" "))
      .filter((words) => names.every((name, index) => words[index] === name));
    return [...new Set(next.flatMap((words) => words[names.length] ?? []))];
  }
  const placeholderOf = (word = "") =>
    word.startsWith("--") ? command.options?.[word.slice(2)]?.value : undefined;
  const option = before.at(-1) ?? "";
  const value = placeholderOf(option);
  if (value !== undefined) {
    const { completions = [] } = command.options?.[option.slice(2)] ?? {};
    return option === "--tenant" ? "tenants" : [...completions, ...alternatives(value)];
  }
  if (line.at(-1)?.startsWith("-")) {
    return [...Object.keys(command.options ?? {}), "json", "help"].map((name) => `--${name}`);
  }
  const values = before.filter((word, index) => !word.startsWith("-") && placeholderOf(before[index - 1]));
  const position = names.length - values.length - command.words.split(" ").length;
  const placeholder = command.positionals?.[position] ?? "";
  if (position === 0 && command.completions !== undefined) return command.completions;
  return expectsTenant(command, placeholder) ? "tenants" : alternatives(placeholder);
}

/** Returns the literal alternatives in a placeholder such as `intake|forms`. */
function alternatives(name: string): string[] {
  return name.split("|").filter((word) => /^[a-z][a-z0-9_-]*$/.test(word));
}

/** Whether a positional argument is the slug of an existing tenant. */
function expectsTenant(command: Command, placeholder: string): boolean {
  if (placeholder === "TENANT") return true;
  const isTenantCommand = command.words.startsWith("tenant ") && command.words !== "tenant add";
  return placeholder === "SLUG" && (isTenantCommand || command.words === "key issue");
}

/** The `ctl completion` command; `commands` returns all commands, including this one. */
export function completionCommands(commands: () => readonly Command[]): readonly Command[] {
  const reply = (words: readonly string[], typed = ""): Reply => {
    const matches = words.filter((word) => word.startsWith(typed));
    return { json: matches, text: matches.join("\n") };
  };
  return [{
    words: "completion",
    positionals: ["bash|zsh", "[WORD…]"],
    summary: "Print a script that lets a shell complete commands, options and tenants",
    notes: `For this terminal:
  source <(npm run -s ctl -- completion bash)
For every terminal, add this line to ~/.bashrc (for zsh, to ~/.zshrc, with zsh instead of bash):
  source <(npm --prefix /path/of/this/folder run -s ctl -- completion bash)
The script defines a command ctl if there is none.
With words after --, the command prints the possible completions of the last word.`,
    prepare: ({ positionals }) => async (pool) =>
      reply((await listTenants(pool)).map(({ slug }) => slug), positionals.at(-1)),
    prepareWithoutStore({ first, positionals }) {
      const shell = parseChoice(first, "The shell", ["bash", "zsh"]);
      const line = positionals.slice(1);
      if (line.length === 0) {
        return () => Promise.resolve({ json: { script: script(shell) }, text: script(shell) });
      }
      const completions = candidates(commands(), line);
      return completions === "tenants" ? null : () => Promise.resolve(reply(completions, line.at(-1)));
    },
  }];
}
