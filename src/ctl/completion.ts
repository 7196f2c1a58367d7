/** `ctl completion` */

import process from "node:process";
import { fileURLToPath } from "node:url";
import { listTenants } from "#src/store/operator/tenants.ts";
import { type Command, type Reply, WrongUsage } from "./command.ts";

const program = fileURLToPath(new URL("../../scripts/ctl.ts", import.meta.url));

/** Text that a shell takes as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** For bash, and for zsh with its functions for scripts of bash; files are completed where nothing is found. */
function script(shell: "bash" | "zsh"): string {
  const run = `${quoted(process.execPath)} ${quoted(program)}`;
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

/** What may stand in the place of the last word of a line. */
function candidates(commands: readonly Command[], line: readonly string[]): readonly string[] | "tenants" {
  const before = line.slice(0, -1);
  const names = before.filter((word) => !word.startsWith("-"));
  const command = commands.find(({ words }) => words === names[0] || words === names.slice(0, 2).join(" "));
  if (command === undefined) {
    const next = commands.map(({ words }) => words.split(" "))
      .filter((words) => names.every((name, index) => words[index] === name));
    return [...new Set(next.flatMap((words) => words[names.length] ?? []))];
  }
  const valueOf = (word = "") => word.startsWith("--") ? command.options?.[word.slice(2)]?.value : undefined;
  const option = before.at(-1) ?? "";
  const value = valueOf(option);
  if (value !== undefined) return option === "--tenant" ? "tenants" : listed(value);
  if (line.at(-1)?.startsWith("-")) {
    return [...Object.keys(command.options ?? {}), "json", "help"].map((name) => `--${name}`);
  }
  const values = before.filter((word, index) => !word.startsWith("-") && valueOf(before[index - 1]));
  const at = names.length - values.length - command.words.split(" ").length;
  const argument = command.positionals?.[at] ?? "";
  return isTenant(command, argument) ? "tenants" : listed(argument);
}

/** The words that an argument's name lists, such as `intake|forms`. */
function listed(name: string): string[] {
  return name.split("|").filter((word) => /^[a-z][a-z0-9-]*$/.test(word));
}

/** Whether an argument of this name is a tenant that there is. */
function isTenant(command: Command, argument: string): boolean {
  if (argument === "TENANT") return true;
  const takesOne = command.words.startsWith("tenant ") && command.words !== "tenant add";
  return argument === "SLUG" && (takesOne || command.words === "key issue");
}

/** The command, for a table of commands that it is part of. */
export function completionCommands(commands: () => readonly Command[]): readonly Command[] {
  const reply = (words: readonly string[], typed = ""): Reply => {
    const fitting = words.filter((word) => word.startsWith(typed));
    return { json: fitting, text: fitting.join("\n") };
  };
  return [{
    words: "completion",
    positionals: ["bash|zsh", "[WORD…]"],
    summary: "Print what lets a shell complete commands, options and tenants with the tab key",
    notes: `For this terminal:
  source <(npm run -s ctl -- completion bash)
For every one: put that line, with npm --prefix and the whole path of this folder, into ~/.bashrc or,
with zsh in place of bash, into ~/.zshrc. It defines a command ctl where there is none.
With words after -- it prints what may stand in the place of the last one.`,
    prepare: ({ positionals }) => async (pool) =>
      reply((await listTenants(pool)).map(({ slug }) => slug), positionals.at(-1)),
    prepareAlone({ first: shell, positionals }) {
      if (shell !== "bash" && shell !== "zsh") throw new WrongUsage(`SHELL must be bash or zsh: ${shell}`);
      const line = positionals.slice(1);
      if (line.length === 0) {
        return () => Promise.resolve({ json: { script: script(shell) }, text: script(shell) });
      }
      const found = candidates(commands(), line);
      return found === "tenants" ? null : () => Promise.resolve(reply(found, line.at(-1)));
    },
  }];
}
