import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { signalProcess } from "../../scripts/processes.ts";
import { Authority, type Issued } from "../support/authority.ts";
import { temporaryFolder } from "../support/folder.ts";
import { isWhole, rehearse } from "../support/monitoring/rehearsal.ts";
import { rehearsedService } from "../support/monitoring/rehearsed_service.ts";
import type { RunningServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const service = await rehearsedService();
const { stand, prometheus: scraped, again, posts } = service;
const { world } = stand;
const prometheus = () => scraped;

// Two processes that serve the same, and a lock that keeps the shares from being written.
let release = async () => {};
let neighbour: RunningServer | null = null;
rehearse(prometheus, ["LimitsAlone"], {
  breakIt: async () => {
    // The raised limits of tests are so large that a node may have hundreds of them unasked.
    const rate = { INTAKE_KEY_PER_MINUTE: "600", INTAKE_KEY_BURST: "101" };
    await again(rate);
    neighbour = await stand.start(rate);
    const shared = 'lead_limit_leases{state="leased"} > 0';
    await until(async () => {
      await posts(10);
      return (await scraped.query(shared)).length > 0;
    }, { what: "a limit is shared" });
    release = await world.hold("lock table limit_lease in share mode");
  },
  meanwhile: () => posts(1),
  mendIt: async () => {
    await release();
    await until(async () => {
      await posts(1);
      return (await scraped.query('lead_limit_leases{state="alone"} > 0')).length === 0;
    }, { what: "the limits are shared again" });
    await neighbour?.stop();
    await again();
  },
});

rehearse(prometheus, ["PostsSlow"], {
  breakIt: async () => {
    // A rate needs a first value.
    await posts(3);
    const counted = 'http_request_duration_seconds_count{route="/v1/intake",method="POST"} >= 3';
    await until(async () => (await scraped.query(counted)).length > 0);
  },
  meanwhile: async () => {
    const release = await world.holdCommits();
    const sinceMs = performance.now();
    const held = until(() => performance.now() - sinceMs > 3_000, { what: "they have waited" }).then(release);
    await Promise.all([posts(10), held]);
  },
  mendIt: () => {},
});

rehearse(prometheus, ["EventLoopLate"], {
  breakIt: () => {},
  meanwhile: async () => {
    signalProcess(service.server.pid, "SIGSTOP");
    const sinceMs = performance.now();
    await until(() => performance.now() - sinceMs > 1_000, { what: "it has stood still" });
    signalProcess(service.server.pid, "SIGCONT");
  },
  mendIt: () => {},
});

rehearse(prometheus, ["FilesRunOut"], {
  breakIt: async () => {
    const [open] = await scraped.query('process_open_fds{job="lead-intake"}');
    assert.ok(open);
    // A few are left, for whoever asks.
    limitFiles(String(Math.ceil(open.value / 0.85)));
  },
  mendIt: () => limitFiles("1024"),
});

function limitFiles(soft: string): void {
  const { status, stderr } = spawnSync("prlimit", [`--pid=${service.server.pid}`, `--nofile=${soft}:`], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
}

rehearse(prometheus, ["FiguresMissing"], {
  breakIt: async () => {
    await world.sql`alter function delivery_standing() rename to delivery_standing_away`;
    await again();
  },
  mendIt: async () => {
    await world.sql`alter function delivery_standing_away() rename to delivery_standing`;
    await again();
  },
});

rehearse(prometheus, ["ClockSkew"], {
  breakIt: () =>
    again({
      NODE_OPTIONS: `--import=${new URL("../../scripts/prove/clock_off.ts", import.meta.url).href}`,
      CLOCK_OFF_MS: "3600000",
    }),
  mendIt: () => again(),
});

const authority = new Authority("public");
const folder = temporaryFolder("public-certificate");
const files = { TLS_CERT_FILE: join(folder, "cert.pem"), TLS_KEY_FILE: join(folder, "key.pem") };
const install = ({ cert, key }: Pick<Issued, "cert" | "key">) => {
  for (const [file, text] of [[files.TLS_CERT_FILE, cert], [files.TLS_KEY_FILE, key]] as const) {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }
};
const long = authority.issue({ name: "long", use: "server", days: 60 });

// The test's own certificates between service and actions process end within two days as well.
const publicOnly = {
  ACTIONS_URL: "",
  ACTIONS_CA_FILE: "",
  ACTIONS_CLIENT_CERT_FILE: "",
  ACTIONS_CLIENT_KEY_FILE: "",
};

if (isWhole) {
  test("CertificateEnds and CertificateEndsSoon: they come, and a renewed pair of files ends them", async () => {
    install(authority.issue({ name: "short", use: "server", days: 1 }));
    await again({ ...files, ...publicOnly });
    for (const alert of ["CertificateEnds", "CertificateEndsSoon"]) {
      await until(async () =>
        (await scraped.firing()).some(({ labels: { alertname, files } }) =>
          alertname === alert && files === "listener"
        )
      );
    }
    install(long);
    await until(async () => !(await scraped.firing()).some(({ labels }) => labels.files === "listener"));
  });
}

rehearse(prometheus, ["CertificateRefused"], {
  breakIt: () => install({ cert: "no certificate", key: long.key }),
  mendIt: () => install(long),
});

const backups = temporaryFolder("backups");
const marks = [["stamp", 2], ["verified", 40]] as const;
rehearse(prometheus, ["BackupStale", "BackupUnchecked"], {
  breakIt: async () => {
    for (const [name, days] of marks) {
      writeFileSync(join(backups, name), "");
      const then = Date.now() / 1_000 - days * 86_400;
      utimesSync(join(backups, name), then, then);
    }
    await again({ OPS_BACKUP_MARKS_DIR: backups });
  },
  mendIt: () => marks.forEach(([name]) => utimesSync(join(backups, name), new Date(), new Date())),
});

const runtime = temporaryFolder("runtime");
/** As systemd runs it when a process has ended. */
const noteEnd = (result: string) => {
  const script = fileURLToPath(new URL("../../scripts/systemd/backoff.sh", import.meta.url));
  const env = { ...process.env, RUNTIME_DIRECTORY: runtime, SERVICE_RESULT: result, EXIT_CODE: "killed" };
  assert.equal(spawnSync("/bin/sh", [script, "note"], { env }).status, 0);
  return again({ RUNTIME_DIRECTORY: runtime });
};
rehearse(prometheus, ["ProcessFailed"], {
  breakIt: () => noteEnd("watchdog"),
  mendIt: () => noteEnd("success"),
});

rehearse(prometheus, ["IntakeDown", "InstanceDown"], {
  breakIt: () => service.server.stop(),
  mendIt: () => service.start(),
  isQuick: true,
});

if (isWhole) {
  test("RestartLoop: it comes when the process is killed and started four times", async () => {
    // However slow this machine starts it: over an hour in place of a quarter of one.
    const often = "changes(process_start_time_seconds[1h]) > 3";
    for (let starts = 0; starts < 4; starts += 1) {
      const before = await scraped.query('process_start_time_seconds{job="lead-intake"}');
      await service.server.kill();
      await service.start();
      await until(async () => {
        const [now] = await scraped.query('process_start_time_seconds{job="lead-intake"}');
        return now !== undefined && now.value !== before[0]?.value;
      });
    }
    await until(async () => (await scraped.query(often)).length > 0);
  });
}
