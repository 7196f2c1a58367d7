/**
 * What `npm test` runs, what only `npm test -- --all` runs, and which tools the tests need.
 *
 * @module
 */

import { exec } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/**
 * The test files of `npm test`, by the beginning of their path: what takes, commits and delivers leads and forms, and the
 * faults that back the promise.
 */
export const core: readonly string[] = [
  ...["contract/", "lead/", "limiter/", "gate/", "intake/", "settings/", "service/", "observe/", "store/"],
  ...["forms/", "delivery/", "actions/", "pure", "tidy", "suite/acknowledgement", "suite/access_log"],
  ...["suite/content_window", "suite/forms", "suite/group_commit", "suite/https", "suite/idempotency"],
  ...["suite/keys", "suite/lifecycle", "suite/malformed", "suite/order", "suite/rates", "suite/refusals"],
  ...["suite/request_id", "suite/spend", "suite/start", "suite/store_away", "suite/stored_body"],
  ...["suite/surfaces", "suite/tier_refused", "suite/totals", "suite/vectors", "faults/server_killed"],
  ...["faults/connection_cut", "faults/key_revoked", "faults/store_away", "faults/delivery_killed"],
].map((path) => `test/${path}`);
/** Those of the core that a newcomer need not wait for: pages in a browser, and what the other runtime repeats. */
const beyondCore =
  /\.browser\.test\.ts$|\/(on_deno|forms_docs|effects\.routes|effects\.again|operator\/search)\.test\.ts$/;

/** Whether a test file runs with `npm test` alone. */
export function isCore(file: string): boolean {
  return !beyondCore.test(file) && core.some((path) => file.startsWith(path));
}

/** The black-box tests that `npm test` runs against the server on Deno too; `--all` runs the whole suite there. */
export const denoSmoke = /^test\/suite\/acknowledgement\.test\.ts$/;

/** Black-box tests of programs in the documents. They do not depend on the server's runtime. */
export const runtimeless = /^test\/suite\/(docs_snippets|forms_docs)\.test\.ts$/;

/** Something that a machine may lack, and what cannot be tested without it. */
export interface Need {
  readonly name: string;
  /** A shell command that succeeds where it is available, in the folder of the repository. */
  readonly check: string;
  /** The Debian packages that bring it. None: it is a property of the machine, which `.ci/run` cannot install. */
  readonly packages: readonly string[];
  /** How to get it without a package. */
  readonly hint?: string;
  /** Test files, by the beginning of their path; with a part behind a colon, only that part, see {@linkcode isLeftOut}. */
  readonly tests: readonly string[];
}

/** A program on the PATH, and its Debian package. */
const program = (name: string, tests: readonly string[], packages: readonly string[] = [name]): Need => ({
  name,
  check: `command -v ${name}`,
  packages,
  tests,
});

/**
 * A registry, asked once for something that it must have, by its own client and with its settings. Chosen: not for what our
 * manifests name, because a broken manifest would leave out its own tests.
 */
const registry = (name: string, client: string, question: string, tests: readonly string[]): Need => ({
  name,
  // A client that is missing is a need of its own.
  check: `! command -v ${client} || (${question})`,
  packages: [],
  hint: "the registry cannot be reached",
  tests,
});

/** The test files of the documents' programs, for one language. */
const documented = (
  language: string,
) => [`test/docs/clients: ${language}`, `test/docs/webhooks: ${language}`];
/** What needs a Go newer than Debian's, and modules. */
const goTests = [
  "test/docs/clients: Go",
  "test/generated_clients/: Go",
  "test/kits/: leads-cli",
  "test/kits/: leads-go",
  "test/kits/cli_backfill",
];

/** Every tool that a test needs besides Node, npm and what `npm ci` installs. */
export const needs: readonly Need[] = [
  program("curl", [
    "test/docs/commands",
    "test/playground/app",
    "test/scripts/start.test.ts",
    "test/suite/docs_snippets",
    "test/suite/forms_docs",
  ]),
  program("openssl", ["test/http/tls_doubts", "test/http/tls_scan", "test/kits/"]),
  program("sslscan", ["test/http/tls_scan"]),
  program("pgbouncer", ["test/faults/pooler"]),
  program("promtool", ["test/monitoring/rules", "test/suite/ops_metrics"], ["prometheus"]),
  program("amtool", ["test/monitoring/rules"], ["prometheus-alertmanager"]),
  program("systemd-analyze", ["test/scripts/systemd"], ["systemd"]),
  program("systemd-notify", ["test/service/condition", "test/suite/processes", "test/suite/supervised"], [
    "systemd",
  ]),
  program("zsh", ["test/ctl/completion: zsh"]),
  program("pgbackrest", ["test/scripts/restore"]),
  program("/usr/lib/postgresql/15/bin/postgres", ["test/scripts/restore"], ["postgresql-15"]),
  {
    name: "chromium",
    check:
      'command -v chromium || command -v chromium-browser || command -v google-chrome || test -x "$CHROMIUM"',
    packages: ["chromium"],
    tests: [
      "test/actions/letter/html.browser",
      "test/kits/js_in_a_page",
      "test/ops/console/router.browser",
      "test/ops/console/style.browser",
      "test/playground/app",
      "test/playground/brief_page.browser",
      "test/scripts/caught: browser",
      "test/site/look",
    ],
  },
  {
    name: "Python",
    check: "python3 -c 'import ensurepip, ssl, venv'",
    packages: ["python3-venv"],
    tests: [
      "test/ctl/audit: Python",
      ...documented("Python"),
      "test/generated_clients/: Python",
      "test/kits/: leads-python",
      "test/suite/forms_docs: Python",
    ],
  },
  {
    name: "apsw",
    // A Python of your own that comes first on the PATH does not have Debian's packages.
    check: "python3 -c 'import apsw' || /usr/bin/python3 -c 'import apsw'",
    packages: ["python3-apsw"],
    tests: ["test/http/static/sqlite"],
  },
  {
    name: "Java",
    check: "javac -version && keytool -help && mvn -version",
    packages: ["default-jdk-headless", "maven"],
    tests: [...documented("Java"), "test/generated_clients/: Java", "test/kits/: leads-java"],
  },
  {
    name: "Ruby",
    check: "ruby -ropenssl -rminitest -rrbs -e 1 && gem --version && rubocop --version",
    packages: ["ruby", "rubocop"],
    tests: [...documented("Ruby"), "test/kits/: leads-ruby"],
  },
  {
    name: "PHP",
    check: "for name in curl mbstring xml; do php -m | grep -qx $name || exit; done; " +
      "composer --version && phpunit --version && phpcs --version && test -e /usr/share/php/Psr/Log",
    packages: [
      ...["php-cli", "php-curl", "php-mbstring", "php-xml", "php-psr-log"],
      ...["composer", "phpunit", "php-codesniffer", "unzip"],
    ],
    tests: [...documented("PHP"), "test/kits/: leads-php", "test/suite/forms_docs: PHP"],
  },
  {
    name: "Rust",
    check: "cargo --version && cargo fmt --version && cargo clippy --version",
    // Debian 12's own Rust is too old; its browsers are built with a newer one.
    packages: ["cargo-web", "rust-web-clippy", "rustfmt-web"],
    tests: ["test/kits/: leads-rust"],
  },
  {
    name: "Go",
    // The race detector needs a C compiler.
    check: "command -v go && command -v gcc",
    packages: ["golang-go", "gcc", "libc6-dev"],
    tests: [...goTests, "test/docs/webhooks: Go"],
  },
  {
    name: "Go 1.25",
    check: "! command -v go || go -C test/generated_clients/go version",
    packages: [],
    hint: "Debian's is older; .ci/run fetches it from the Go module proxy",
    tests: goTests,
  },
  {
    name: ".NET",
    check: "dotnet --version | awk -F . '{ version = $1 } END { exit version < 9 }'",
    packages: [],
    hint: "its SDK, version 9 or later, which is no package of Debian's",
    tests: ["test/kits/: leads-dotnet"],
  },
  {
    name: "a linker",
    // Code that is compiled ahead of time is linked like C.
    check: "command -v clang || command -v gcc",
    packages: ["gcc", "libc6-dev"],
    tests: ["test/kits/: leads-dotnet: package"],
  },
  registry("Go modules", "go", "timeout 60 go list -m golang.org/x/mod@latest", goTests),
  registry("Rust crates", "cargo", "CARGO_NET_RETRY=0 timeout 60 cargo info --quiet serde", [
    "test/kits/: leads-rust",
  ]),
  registry(
    "Maven artifacts",
    "mvn",
    "timeout 60 mvn -q -B dependency:get -Dartifact=junit:junit:4.13.2 -Dtransitive=false",
    ["test/generated_clients/: Java", "test/kits/: leads-java"],
  ),
  registry(
    "Python packages",
    "python3",
    'folder=$(mktemp -d) && trap \'rm -rf "$folder"\' EXIT && python3 -m venv "$folder" && ' +
      'timeout 60 "$folder/bin/pip" index versions --retries 0 --timeout 10 pip',
    [
      "test/generated_clients/: Python",
      "test/kits/: leads-python: format",
      "test/kits/: leads-python: lint",
      "test/kits/: leads-python: package",
      "test/kits/: leads-python: release",
    ],
  ),
  registry(
    "NuGet packages",
    "dotnet",
    // Both of NuGet's caches would answer for the registry.
    'folder=$(mktemp -d) && trap \'rm -rf "$folder"\' EXIT && cd "$folder" && export TMPDIR="$folder" && ' +
      'export NUGET_PACKAGES="$folder/packages" NUGET_HTTP_CACHE_PATH="$folder/http" && ' +
      "dotnet new classlib --no-restore && timeout 60 dotnet add package Newtonsoft.Json --version 13.0.1",
    ["test/kits/: leads-dotnet"],
  ),
  {
    name: "mount",
    check: "unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt'",
    packages: [],
    hint: "needs root, and the right to mount",
    tests: [
      "test/faults/failover: another address",
      "test/faults/store_away: full disk",
      "test/prove/round: full disk",
    ],
  },
];

/** Those of {@linkcode needs} that this machine lacks; only those that `concern` chooses are checked. */
export async function missingNeeds(concern: (need: Need) => boolean = () => true): Promise<Need[]> {
  const run = promisify(exec);
  const cwd = fileURLToPath(new URL("../", import.meta.url));
  const found = await Promise.all(needs.map(async (need) => {
    if (!concern(need)) return [];
    return await run(need.check, { cwd }).then(() => [], () => [need]);
  }));
  return found.flat();
}

/** The environment variable in which `npm test` tells each test file what is left out, one name a line. */
export const leftOutVariable = "TEST_LEFT_OUT";

/** Whether `npm test` leaves out a part of a test file, such as `test/kits/: leads-rust`, for want of a tool. */
export function isLeftOut(part: string): boolean {
  return (process.env[leftOutVariable] ?? "").split("\n").includes(part);
}
