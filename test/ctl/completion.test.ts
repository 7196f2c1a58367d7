import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, test } from "node:test";
import { isSkipped } from "../../scripts/test_plan.ts";
import { inherited } from "../support/environment.ts";
import { ctl, runCtl } from "../support/server.ts";
import { openStore } from "../support/store.ts";

const { databaseUrl } = await openStore();
const on = { databaseUrl };

before(async () => {
  await ctl(["tenant", "add", "acme"], on);
  await ctl(["tenant", "add", "globex"], on);
});

const cases: readonly (readonly [string, readonly string[]])[] = [
  ["ten", ["tenant"]],
  ["d", ["dead", "doctor"]],
  ["key ", ["issue", "list", "revoke", "limit"]],
  ["--json key li", ["list", "limit"]],
  ["key issue --s", ["--surface"]],
  ["key issue acme --surface ", ["intake", "forms"]],
  ["key issue acme --label tenant --ca", ["--campaign"]],
  ["doctor --", ["--settings", "--backup-stamp", "--json", "--help"]],
  ["tenant set acme --digest ", ["off"]],
  ["cr", ["crm"]],
  ["crm ", ["list", "show"]],
  ["crm show p", ["pipedrive"]],
  ["crm show pipedrive ", []],
  ["tenant route acme --crm s", ["salesforce", "salesforce_web_to_lead", "servicetitan"]],
  ["tenant route acme --set owner=1 --crm n", ["none"]],
  ["tenant route acme --se", ["--set", "--secret"]],
  ["tenant route acme --test --d", ["--dry-run"]],
  ["completion ", ["bash", "zsh"]],
  ["nonsense ", []],
  ["tenant add ", []],
  ["tenant disable ", ["acme", "globex"]],
  ["form add g", ["globex"]],
  ["lead list --limit 5 --tenant a", ["acme"]],
];

test("completion offers commands, options, values and tenants, without a database all but tenants", async () => {
  const complete = async (line: string, where: Parameters<typeof runCtl>[1]) =>
    (await runCtl(["completion", "bash", "--", ...line.split(" ")], where)).stdout.trim();
  for (const [line, words] of cases) assert.equal(await complete(line, on), words.join("\n"), line);
  const nowhere = { databaseUrl: "postgres://127.0.0.1:1/nowhere" };
  assert.equal(await complete("ten", nowhere), "tenant");
  assert.equal(await complete("tenant disable ", nowhere), "");
});

for (const shell of ["bash", "zsh"]) {
  if (shell === "zsh" && isSkipped("test/ctl/completion: zsh")) continue;
  test(`the completion script completes in ${shell}`, async () => {
    const { stdout } = await runCtl(["completion", shell], on);
    const line = `COMP_WORDS=(ctl key re); COMP_CWORD=2; _ctl ctl re key; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const ran = spawnSync(shell, ["-c", `${stdout}\n${line}`], {
      encoding: "utf8",
      env: { ...inherited, DATABASE_URL: databaseUrl },
    });
    assert.deepEqual([ran.stdout, ran.stderr], ["revoke\n", ""]);
  });
}
