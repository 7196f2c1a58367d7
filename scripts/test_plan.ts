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
  ...[
    "contract/",
    "documents/",
    "lead/",
    "limiter/",
    "gate/",
    "intake/",
    "settings/",
    "process/",
    "service/",
    "observe/",
    "store/",
  ],
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

/** What some package brings; the check is that the program of this name is on the PATH. */
const tool = (
  name: string,
  tests: readonly string[],
  packages: readonly string[] = [name],
  check = `command -v ${name}`,
): Need => ({ name, check, packages, tests });

/** What no package brings. */
const property = (name: string, tests: readonly string[], hint: string, check: string): Need => ({
  name,
  check,
  packages: [],
  hint,
  tests,
});

/**
 * A registry, asked once for something that it must have, by its own client and with its settings. Chosen: not for what our
 * manifests name, because a broken manifest would leave out its own tests. A client that is missing is a need of its own.
 */
const registry = (name: string, client: string, tests: readonly string[], question: string): Need =>
  property(name, tests, "the registry cannot be reached", `! command -v ${client} || (${question})`);

/** A temporary folder for the rest of a question. */
const inFolder = `folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"`;

/** The tests of one language: of the documents' programs, of the client that is made, and of its kit. */
const documented = (
  language: string,
) => [`test/docs/clients: ${language}`, `test/docs/webhooks: ${language}`];
const generated = (language: string) => `test/generated_clients/: ${language}`;
const kit = (name: string) => `test/kits/: leads-${name}`;
/** What needs a Go newer than Debian's, and modules. */
const goTests = ["test/docs/clients: Go", generated("Go"), kit("cli"), kit("go"), "test/kits/cli_backfill"];

/** Every tool that a test needs besides Node, npm and what `npm ci` installs. */
export const needs: readonly Need[] = [
  tool("curl", [
    ...["test/docs/commands", "test/playground/app", "test/scripts/start.test.ts"],
    ...["test/suite/docs_snippets", "test/suite/forms_docs"],
  ]),
  tool("openssl", ["test/http/tls_doubts", "test/http/tls_scan", "test/kits/"]),
  tool("sslscan", ["test/http/tls_scan"]),
  tool("pgbouncer", ["test/faults/pooler"]),
  tool("promtool", ["test/monitoring/rules", "test/suite/ops_metrics"], ["prometheus"]),
  tool("amtool", ["test/monitoring/rules"], ["prometheus-alertmanager"]),
  tool("systemd-analyze", ["test/scripts/systemd"], ["systemd"]),
  tool(
    "systemd-notify",
    ["test/service/condition", "test/suite/supervised"],
    ["systemd"],
  ),
  tool("zsh", ["test/ctl/completion: zsh"]),
  tool("pgbackrest", ["test/scripts/restore"]),
  tool("/usr/lib/postgresql/15/bin/postgres", ["test/scripts/restore"], ["postgresql-15"]),
  tool(
    "chromium",
    [
      ...[
        "test/actions/notification/html.browser",
        "test/kits/js_in_a_page",
      ],
      ...["test/ops/console/style.browser", "test/playground/app", "test/playground/page.browser"],
      ...["test/scripts/caught: browser", "test/site/look"],
    ],
    ["chromium"],
    'command -v chromium || command -v chromium-browser || command -v google-chrome || test -x "$CHROMIUM"',
  ),
  tool(
    "Python",
    [
      ...[...documented("Python"), generated("Python"), kit("python")],
      "test/suite/forms_docs: Python",
    ],
    ["python3-venv"],
    "python3 -c 'import ensurepip, ssl, venv'",
  ),
  tool(
    "apsw",
    ["test/http/static/sqlite"],
    ["python3-apsw"],
    // A Python of your own that comes first on the PATH does not have Debian's packages.
    "python3 -c 'import apsw' || /usr/bin/python3 -c 'import apsw'",
  ),
  tool(
    "Java",
    [...documented("Java"), generated("Java"), kit("java")],
    ["default-jdk-headless", "maven"],
    "javac -version && keytool -help && mvn -version",
  ),
  tool(
    "Ruby",
    [...documented("Ruby"), kit("ruby")],
    ["ruby", "rubocop"],
    "ruby -ropenssl -rminitest -rrbs -e 1 && gem --version && rubocop --version",
  ),
  tool(
    "PHP",
    [...documented("PHP"), kit("php"), "test/suite/forms_docs: PHP"],
    [
      ...["php-cli", "php-curl", "php-mbstring", "php-xml", "php-psr-log"],
      ...["composer", "phpunit", "php-codesniffer", "unzip"],
    ],
    "for name in curl mbstring xml; do php -m | grep -qx $name || exit; done; " +
      "composer --version && phpunit --version && phpcs --version && test -e /usr/share/php/Psr/Log",
  ),
  tool(
    "Rust",
    [kit("rust")],
    // Debian 12's own Rust is too old; its browsers are built with a newer one.
    ["cargo-web", "rust-web-clippy", "rustfmt-web"],
    "cargo --version && cargo fmt --version && cargo clippy --version",
  ),
  // The race detector needs a C compiler, and code that is compiled ahead of time is linked like C.
  tool(
    "Go",
    [...goTests, "test/docs/webhooks: Go"],
    ["golang-go", "gcc", "libc6-dev"],
    "command -v go && command -v gcc",
  ),
  tool(
    "a linker",
    [`${kit("dotnet")}: package`],
    ["gcc", "libc6-dev"],
    "command -v clang || command -v gcc",
  ),
  property(
    "Go 1.25",
    goTests,
    "Debian's is older; .ci/run fetches it from the Go module proxy",
    "! command -v go || go -C test/generated_clients/go version",
  ),
  property(
    ".NET",
    [kit("dotnet")],
    "its SDK, version 9 or later, which is no package of Debian's",
    "dotnet --version | awk -F . '{ version = $1 } END { exit version < 9 }'",
  ),
  registry("Go modules", "go", goTests, "timeout 60 go list -m golang.org/x/mod@latest"),
  registry(
    "Rust crates",
    "cargo",
    [kit("rust")],
    "CARGO_NET_RETRY=0 timeout 60 cargo info --quiet serde",
  ),
  registry(
    "Maven artifacts",
    "mvn",
    [generated("Java"), kit("java")],
    "timeout 60 mvn -q -B dependency:get -Dartifact=junit:junit:4.13.2 -Dtransitive=false",
  ),
  registry(
    "Python packages",
    "python3",
    [
      generated("Python"),
      ...["format", "lint", "package", "release"].map((part) => `${kit("python")}: ${part}`),
    ],
    `${inFolder} && python3 -m venv . && timeout 60 bin/pip index versions --retries 0 --timeout 10 pip`,
  ),
  registry(
    "NuGet packages",
    "dotnet",
    [kit("dotnet")],
    // Both of NuGet's caches would answer for the registry.
    `${inFolder} && export TMPDIR=$PWD NUGET_PACKAGES=$PWD/packages NUGET_HTTP_CACHE_PATH=$PWD/http && ` +
      "dotnet new classlib --no-restore && timeout 60 dotnet add package Newtonsoft.Json --version 13.0.1",
  ),
  property(
    "mount",
    [
      ...["test/faults/failover: another address", "test/faults/store_away: full disk"],
      "test/prove/round: full disk",
    ],
    "needs root, and the right to mount",
    "unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt'",
  ),
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
