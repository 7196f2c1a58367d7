/** Lists the tests that `npm test` and `npm test -- --all` run, and the tools that the tests need. */

import { exec } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The core test files: accepting, committing and delivering leads and forms. */
const core =
  /^test\/(pure|tidy|(contract|documents|lead|limiter|gate|intake|settings|observe|store|forms|delivery|notification|actions|suite)\/)/;
const coreFaults = /^test\/faults\/(server_killed|connection_cut|key_revoked|store_away)/;
/** The files that run only with `--all`: other surfaces, browser tests, and repetitions on the other runtime. */
const beyondCore =
  /\.browser\.|suite\/(checkout|console|docs|forms_docs|generated|handed|hostile|ops|plans|public|site|supervised)|\/(on_deno|effects\.\w+|search)\./;

/** Whether plain `npm test` runs a test file. */
export function isCore(file: string): boolean {
  return coreFaults.test(file) || core.test(file) && !beyondCore.test(file);
}

/** The black-box tests that `npm test` repeats on Deno; `--all` repeats the whole suite. */
export const denoSmoke = /^test\/suite\/acknowledgement\.test\.ts$/;

/** A tool that a machine may lack, and the tests that need it. */
export interface Need {
  readonly name: string;
  /** Prefixes of test files' paths. A colon separates the part of the file to skip; see {@linkcode isSkipped}. */
  readonly tests: readonly string[];
  /** The Debian packages with the tool; omitted if there are none. */
  readonly packages?: string;
  /** A hint on how to get the tool without a package. */
  readonly hint?: string;
  /** A shell command that succeeds if the tool is present. Default: checks for a program with the need's name. */
  readonly check?: string;
}

const documented = (name: string) => [`test/docs/clients: ${name}`, `test/docs/webhooks: ${name}`];
const generated = (name: string) => `test/generated_clients/: ${name}`;
const kit = (name: string) => `test/kits/: leads-${name}`;
/** The tests that need Go modules and a newer Go than Debian's. */
const goTests = ["test/docs/clients: Go", generated("Go"), kit("cli"), kit("go"), "test/kits/cli_backfill"];
const pythonKitParts = ["format", "lint", "package", "local", "release"].map((part) =>
  `${kit("python")}: ${part}`
);
/** A shell prefix that runs the check in a temporary folder. */
const inFolder = `folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"`;

/**
 * Returns the need for a registry, which is checked by asking its client for a well-known package. Rejected: one of our
 * dependencies, because a broken manifest would then skip its own tests. A missing client is a separate need.
 */
const registry = (name: string, client: string, tests: readonly string[], query: string): Need => ({
  name,
  tests,
  hint: "the registry cannot be reached",
  check: `! command -v ${client} || (${query})`,
});

/** All tools that tests need besides Node, npm and npm's packages. */
const needs: readonly Need[] = [
  {
    name: "curl",
    packages: "curl",
    tests: [
      "test/docs/commands",
      "test/playground/app",
      "test/scripts/start.test.ts",
      "test/suite/docs_snippets",
      "test/suite/forms_docs",
    ],
  },
  {
    name: "openssl",
    packages: "openssl",
    tests: ["test/http/tls_scan", "test/kits/"],
  },
  { name: "psql", packages: "postgresql-client", tests: ["test/docs/commands"] },
  { name: "sslscan", packages: "sslscan", tests: ["test/http/tls_scan"] },
  { name: "pgbouncer", packages: "pgbouncer", tests: ["test/faults/pooler"] },
  { name: "promtool", packages: "prometheus", tests: ["test/monitoring/rules", "test/suite/ops_metrics"] },
  { name: "amtool", packages: "prometheus-alertmanager", tests: ["test/monitoring/rules"] },
  { name: "systemd-notify", packages: "systemd", tests: ["test/scripts/systemd", "test/suite/supervised"] },
  { name: "zsh", packages: "zsh", tests: ["test/ctl/completion: zsh"] },
  {
    name: "pgbackrest",
    packages: "pgbackrest postgresql-15",
    tests: ["test/scripts/restore"],
    check: "command -v pgbackrest && command -v /usr/lib/postgresql/15/bin/postgres",
  },
  {
    name: "chromium",
    packages: "chromium",
    tests: [
      "test/kits/js_in_a_page",
      "test/notification/html.browser",
      "test/ops/console/style.browser",
      "test/playground/app",
      "test/playground/forms.browser",
      "test/playground/page.browser",
      "test/scripts/mail_catcher: browser",
      "test/site/look",
      "test/suite/forms_docs.browser",
    ],
    check:
      'command -v chromium || command -v chromium-browser || command -v google-chrome || test -x "$CHROMIUM"',
  },
  {
    name: "Python",
    packages: "python3-venv",
    tests: [...documented("Python"), generated("Python"), kit("python"), "test/suite/forms_docs: Python"],
    check: "python3 -c 'import ensurepip, ssl, venv'",
  },
  {
    name: "apsw",
    packages: "python3-apsw",
    tests: ["test/http/static/sqlite"],
    // The first Python on the PATH may lack Debian's packages.
    check: "python3 -c 'import apsw' || /usr/bin/python3 -c 'import apsw'",
  },
  {
    name: "Java",
    packages: "default-jdk-headless maven",
    tests: [...documented("Java"), generated("Java"), kit("java")],
    check: "javac -version && keytool -help && mvn -version",
  },
  {
    name: "Ruby",
    packages: "ruby rubocop",
    tests: [...documented("Ruby"), kit("ruby")],
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
    // Debian 12's default Rust is too old; these packages have the newer Rust with which Debian builds browsers.
    name: "Rust",
    packages: "cargo-web rust-web-clippy rustfmt-web",
    tests: [kit("rust")],
    check: "cargo --version && cargo fmt --version && cargo clippy --version",
  },
  {
    // Go's race detector needs a C compiler.
    name: "Go",
    packages: "golang-go gcc libc6-dev",
    tests: [...goTests, "test/docs/webhooks: Go"],
    check: "command -v go && command -v gcc",
  },
  {
    name: "a linker",
    packages: "gcc libc6-dev",
    tests: [`${kit("dotnet")}: package`],
    check: "command -v clang || command -v gcc",
  },
  {
    name: "Go 1.25",
    tests: goTests,
    hint: "Debian's is older; .ci/run fetches it from the Go module proxy",
    check: "! command -v go || go -C test/generated_clients/go version",
  },
  {
    name: ".NET",
    tests: [kit("dotnet")],
    hint: "its SDK, version 9 or later, for which Debian has no package",
    check: "dotnet --version | awk -F . '{ version = $1 } END { exit version < 9 }'",
  },
  {
    name: "mount",
    hint: "needs root, and the right to mount",
    tests: [
      "test/faults/failover: another address",
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
    // Without these settings, NuGet would use its caches instead of the registry.
    `${inFolder} && export TMPDIR=$PWD NUGET_PACKAGES=$PWD/packages NUGET_HTTP_CACHE_PATH=$PWD/http && ` +
      "dotnet new classlib --no-restore && timeout 60 dotnet add package Newtonsoft.Json --version 13.0.1",
  ),
];

/** Returns the {@linkcode needs} that `isRelevant` selects and this machine lacks. */
export async function missingNeeds(isRelevant: (need: Need) => boolean = () => true): Promise<Need[]> {
  const cwd = fileURLToPath(new URL("../", import.meta.url));
  const missing = await Promise.all(
    needs.filter(isRelevant).map((need) =>
      promisify(exec)(need.check ?? `command -v ${need.name}`, { cwd }).then(() => [], () => [need])
    ),
  );
  return missing.flat();
}

/** The environment variable that lists the tests to skip, one per line. */
export const skippedTestsVariable = "TEST_LEFT_OUT";

/** Whether a part of a test file, such as `test/kits/: leads-rust`, is skipped because a tool is missing. */
export function isSkipped(part: string): boolean {
  return (process.env[skippedTestsVariable] ?? "").split("\n").includes(part);
}
