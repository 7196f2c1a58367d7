import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folder.ts";

const folder = fileURLToPath(new URL("../../scripts/systemd/", import.meta.url));
/** What every service shares. */
const sandbox = "lead-.service.d";
const units = readdirSync(folder).filter((name) => /\.(service|socket|target|timer)$/.test(name)).sort();
const services = units.filter((name) => name.endsWith(".service"));
const text = (name: string) => readFileSync(folder + name, "utf8");

/** The values of a unit's settings by name; a name may come several times. */
function settingsOf(name: string): Map<string, string[]> {
  const settings = new Map<string, string[]>();
  for (const [, key = "", value = ""] of text(name).matchAll(/^(\w+)=(.*)$/gm)) {
    settings.set(key, [...(settings.get(key) ?? []), value]);
  }
  return settings;
}

/** The units as they are, but with programs that this machine has. */
function copies(): string {
  const copied = temporaryFolder();
  for (const name of units) {
    writeFileSync(
      join(copied, name),
      text(name).replace(/^(Exec\w+=[-+!@:]*)\/\S+/gm, `$1${process.execPath}`),
    );
  }
  cpSync(join(folder, sandbox), join(copied, sandbox), { recursive: true });
  return copied;
}

/** What systemd-analyze says; nothing when it has nothing to say. */
function analyze(...args: readonly string[]): { readonly status: number | null; readonly told: string } {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  return { status, told: stdout + stderr };
}

test("systemd finds nothing wrong with the units", () => {
  const copied = copies();
  const verified = analyze("verify", "--man=no", ...units.map((name) => join(copied, name)));
  assert.deepEqual(verified, { status: 0, told: "" });
});

test("every service exposes 1.5 at most", () => {
  const copied = copies();
  for (const name of services) {
    const { told } = analyze("security", "--offline=true", "--no-pager", join(copied, name));
    const [, exposure] = /Overall exposure level .*: (\d+\.\d)/.exec(told) ?? [];
    assert.ok(Number(exposure) <= 1.5, `${name}: ${exposure ?? told}`);
  }
});

test("each service has the sockets that its listeners name, and a descriptor's name is one socket's in each", () => {
  for (const name of services) {
    const settings = settingsOf(name);
    const sockets = (settings.get("Sockets") ?? []).flatMap((value) => value.replace("%i", "b").split(" "));
    const handed = sockets.map((socket) => settingsOf(socket).get("FileDescriptorName")?.[0]).sort();
    const named = (settings.get("Environment") ?? []).join(" ").matchAll(/_LISTEN=fd:(\w+)/g);
    assert.deepEqual([...named].map(([, socket]) => socket).sort(), handed, name);
  }
});

test("a connection starts no process: the processes share the sockets, and each has one for its figures alone", () => {
  for (const name of units.filter((unit) => unit.endsWith(".socket"))) {
    const [, service, instance] = /^(lead-\w+)-ops@(\w)\.socket$/.exec(name) ?? [];
    const expected = service === undefined ? "lead-sockets.service" : `${service}@${instance}.service`;
    assert.deepEqual(settingsOf(name).get("Service"), [expected], name);
  }
});

test("the pause before a start grows with the failures, however the unit is started, and not after newer settings", () => {
  const run = temporaryFolder();
  const [settings, failures] = [join(run, "intake.env"), join(run, "failures")];
  writeFileSync(settings, "");
  utimesSync(settings, 0, 0);
  // Says how long it was to sleep.
  writeFileSync(join(run, "sleep"), "#!/bin/sh\necho $1\n", { mode: 0o755 });
  let code = "exited";
  const backoff = (result: string, ...args: readonly string[]) => {
    const { status, stdout } = spawnSync("/bin/sh", [`${folder}backoff.sh`, ...args], {
      encoding: "utf8",
      env: { PATH: `${run}:/usr/bin:/bin`, RUNTIME_DIRECTORY: run, SERVICE_RESULT: result, EXIT_CODE: code },
    });
    assert.equal(status, 0);
    return stdout.trim();
  };
  const pauses = Array.from({ length: 7 }, () => {
    const pause = backoff("", "wait", settings);
    backoff("exit-code", "note");
    return pause;
  });
  assert.deepEqual(pauses, ["", "1", "2", "4", "8", "16", "30"]);
  assert.equal(backoff("", "wait", settings), "30");
  utimesSync(settings, new Date(), new Date(statSync(failures).mtimeMs + 2_000));
  assert.equal(backoff("", "wait", settings), "");
  code = "";
  backoff("signal", "note");
  assert.equal(backoff("", "wait", settings), "", "it was stopped during the pause, and is started again");
  code = "exited";
  backoff("exit-code", "note");
  utimesSync(settings, 0, 0);
  assert.equal(backoff("", "wait", settings), "30", "the mended settings were wrong too");
  backoff("success", "note");
  assert.equal(backoff("", "wait", settings), "");
  for (const name of services.filter((unit) => settingsOf(unit).has("RuntimeDirectory"))) {
    const kept = settingsOf(name);
    assert.deepEqual(kept.get("RuntimeDirectoryPreserve"), ["yes"], name);
    const [file] = kept.get("EnvironmentFile") ?? [];
    assert.deepEqual(kept.get("ExecStartPre"), [`/bin/sh scripts/systemd/backoff.sh wait ${file}`], name);
  }
});
