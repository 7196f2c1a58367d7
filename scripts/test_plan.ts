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
 * The test files of `npm test`: what takes, commits and delivers leads and forms, and the faults that back the promise.
 */
const core =
  /^test\/(pure|tidy|(contract|documents|lead|limiter|gate|intake|settings|observe|store|forms|delivery|actions|suite)\/)/;
const coreFaults = /^test\/faults\/(server_killed|connection_cut|key_revoked|store_away|delivery_killed)/;
/** What a newcomer need not wait for: other surfaces, pages in a browser, and what the other runtime repeats. */
const beyondCore =
  /\.browser\.|suite\/(checkout|console|docs|forms_docs|generated|handed|ops|plans|public|site|supervised)|\/(on_deno|effects\.\w+|search)\./;

/** Whether a test file runs with `npm test` alone. */
export function isCore(file: string): boolean {
  return coreFaults.test(file) || core.test(file) && !beyondCore.test(file);
}

/** The black-box tests that `npm test` runs against the server on Deno too; `--all` runs the whole suite there. */
export const denoSmoke = /^test\/suite\/acknowledgement\.test\.ts$/;

/** Something that a machine may lack, and what cannot be tested without it. */
export interface Need {
  readonly name: string;
  /** Test files, by the beginning of their path; with a part behind a colon, only that part, see {@linkcode isLeftOut}. */
  readonly tests: readonly string[];
  /** The Debian packages that bring it. Left out: it is a property of the machine, which `.ci/run` cannot install. */
  readonly packages?: string;
  /** How to get it without a package. */
  readonly hint?: string;
  /** A shell command that succeeds where it is there, in the folder of the repository. Left out: a program of the name is. */
  readonly check?: string;
}

/** The tests of one language: of the documents' programs, of the client that is made, and of its kit. */
const documented = (name: string) => [`test/docs/clients: ${name}`, `test/docs/webhooks: ${name}`];
const generated = (name: string) => `test/generated_clients/: ${name}`;
const kit = (name: string) => `test/kits/: leads-${name}`;
/** What needs a Go newer than Debian's, and modules. */
const goTests = ["test/docs/clients: Go", generated("Go"), kit("cli"), kit("go"), "test/kits/cli_backfill"];
const pythonKitParts = ["format", "lint", "package", "local", "release"].map((part) =>
  `${kit("python")}: ${part}`
);
/** A temporary folder for the rest of a question. */
const inFolder = `folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"`;

/**
 * A registry, asked once for something that it must have, by its own client and with its settings. Chosen: not for what our
 * manifests name, because a broken manifest would leave out its own tests. A client that is missing is a need of its own.
 */
const registry = (name: string, client: string, tests: readonly string[], question: string): Need => ({
  ...{ name, tests, hint: "the registry cannot be reached" },
  check: `! command -v ${client} || (${question})`,
});

/** Every tool that a test needs besides Node, npm and what `npm ci` installs. */
const needs: readonly Need[] = [
  {
    ...{ name: "curl", packages: "curl" },
    tests: [
      ...["test/docs/commands", "test/playground/app", "test/scripts/start.test.ts"],
      ...["test/suite/docs_snippets", "test/suite/forms_docs"],
    ],
  },
  {
    ...{ name: "openssl", packages: "openssl" },
    tests: ["test/http/tls_scan", "test/kits/"],
  },
  { name: "sslscan", packages: "sslscan", tests: ["test/http/tls_scan"] },
  { name: "pgbouncer", packages: "pgbouncer", tests: ["test/faults/pooler"] },
  { name: "promtool", packages: "prometheus", tests: ["test/monitoring/rules", "test/suite/ops_metrics"] },
  { name: "amtool", packages: "prometheus-alertmanager", tests: ["test/monitoring/rules"] },
  { name: "systemd-notify", packages: "systemd", tests: ["test/scripts/systemd", "test/suite/supervised"] },
  { name: "zsh", packages: "zsh", tests: ["test/ctl/completion: zsh"] },
  {
    ...{ name: "pgbackrest", packages: "pgbackrest postgresql-15", tests: ["test/scripts/restore"] },
    check: "command -v pgbackrest && command -v /usr/lib/postgresql/15/bin/postgres",
  },
  {
    ...{ name: "chromium", packages: "chromium" },
    tests: [
      ...[
        "test/actions/notification/html.browser",
        "test/kits/js_in_a_page",
        "test/ops/console/style.browser",
      ],
      ...[
        "test/playground/app",
        "test/playground/page.browser",
        "test/scripts/caught: browser",
        "test/site/look",
      ],
    ],
    check:
      'command -v chromium || command -v chromium-browser || command -v google-chrome || test -x "$CHROMIUM"',
  },
  {
    ...{ name: "Python", packages: "python3-venv" },
    tests: [...documented("Python"), generated("Python"), kit("python"), "test/suite/forms_docs: Python"],
    check: "python3 -c 'import ensurepip, ssl, venv'",
  },
  {
    ...{ name: "apsw", packages: "python3-apsw", tests: ["test/http/static/sqlite"] },
    // A Python of your own that comes first on the PATH does not have Debian's packages.
    check: "python3 -c 'import apsw' || /usr/bin/python3 -c 'import apsw'",
  },
  {
    ...{ name: "Java", packages: "default-jdk-headless maven" },
    tests: [...documented("Java"), generated("Java"), kit("java")],
    check: "javac -version && keytool -help && mvn -version",
  },
  {
    ...{ name: "Ruby", packages: "ruby rubocop", tests: [...documented("Ruby"), kit("ruby")] },
    check: "ruby -ropenssl -rminitest -rrbs -e 1 && gem --version && rubocop --version",
  },
  {
    name: "PHP",
    packages: "php-cli php-curl php-mbstring php-xml php-psr-log composer phpunit php-codesniffer unzip",
    tests: [...documented("PHP"), kit("php"), "test/suite/forms_docs: PHP"],
    check: "for name in curl mbstring xml; do php -m | grep -qx $name || exit; done; " +
      "composer --version && phpunit --version && phpcs --version && test -e /usr/share/php/Psr/Log",
  },
  {
    // Debian 12's own Rust is too old; its browsers are built with a newer one.
    ...{ name: "Rust", packages: "cargo-web rust-web-clippy rustfmt-web", tests: [kit("rust")] },
    check: "cargo --version && cargo fmt --version && cargo clippy --version",
  },
  {
    // The race detector needs a C compiler, and code that is compiled ahead of time is linked like C.
    ...{ name: "Go", packages: "golang-go gcc libc6-dev", tests: [...goTests, "test/docs/webhooks: Go"] },
    check: "command -v go && command -v gcc",
  },
  {
    ...{ name: "a linker", packages: "gcc libc6-dev", tests: [`${kit("dotnet")}: package`] },
    check: "command -v clang || command -v gcc",
  },
  {
    ...{ name: "Go 1.25", tests: goTests },
    hint: "Debian's is older; .ci/run fetches it from the Go module proxy",
    check: "! command -v go || go -C test/generated_clients/go version",
  },
  {
    ...{ name: ".NET", tests: [kit("dotnet")] },
    hint: "its SDK, version 9 or later, which is no package of Debian's",
    check: "dotnet --version | awk -F . '{ version = $1 } END { exit version < 9 }'",
  },
  {
    ...{ name: "mount", hint: "needs root, and the right to mount" },
    tests: [
      ...["test/faults/failover: another address", "test/faults/store_away: full disk"],
      "test/prove/round: full disk",
    ],
    check: "unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt'",
  },
  registry("Go modules", "go", goTests, "timeout 60 go list -m golang.org/x/mod@latest"),
  registry("Rust crates", "cargo", [kit("rust")], "CARGO_NET_RETRY=0 timeout 60 cargo info --quiet serde"),
  registry(
    "Maven artifacts",
    "mvn",
    [generated("Java"), kit("java")],
    "timeout 60 mvn -q -B dependency:get -Dartifact=junit:junit:4.13.2 -Dtransitive=false",
  ),
  registry(
    "Python packages",
    "python3",
    [generated("Python"), ...pythonKitParts],
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
];

/** What this machine lacks of {@linkcode needs}; only those that `concern` chooses are checked. */
export async function missingNeeds(concern: (need: Need) => boolean = () => true): Promise<Need[]> {
  const cwd = fileURLToPath(new URL("../", import.meta.url));
  const found = await Promise.all(
    needs.filter(concern).map((need) =>
      promisify(exec)(need.check ?? `command -v ${need.name}`, { cwd }).then(() => [], () => [need])
    ),
  );
  return found.flat();
}

/** The environment variable in which `npm test` tells each test file what is left out, one name a line. */
export const leftOutVariable = "TEST_LEFT_OUT";

/** Whether `npm test` leaves out a part of a test file, such as `test/kits/: leads-rust`, for want of a tool. */
export function isLeftOut(part: string): boolean {
  return (process.env[leftOutVariable] ?? "").split("\n").includes(part);
}
