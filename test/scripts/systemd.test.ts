import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/folder.ts";

const folder = fileURLToPath(new URL("../../scripts/systemd/", import.meta.url));
/** The settings that all services share. */
const sandbox = "lead-.service.d";
const units = readdirSync(folder).filter((name) => /\.(service|socket|target|timer)$/.test(name)).sort();
const services = units.filter((name) => name.endsWith(".service"));
const text = (name: string) => readFileSync(folder + name, "utf8");

/** Returns the values of a unit's settings by name; a name may have several. */
function settingsOf(name: string): Map<string, string[]> {
  const settings = new Map<string, string[]>();
  for (const [, key = "", value = ""] of text(name).matchAll(/^(\w+)=(.*)$/gm)) {
    settings.set(key, [...(settings.get(key) ?? []), value]);
  }
  return settings;
}

/** Copies the units, with programs that exist on this machine. */
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

/** Returns the output of systemd-analyze. */
function analyze(...args: readonly string[]): { readonly status: number | null; readonly told: string } {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  return { status, told: stdout + stderr };
}

test("systemd-analyze accepts the units", () => {
  const copied = copies();
  const verified = analyze("verify", "--man=no", ...units.map((name) => join(copied, name)));
  assert.deepEqual(verified, { status: 0, told: "" });
});

test("every service has an exposure of at most 1.5", () => {
  const copied = copies();
  for (const name of services) {
    const { told } = analyze("security", "--offline=true", "--no-pager", join(copied, name));
    const [, exposure] = /Overall exposure level .*: (\d+\.\d)/.exec(told) ?? [];
    assert.ok(Number(exposure) <= 1.5, `${name}: ${exposure ?? told}`);
  }
});

test("each service has the sockets of its listeners, and descriptor names are unique", () => {
  for (const name of services) {
    const settings = settingsOf(name);
    const sockets = (settings.get("Sockets") ?? []).flatMap((value) => value.replace("%i", "b").split(" "));
    const handed = sockets.map((socket) => settingsOf(socket).get("FileDescriptorName")?.[0]).sort();
    const named = (settings.get("Environment") ?? []).join(" ").matchAll(/_LISTEN=fd:(\w+)/g);
    assert.deepEqual([...named].map(([, socket]) => socket).sort(), handed, name);
  }
});

test("no socket starts a process; processes share the sockets, and each has its own ops socket", () => {
  for (const name of units.filter((unit) => unit.endsWith(".socket"))) {
    const [, service, instance] = /^(lead-\w+)-ops@(\w)\.socket$/.exec(name) ?? [];
    const expected = service === undefined ? "lead-sockets.service" : `${service}@${instance}.service`;
    assert.deepEqual(settingsOf(name).get("Service"), [expected], name);
  }
});
