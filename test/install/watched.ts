/** Tests what systemd does for an installed service: watchdog, restarts, limits, backups. Each test continues the one before. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { missingForContainers } from "../support/container/tree.ts";
import { domain, Installation } from "../support/install/installation.ts";
import { until } from "../support/until.ts";

const missing = missingForContainers();
const unit = "lead-intake@a.service";
const release = "/opt/lead-intake/current";
const dataFolder = "/var/lib/postgresql/15/main";
const perSecond = 25;

if (missing !== null) {
  test(`systemd is skipped without a container: ${missing}`, () => {});
} else {
  const site = await Installation.open();
  const { machine } = site;
  const tls = ["--tls-cert", "/mnt/cert.pem", "--tls-key", "/mnt/key.pem"];
  const key = /\blead_test_\w+/.exec(await site.install("--domain", domain, ...tls))?.[0] ?? "";

  /** Returns a unit's systemd property. */
  const property = async (name: string, of = unit) =>
    (await machine.shell(`systemctl show ${of} --property ${name} --value`)).trim();
  const failures = async () =>
    Number(await machine.shell("cat /run/lead-intake@a/failures 2>/dev/null | wc -l"));
  /** Returns the metrics. */
  const metrics = async () =>
    (await machine.run("/opt/lead-intake/current/runtime/node", [
      "-e",
      "fetch('http://127.0.0.1:9091/metrics').then((r) => r.text()).then(console.log)",
    ])).stdout;
  /** Adds a drop-in to a unit. */
  const dropIn = (of: string, text: string) =>
    machine.run("bash", [
      "-c",
      `mkdir -p /etc/systemd/system/${of}.d && cat > /etc/systemd/system/${of}.d/test.conf && systemctl daemon-reload`,
    ], text);
  const removeDropIn = (of: string) =>
    machine.shell(`rm /etc/systemd/system/${of}.d/test.conf && systemctl daemon-reload`);
  /** Waits for a new process that is ready. */
  const another = (pid: string) =>
    until(async () => {
      const now = await property("MainPID");
      return now !== "0" && now !== pid && await property("ActiveState") === "active";
    }, { what: "a new process is ready", deadlineMs: 180_000, intervalMs: 200 });
  // The service's own counts may lag behind the last lead.
  const outbox = "cd / && runuser -u postgres -- psql -qAt lead_intake -c 'select count(*) from outbox'";
  const delivered = () =>
    until(async () => await machine.shell(outbox) === "0\n", {
      what: "the outbox is empty",
      intervalMs: 500,
    });
  const untilStatus = (status: RegExp) =>
    until(async () => assert.match(await property("StatusText"), status) ?? true, { intervalMs: 500 });

  test("systemctl status shows whether the service accepts, and its counts", async () => {
    assert.equal((await site.post(key, "watched:lead:1")).status, 202);
    await delivered();
    await untilStatus(/^accepting; 0 pending, \d+ dead$/);
  });

  test("the watchdog kills and replaces a frozen process", async () => {
    await dropIn(unit, "[Service]\nWatchdogSec=5\n");
    await machine.shell(`systemctl restart ${unit}`);
    const pid = await property("MainPID");
    await machine.shell(`kill -STOP ${pid}`);
    await another(pid);
    const log = await machine.shell(`journalctl --unit ${unit} --output cat`);
    assert.match(log, /Watchdog timeout/);
    assert.match(await metrics(), /^lead_last_failure\{result="watchdog"\} 1$/m);
    assert.equal((await site.post(key, "watched:lead:1")).status, 200);
    await removeDropIn(unit);
  });

  test("each further failure doubles the delay of the next start, and a regular stop resets it", async () => {
    const before = await failures();
    assert.equal(before, 1);
    for (let failure = 1; failure <= 2; failure += 1) {
      const pid = await property("MainPID");
      await machine.shell(`systemctl kill --kill-whom main --signal KILL ${unit}`);
      await another(pid);
      assert.equal(await failures(), before + failure);
      // ExecStartPre= waits 2 s, then 4 s.
      const [began, main] = (await machine.shell(
        `systemctl show ${unit} --property InactiveExitTimestampMonotonic --property ExecMainStartTimestampMonotonic --value`,
      )).trim().split("\n").map(Number).sort((one, other) => one - other) as [number, number];
      assert.ok(main - began >= 2 ** failure * 1e6, `${main - began} µs after failure ${failure + 1}`);
    }
    await machine.shell(`systemctl restart ${unit}`);
    assert.equal(await failures(), 0);
  });

  test("invalid settings exit 2 without another start", async () => {
    const file = "/etc/lead-intake/intake.env";
    await machine.shell(`cp ${file} ${file}.saved; echo INTAKE_LISTN=x >> ${file}
      ! systemctl restart ${unit}`);
    assert.deepEqual([await property("ExecMainStatus"), await property("ActiveState")], ["2", "failed"]);
    assert.equal(await property("NRestarts"), "0");
    await machine.shell(`mv ${file}.saved ${file}
      systemctl reset-failed ${unit}; systemctl start ${unit}`);
  });

  test("a systemd socket on port 80 of a public address is refused", async () => {
    // Stopping the target does not wait for its parts.
    await machine.shell(
      "systemctl stop lead-intake.target 'lead-*.socket' lead-sockets.service lead-{intake,public,actions}@a.service",
    );
    await dropIn("lead-intake.socket", "[Socket]\nListenStream=\nListenStream=0.0.0.0:80\n");
    await machine.shell(`systemctl start lead-intake.socket && ! systemctl start ${unit}`);
    assert.deepEqual([await property("ExecMainStatus"), await property("NRestarts")], ["2", "0"]);
    const log = await machine.shell(`journalctl --unit ${unit} --output cat --lines 10`);
    assert.match(log, /INTAKE_LISTEN is port 80 of a public address/);
    await machine.shell("systemctl stop 'lead-*.socket'; systemctl reset-failed");
    await removeDropIn("lead-intake.socket");
    await machine.shell("systemctl start lead-intake.target");
  });

  test("the service starts with an encrypted credential", async () => {
    await machine.shell(
      `systemd-creds setup && mkdir -m 700 /etc/lead-intake/encrypted && cd /etc/lead-intake &&
      systemd-creds encrypt --name=lead_DATABASE_URL credentials/intake/DATABASE_URL encrypted/lead_DATABASE_URL`,
    );
    const encrypted =
      "LoadCredentialEncrypted=lead_DATABASE_URL:/etc/lead-intake/encrypted/lead_DATABASE_URL";
    await dropIn(unit, `[Service]\nLoadCredential=\n${encrypted}\n`);
    await machine.shell(`systemctl restart ${unit}`);
    assert.equal(await machine.shell(`ls /run/credentials/${unit}`), "lead_DATABASE_URL\n");
    assert.equal((await site.post(key, "watched:lead:1")).status, 200);
    await removeDropIn(unit);
  });

  for (const runtime of ["Node", "Deno"]) {
    test(`on ${runtime} the service stays within MemoryMax under load and delivers over mutual TLS`, async (t) => {
      if (runtime === "Deno") await site.toDeno();
      else await site.liftLimits();
      await machine.shell("systemctl restart lead-intake.target");
      const before = await site.events();
      const restarts = await property("NRestarts");
      const counts = await site.underLoad(key, perSecond, () => machine.shell("sleep 15"));
      assert.deepEqual(counts.outcomes, { 202: counts.sent });
      assert.equal(await site.events(), before + counts.sent);
      await delivered();
      await untilStatus(/; 0 pending, 0 dead$/);
      assert.equal(await property("NRestarts"), restarts);
      // A nested container may lack memory.peak.
      const process = `/proc/${await property("MainPID")}`;
      const peak = 1024 *
        Number(await machine.shell(`sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p' ${process}/status`));
      t.diagnostic(`${runtime}: ${counts.sent} leads, ${Math.round(peak / 1048576)} MiB at most`);
      assert.ok(peak > 0 && peak < Number(await property("MemoryMax")));
      const program = await machine.shell(`readlink ${process}/exe`);
      assert.match(program, new RegExp(`/${runtime.toLowerCase()}\n$`));
    });
  }

  test("ctl doctor sees the unit's backup, and the audit is exported", async () => {
    await site.setUpBackup();
    await machine.shell("systemctl start lead-backup@full.service lead-audit.service lead-verify.service");
    const audit = await machine.shell("cat /var/lib/lead-audit/audit.jsonl");
    assert.match(audit, /"key_issue|issue/);
    const doctor = await machine.shell("lead-ctl doctor");
    assert.match(doctor, /^ok +Backup +the last backup is 0 h old$/m);
    assert.match(doctor, /^ok +Backup +the last archived WAL file is 0 h old$/m);
    const text = await metrics();
    for (const what of ["backup", "check"]) {
      assert.match(text, new RegExp(`^lead_backup_timestamp_seconds\\{what="${what}"\\} \\d`, "m"));
    }
  });

  test("restore.sh restores a lost database, and the service accepts and delivers leads again", async () => {
    assert.equal((await site.post(key, "watched:lead:2")).status, 202);
    await delivered();
    await machine.shell("cd / && runuser -u postgres -- psql -qc 'select pg_switch_wal()' && sync");
    await until(() =>
      machine.shell(
        "cd / && runuser -u postgres -- psql -qAtc \"select count(*) from pg_ls_dir('pg_wal/archive_status') as f where f like '%.ready'\"",
      ).then((count) => count === "0\n"), { what: "the log is archived" });
    await machine.shell(`systemctl stop postgresql@15-main && rm -rf ${dataFolder}`);
    const output = await machine.shell(`cd ${release} && scripts/restore.sh --latest --yes 2>&1`);
    assert.match(output, /^Restored\. Now:$/m);
    assert.match(output, /^No event can be delivered twice\.$/m);
    await until(async () => (await site.post(key, "watched:lead:2")).status === 200, { intervalMs: 500 });
    assert.equal((await site.post(key, "watched:lead:3")).status, 202);
    await delivered();
    await untilStatus(/^accepting; 0 pending, 0 dead$/);
  });

  test("a damaged backup fails lead-verify, which is logged in the journal", async () => {
    await machine.shell(
      `f=$(find /var/lib/pgbackrest/backup -path '*/bundle/1' | head -n 1)
      printf damaged | dd of=$f bs=1 seek=1000 conv=notrunc status=none; ! systemctl start lead-verify.service`,
    );
    await until(async () =>
      /lead-verify\.service has failed/.test(
        await machine.shell("journalctl --identifier lead-failed --output cat"),
      ), { what: "the failure is logged" });
  });
}
