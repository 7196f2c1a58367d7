/**
 * What systemd does for an installed service, on a machine of its own: it watches, restarts, bounds and backs up, and a
 * database that is gone comes back. Each test goes on where the one before it ends.
 */

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
  test(`systemd is not tried, for want of a container: ${missing}`, () => {});
} else {
  const site = await Installation.open();
  const { machine } = site;
  const tls = ["--tls-cert", "/mnt/cert.pem", "--tls-key", "/mnt/key.pem"];
  const key = /\blead_test_\w+/.exec(await site.install("--domain", domain, ...tls))?.[0] ?? "";

  /** A property of the service as systemd has it. */
  const property = async (name: string, of = unit) =>
    (await machine.shell(`systemctl show ${of} --property ${name} --value`)).trim();
  const failures = async () =>
    Number(await machine.shell("cat /run/lead-intake@a/failures 2>/dev/null | wc -l"));
  /** What Prometheus is told. */
  const figures = async () =>
    (await machine.run("/opt/lead-intake/current/runtime/node", [
      ...["-e", "fetch('http://127.0.0.1:9091/metrics').then((r) => r.text()).then(console.log)"],
    ])).stdout;
  /** A file of settings beside the unit's own, until the machine ends or it is taken away. */
  const dropIn = (of: string, text: string) =>
    machine.run("bash", [
      "-c",
      `mkdir -p /etc/systemd/system/${of}.d && cat > /etc/systemd/system/${of}.d/test.conf && systemctl daemon-reload`,
    ], text);
  const takeAway = (of: string) =>
    machine.shell(`rm /etc/systemd/system/${of}.d/test.conf && systemctl daemon-reload`);
  /** Waits for another process that is ready. */
  const another = (pid: string) =>
    until(async () => {
      const now = await property("MainPID");
      return now !== "0" && now !== pid && await property("ActiveState") === "active";
    }, { what: "another process that is ready", deadlineMs: 180_000, intervalMs: 200 });
  // What the service tells of itself is a moment old: it may not know of the last lead yet.
  const outbox = "cd / && runuser -u postgres -- psql -qAt lead_intake -c 'select count(*) from outbox'";
  const delivered = () =>
    until(async () => await machine.shell(outbox) === "0\n", {
      what: "nothing waits to be delivered",
      intervalMs: 500,
    });
  const tells = (status: RegExp) =>
    until(async () => assert.match(await property("StatusText"), status) ?? true, { intervalMs: 500 });

  test("systemctl status says how the service is", async () => {
    assert.equal((await site.post(key, "watched:lead:1")).status, 202);
    await delivered();
    await tells(/^accepting; 0 pending, \d+ dead$/);
  });

  test("a process that stands still is killed by the watchdog, and another takes its place", async () => {
    await dropIn(unit, "[Service]\nWatchdogSec=5\n");
    await machine.shell(`systemctl restart ${unit}`);
    const pid = await property("MainPID");
    await machine.shell(`kill -STOP ${pid}`);
    await another(pid);
    const log = await machine.shell(`journalctl --unit ${unit} --output cat`);
    assert.match(log, /Watchdog timeout/);
    assert.match(await figures(), /^lead_last_failure\{result="watchdog"\} 1$/m);
    assert.equal((await site.post(key, "watched:lead:1")).status, 200);
    await takeAway(unit);
  });

  test("each failure in a row has the next start wait longer, and a stop in good order forgets them", async () => {
    const before = await failures();
    assert.equal(before, 1);
    for (let failure = 1; failure <= 2; failure += 1) {
      const pid = await property("MainPID");
      await machine.shell(`systemctl kill --kill-whom main --signal KILL ${unit}`);
      await another(pid);
      assert.equal(await failures(), before + failure);
      // The pause is before the process, in ExecStartPre=: 2 s, then 4 s.
      const [began, main] = (await machine.shell(
        `systemctl show ${unit} --property InactiveExitTimestampMonotonic --property ExecMainStartTimestampMonotonic --value`,
      )).trim().split("\n").map(Number).sort((one, other) => one - other) as [number, number];
      assert.ok(main - began >= 2 ** failure * 1e6, `${main - began} µs after failure ${failure + 1}`);
    }
    await machine.shell(`systemctl restart ${unit}`);
    assert.equal(await failures(), 0);
  });

  test("wrong settings end the start with exit code 2, and no other start is tried", async () => {
    const file = "/etc/lead-intake/intake.env";
    await machine.shell(`cp ${file} ${file}.kept; echo INTAKE_LISTN=x >> ${file}
      ! systemctl restart ${unit}`);
    assert.deepEqual([await property("ExecMainStatus"), await property("ActiveState")], ["2", "failed"]);
    assert.equal(await property("NRestarts"), "0");
    await machine.shell(`mv ${file}.kept ${file}
      systemctl reset-failed ${unit}; systemctl start ${unit}`);
  });

  test("a socket of systemd's at port 80 of every address is refused as the setting is", async () => {
    // A stop of the target alone does not wait for its parts.
    await machine.shell(
      "systemctl stop lead-intake.target 'lead-*.socket' lead-sockets.service lead-{intake,public,actions}@a.service",
    );
    await dropIn("lead-intake.socket", "[Socket]\nListenStream=\nListenStream=0.0.0.0:80\n");
    await machine.shell(`systemctl start lead-intake.socket && ! systemctl start ${unit}`);
    assert.deepEqual([await property("ExecMainStatus"), await property("NRestarts")], ["2", "0"]);
    const log = await machine.shell(`journalctl --unit ${unit} --output cat --lines 10`);
    assert.match(log, /INTAKE_LISTEN is port 80 of a public address/);
    await machine.shell("systemctl stop 'lead-*.socket'; systemctl reset-failed");
    await takeAway("lead-intake.socket");
    await machine.shell("systemctl start lead-intake.target");
  });

  test("an encrypted credential is enough for the service", async () => {
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
    await takeAway(unit);
  });

  for (const runtime of ["Node", "Deno"]) {
    test(`on ${runtime} the service stays within its memory under load, and delivers over mutual TLS`, async (t) => {
      if (runtime === "Deno") await site.toDeno();
      else await site.liftLimits();
      await machine.shell("systemctl restart lead-intake.target");
      const before = await site.events();
      const restarts = await property("NRestarts");
      const counts = await site.underLoad(key, perSecond, () => machine.shell("sleep 15"));
      assert.deepEqual(counts.outcomes, { 202: counts.sent });
      assert.equal(await site.events(), before + counts.sent);
      await delivered();
      await tells(/; 0 pending, 0 dead$/);
      assert.equal(await property("NRestarts"), restarts);
      // A container within a container may have no memory.peak.
      const process = `/proc/${await property("MainPID")}`;
      const peak = 1024 *
        Number(await machine.shell(`sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p' ${process}/status`));
      t.diagnostic(`${runtime}: ${counts.sent} leads, ${Math.round(peak / 1048576)} MiB at most`);
      assert.ok(peak > 0 && peak < Number(await property("MemoryMax")));
      const program = await machine.shell(`readlink ${process}/exe`);
      assert.match(program, new RegExp(`/${runtime.toLowerCase()}\n$`));
    });
  }

  test("a backup by its unit is seen by the doctor, and the audit is copied", async () => {
    await site.setUpBackup();
    await machine.shell("systemctl start lead-backup@full.service lead-audit.service lead-verify.service");
    const audit = await machine.shell("cat /var/lib/lead-audit/audit.jsonl");
    assert.match(audit, /"key_issue|issue/);
    const doctor = await machine.shell("lead-ctl doctor");
    assert.match(doctor, /^ok +Backup +the last backup is 0 h old$/m);
    assert.match(doctor, /^ok +Backup +the last archived log is 0 h old$/m);
    const told = await figures();
    for (const what of ["backup", "check"]) {
      assert.match(told, new RegExp(`^lead_backup_timestamp_seconds\\{what="${what}"\\} \\d`, "m"));
    }
  });

  test("a database that is gone is restored by restore.sh, and the service takes and delivers leads again", async () => {
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
    assert.match(output, /^No event may be repeated\.$/m);
    await until(async () => (await site.post(key, "watched:lead:2")).status === 200, { intervalMs: 500 });
    assert.equal((await site.post(key, "watched:lead:3")).status, 202);
    await delivered();
    await tells(/^accepting; 0 pending, 0 dead$/);
  });

  test("a damaged backup fails the check of all backups, which says so in the journal", async () => {
    await machine.shell(
      `f=$(find /var/lib/pgbackrest/backup -path '*/bundle/1' | head -n 1)
      printf damaged | dd of=$f bs=1 seek=1000 conv=notrunc status=none; ! systemctl start lead-verify.service`,
    );
    await until(async () =>
      /lead-verify\.service has failed/.test(
        await machine.shell("journalctl --identifier lead-failed --output cat"),
      ), { what: "the word of the failure" });
  });
}
