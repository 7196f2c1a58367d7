/** Installs, upgrades, breaks, removes and reinstalls the service on a machine. Each test continues the one before. */

import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { missingForContainers } from "../support/container/tree.ts";
import { domain, Installation } from "../support/install/installation.ts";
import { until } from "../support/until.ts";

const missing = missingForContainers();
// A rate that two busy processors sustain with PostgreSQL, two releases and the client.
const perSecond = Number(process.env.LEADS_PER_SECOND ?? 25);

if (missing !== null) {
  test(`the installation is skipped without a container: ${missing}`, () => {});
} else {
  const site = await Installation.open();
  const { machine, version } = site;
  const options = ["--domain", domain, "--tls-cert", "/mnt/cert.pem", "--tls-key", "/mnt/key.pem"];
  const shown = /\blead_test_\w+/;
  let key = "";
  let eventsBefore = 0;
  /** Returns the checksums of all files that an installation writes. */
  const files = () =>
    machine.shell(
      "find /etc/lead-intake /etc/systemd/system /opt/lead-intake -type f | sort | xargs -d '\\n' md5sum",
    );
  /** Returns the metrics. */
  const metrics = () =>
    machine.shell(
      `node -e 'fetch("http://127.0.0.1:9091/metrics").then((answer) => answer.text()).then(console.log)'`,
    );
  const runs = async () => /running: (\S+)/.exec(await machine.shell("lead-upgrade --list"))?.[1];

  test("install.sh refuses invalid options with one sentence and writes nothing", async () => {
    const refusals: readonly (readonly [RegExp, readonly string[]])[] = [
      [/^--tls-cert needs --tls-key\.$/, ["--tls-cert", "/mnt/cert.pem"]],
      [/^A public name needs a certificate/, ["--domain", domain]],
      [/^\/mnt\/cert\.pem is not for other\.example\.com\.$/, [
        "--domain",
        "other.example.com",
        ...options.slice(2),
      ]],
      [/^\/etc\/ssl\/openssl\.cnf is not a PEM certificate/, [
        "--tls-cert",
        "/etc/ssl/openssl.cnf",
        "--tls-key",
        "/mnt/key.pem",
      ]],
      [/^Every user of this machine can see a password on the command line/, [
        "--database-url",
        "postgres://a:b@c/d",
      ]],
      [/^PostgreSQL cannot be reached \(ECONNREFUSED\)$/, ["--database-url", "postgres://a@127.0.0.1:1/d"]],
      [/^Unknown option: --fast\./, ["--fast"]],
    ];
    for (const [sentence, given] of refusals) {
      const { code, stderr } = await machine.run(`/srv/lead-intake-${version}/scripts/install.sh`, given);
      assert.deepEqual([code, stderr.trim().split("\n").length], [2, 1], stderr);
      assert.match(stderr.trim(), sentence);
    }
    assert.equal(
      await machine.shell(
        "ls -d /etc/lead-intake /opt/lead-intake 2>/dev/null; id -un lead-intake 2>&1 | grep -c no",
      ),
      "1\n",
    );
  });

  test("install.sh makes a fresh Debian with PostgreSQL accept a lead", async () => {
    const output = await site.install(...options);
    key = shown.exec(output)?.[0] ?? "";
    const answer = await site.post(key, "install:lead:1");
    assert.equal(answer.status, 202);
    const lead = await site.ctl(`lead show ${answer.event_id}`);
    assert.equal(lead.event_id, answer.event_id);
    assert.doesNotMatch(output, /FAILURE/);
  });

  test("an operator sets a CRM route on the machine, looks at its requests, and sees why a sample lead fails", async () => {
    const url = "https://hooks.invalid/7f3a9c";
    await machine.shell("lead-ctl tenant add customer");
    await machine.shell(`printf ${url} | lead-ctl tenant route customer --crm webhook_json --secret url=-`);
    const { requests, faults } = await site.ctl("tenant route customer --test --dry-run");
    assert.deepEqual([requests[0].method, requests[0].url, requests[0].body.country, faults], [
      "POST",
      "https://hooks.invalid/***",
      "US",
      [],
    ]);
    const { code, stdout, stderr } = await machine.run("lead-ctl", ["tenant", "route", "customer", "--test"]);
    assert.deepEqual([code, stderr], [1, ""]);
    assert.match(stdout, /^CRM webhook_json +failed: dns_failed /m);
    assert.doesNotMatch(stdout, /7f3a9c/);
  });

  test("the metrics include the free space of the database's disk", async () => {
    await until(async () => /^lead_database_disk_available_bytes [1-9]/m.test(await metrics()));
  });

  test("passwords are only in files of root, not in logs", async () => {
    const modes = await machine.shell(
      "stat -c '%a %U' /etc/lead-intake/{intake.env,owner_database_url,credentials/intake/DATABASE_URL}; cd /etc/lead-intake/credentials; cmp intake/FORMS_LINK_SECRET actions/FORMS_LINK_SECRET",
    );
    assert.equal(modes, "600 root\n".repeat(3));
    const found = await machine.shell(`
      for password in $(grep -rhoP '(?<=:)[0-9a-f]{48}(?=@)' /etc/lead-intake); do
        journalctl --no-pager | grep -c "$password" || true
        grep -rl "$password" /var/log || true
      done`);
    assert.equal(found, "0\n".repeat(3));
  });

  test("a second run changes nothing and issues no second key", async () => {
    await machine.shell(
      "sed -i 's/^FORMS_URL=.*/FORMS_URL=https:\\/\\/forms.example.com/' /etc/lead-intake/intake.env",
    );
    const before = await files();
    const output = await site.install(...options);
    assert.match(output, /^\S+ still has FORMS_URL=https:\/\/forms\.example\.com; /m);
    assert.doesNotMatch(output, shown);
    assert.equal(await files(), before);
    assert.equal((await site.ctl("key list")).length, 1);
  });

  test("a second machine on the same PostgreSQL is refused without the first one's passwords", async () => {
    const before = await files();
    // A second machine sees the same PostgreSQL and none of these files.
    const asAnother =
      'mount -t tmpfs tmpfs /etc/lead-intake && mount -t tmpfs tmpfs /opt/lead-intake && exec "$@"';
    const { code, stderr } = await machine.run("unshare", [
      "--mount",
      "sh",
      "-c",
      asAnother,
      "sh",
      `/srv/lead-intake-${version}/scripts/install.sh`,
      ...options,
    ]);
    assert.equal(code, 2, stderr);
    assert.match(
      stderr,
      /^This PostgreSQL server already has the roles actions_login, intake_login, lead_owner, .*\.\n$/,
    );
    assert.equal(await files(), before);
    await machine.shell("systemctl restart 'lead-intake@*' 'lead-actions@*'");
    assert.equal((await site.post(key, "install:lead:1")).status, 200);
  });

  test("the CA is kept, and without its key the installation is refused", async () => {
    const folder = "/etc/lead-intake/actions-tls";
    await machine.shell(`mv ${folder}/authority /srv/ && rm ${folder}/client.pem`);
    const script = `/srv/lead-intake-${version}/scripts/install.sh`;
    const { code, stderr } = await machine.run(script, options);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /lacks a certificate .*: lead-ctl certificates \S+ --renew --ca-key FILE\./);
    await machine.shell(
      `lead-ctl certificates ${folder} --renew --ca-key /srv/authority/ca.key && mv /srv/authority ${folder}/`,
    );
    const before = await machine.shell(`md5sum ${folder}/ca.pem ${folder}/authority/ca.key`);
    await machine.shell(`rm ${folder}/server.key`);
    await site.install(...options);
    assert.equal(await machine.shell(`md5sum ${folder}/ca.pem ${folder}/authority/ca.key`), before);
  });

  test("an interrupted run is completed by the next one", async () => {
    await machine.shell(
      `systemctl stop lead-intake.target; rm /opt/lead-intake/current /etc/lead-intake/actions-tls/client.pem
      rm /etc/systemd/system/lead-public@.service
      cd / && runuser -u postgres -- psql -qc "alter role intake_login password 'another'"`,
    );
    const output = await site.install(...options);
    assert.match(output, /^Set the password of the role intake_login to the one in its database URL$/m);
    assert.equal((await site.post(key, "install:lead:1")).status, 200);
  });

  test("an upgrade and a downgrade under load fail no request", async (t) => {
    await site.liftLimits();
    const folder = await site.derive("99.0.1");
    for (const [release, runsThen] of [[folder, "99.0.1"], [version, version]]) {
      const before = await site.events();
      const counts = await site.underLoad(key, perSecond, () => machine.shell(`lead-upgrade ${release}`));
      t.diagnostic(`to ${runsThen}, ${perSecond} per second: ${JSON.stringify(counts)}`);
      assert.deepEqual(counts.outcomes, { 202: counts.sent });
      assert.equal(await site.events(), before + counts.sent);
      assert.equal(await runs(), runsThen);
    }
  });

  for (
    const [name, change] of Object.entries({
      "exits at its start": "echo 'process.exit(1);' > build/programs/service.js",
      "never becomes ready": "echo 'setInterval(() => {}, 1000);' > build/programs/service.js",
      "waits for its database forever": `echo 'const { spawnSync } = await import("node:child_process");
          setInterval(() => spawnSync("systemd-notify", ["EXTEND_TIMEOUT_USEC=60000000"]), 1000);' > build/programs/service.js`,
      "has a failing migration":
        "echo 'select 1/0;' > sql/9999_broken.sql; sha256sum sql/9999_broken.sql >> SHA256SUMS",
    })
  ) {
    test(`an upgrade to a release that ${name} fails, and the old release keeps running`, async () => {
      const folder = await site.derive(`99.1.${name.length}`, change);
      const { code, stderr } = await machine.run("lead-upgrade", [folder]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, new RegExp(`^${version.replaceAll(".", "\\.")} is running, as before\\.`, "m"));
      assert.equal(await runs(), version);
      assert.equal((await site.post(key, "install:lead:1")).status, 200);
    });
  }

  test("a damaged release is refused before any change", async () => {
    const folder = await site.derive("99.2.0");
    await machine.shell(`echo >> ${folder}/build/programs/service.js`);
    const { code, stderr } = await machine.run("lead-upgrade", [folder]);
    assert.deepEqual([code, await runs()], [2, version]);
    assert.match(stderr, /build\/programs\/service\.js: FAILED[^]*is damaged/);
  });

  test("a killed upgrade is repaired by the next one", async () => {
    await machine.shell(`
      lead-upgrade 99.0.1 > /tmp/killed 2>&1 & upgrade=$!
      until grep -q 'runs beside' /tmp/killed; do kill -0 $upgrade && sleep 0.1; done; kill -KILL $upgrade`);
    assert.equal((await site.post(key, "install:lead:1")).status, 200);
    await machine.shell("lead-upgrade 99.0.1");
    assert.equal(await runs(), "99.0.1");
    assert.equal(
      await machine.shell(
        "systemctl is-active lead-{intake,public,actions}@a.service | grep -c '^active' || true",
      ),
      "0\n",
    );
    await machine.shell(`lead-upgrade ${version}`);
  });

  test("an upgrade without a database is refused, and the running release continues", async () => {
    const processes = () => machine.shell("systemctl show lead-{intake,public,actions}@a --property MainPID");
    const before = await processes();
    await machine.shell("systemctl stop postgresql");
    await until(async () => /^lead_store_writable 0/m.test(await metrics()));
    const { code, stderr } = await machine.run("lead-upgrade", ["99.0.1"]);
    assert.deepEqual([code, await runs(), await processes()], [2, version, before], stderr);
    assert.match(stderr, /^The database accepts no writes\. Nothing was done; \S+ keeps running\. .*\n$/);
    await machine.shell("systemctl start postgresql");
    await until(async () => (await site.post(key, "install:lead:1")).status === 200);
  });

  test("--uninstall removes the service and keeps leads and settings", async () => {
    eventsBefore = await site.events();
    await machine.shell("systemctl enable --quiet lead-audit.timer");
    assert.match(
      await site.install("--uninstall"),
      /These remain[^]*Backups of the database and the copy of its audit have stopped[^]*systemctl enable --now lead-audit\.timer/,
    );
    const left = await machine.shell(
      "ls /opt/lead-intake /usr/local/bin/lead-ctl /etc/systemd/system/lead-*.{target,service,socket,timer} 2>/dev/null; getent passwd lead-intake; true",
    );
    assert.equal(left, "");
    assert.equal(await site.events(), eventsBefore);
    assert.ok((await machine.shell("cat /etc/lead-intake/intake.env")).includes("INTAKE_URL=https://"));
  });

  test("a reinstalled service has its previous leads and key", async () => {
    // Another group now has the service's group id.
    await machine.shell("groupadd --gid $(stat -c %g /etc/lead-intake/tls/key.pem) another");
    assert.doesNotMatch(await site.install(), /lead_(test|live)_\w{20}/);
    assert.equal((await site.post(key, "install:lead:1")).status, 200);
    assert.equal((await site.post(key, "install:lead:2")).status, 202);
    eventsBefore += 1;
    await site.install("--uninstall");
    assert.equal(await site.events(), eventsBefore);
  });

  test("an installation without a public name can add one later", async () => {
    // The passwords are lost.
    await machine.shell("rm -rf /etc/lead-intake /etc/systemd/system/lead-*.d");
    await assert.rejects(
      site.install("--no-key"),
      /This PostgreSQL server already has the roles actions_login[^]*--new-passwords/,
    );
    await site.install("--no-key", "--new-passwords");
    const url = () => machine.shell("sed -n 's/^INTAKE_URL=//p' /etc/lead-intake/intake.env");
    assert.equal(await url(), "http://127.0.0.1:8080\n");
    await machine.shell("lead-ctl tenant add named --sandbox");
    const issued = (await site.ctl("key issue named --label first")).key;
    await machine.shell(`lead-setup --no-key ${options.join(" ")} 2>&1`);
    assert.equal(await url(), `https://${domain}\n`);
    assert.equal((await site.post(issued, "install:lead:3")).status, 202);
    assert.equal(await machine.shell(`grep -rl 127.0.0.1:808 /var/lib/lead-intake/site; true`), "");
    const before = await files();
    await machine.shell(`lead-setup ${options.join(" ")} 2>&1`);
    assert.equal(await files(), before);
  });
}
