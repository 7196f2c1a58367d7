import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { examineActionsConfig } from "../../src/actions/config.ts";
import { readConfig } from "../../src/settings/config.ts";
import { ConfigError } from "../../src/settings/reader.ts";
import { limits } from "../../src/contract/limits.ts";
import { Authority } from "../support/authority.ts";

const authority = new Authority();
const server = authority.issue({ name: "intake", use: "server" });
const other = authority.issue({ name: "other", use: "client" });
const empty = join(authority.folder, "empty.pem");
writeFileSync(empty, "");

const databaseUrl = "postgres://service:hunter2@db.internal:5432/leads";
const minimal = { DATABASE_URL: databaseUrl };

/** Returns the errors of an environment. */
function faults(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readConfig({ ...minimal, ...environment });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    for (const fault of error.faults) assert.ok(error.message.includes(fault));
    assert.ok(!error.message.includes("hunter2"), "no secret in the message");
    return error.faults;
  }
}

const fault = (environment: Readonly<Record<string, string>>): string => {
  const all = faults(environment);
  assert.equal(all.length, 1, all.join("\n"));
  return all[0] as string;
};

/** Fails unless each value of a setting is the only fault, and its error matches. */
function refuses(name: string, values: readonly string[], expected: RegExp, more = {}): void {
  for (const value of values) assert.match(fault({ ...more, [name]: value }), expected, value);
}

/** Fails unless each value of a setting is accepted. */
function accepts(name: string, values: readonly string[], more = {}): void {
  for (const value of values) assert.deepEqual(faults({ ...more, [name]: value }), [], value);
}

test("DATABASE_URL alone is enough, and everything else has the published default", () => {
  const config = readConfig(minimal);
  assert.equal(config.databaseUrl, databaseUrl);
  assert.deepEqual(config.intake.listen, { host: "127.0.0.1", port: 8080 });
  assert.equal(config.intake.url, null);
  assert.equal(config.tls, null);
  assert.ok(!config.trustedProxies.contains("127.0.0.1"));
  assert.equal(config.connectionsPerAddress, null);
  assert.deepEqual(config.intakeIpRate, limits.ipRate);
  assert.deepEqual(config.intakeKeyRate, limits.keyRate);
});

test("the console's time zone is an IANA name, and a misspelled one is refused with a suggestion", () => {
  assert.equal(readConfig(minimal).consoleTimeZone, "UTC");
  assert.equal(
    readConfig({ ...minimal, CONSOLE_TIME_ZONE: "Europe/Berlin" }).consoleTimeZone,
    "Europe/Berlin",
  );
  assert.match(
    fault({ CONSOLE_TIME_ZONE: "Europe/Berln" }),
    /^CONSOLE_TIME_ZONE is not a time zone such as .*; did you mean Europe\/Berlin\?$/,
  );
  assert.match(fault({ CONSOLE_TIME_ZONE: "+02:00" }), /^CONSOLE_TIME_ZONE is not a time zone such as /);
});

test("a listen address is IPv4, IPv6 in brackets or localhost, with a port up to 65535", () => {
  const listen = (value: string) => readConfig({ ...minimal, INTAKE_LISTEN: value }).intake.listen;
  assert.deepEqual(listen("10.1.2.3:0"), { host: "10.1.2.3", port: 0 });
  assert.deepEqual(listen("[::1]:8443"), { host: "::1", port: 8443 });
  assert.deepEqual(listen("[fd00::1]:65535"), { host: "fd00::1", port: 65_535 });
  assert.deepEqual(listen("localhost:80"), { host: "localhost", port: 80 });
  for (
    const value of ["8080", ":8080", "127.0.0.1", "127.0.0.1:", "::1:80", "127.0.0.1:65536", "300.0.0.1:80"]
  ) {
    assert.ok(
      faults({ INTAKE_LISTEN: value }).some((text) => /^INTAKE_LISTEN must be address:port/.test(text)),
      value,
    );
  }
});

const withCertificate = { TLS_CERT_FILE: server.certFile, TLS_KEY_FILE: server.keyFile };

test("a public address needs a certificate", () => {
  const open = [
    "0.0.0.0:80",
    "[::]:80",
    "8.8.8.8:443",
    "[2001:db8::1]:443",
    "100.64.0.1:80",
    "172.32.0.1:80",
  ];
  refuses("INTAKE_LISTEN", open, /^INTAKE_LISTEN is a public address .*TLS_CERT_FILE/);
  accepts("INTAKE_LISTEN", ["0.0.0.0:443", "8.8.8.8:443", "[::1]:443", "[fd00::1]:443"], withCertificate);
});

test("even with a certificate, a public IPv6 address and port 80 of a public address are refused", () => {
  const ipv6 = /^INTAKE_LISTEN is a public IPv6 address .*0\.0\.0\.0$/;
  refuses("INTAKE_LISTEN", ["[::]:443", "[2001:db8::1]:443"], ipv6, withCertificate);
  refuses("INTAKE_LISTEN", ["0.0.0.0:80"], /^INTAKE_LISTEN is port 80 .*443$/, withCertificate);
  const near = ["127.8.8.8:80", "10.0.0.1:80", "192.168.1.1:80", "172.31.0.1:80", "[fe80::1]:80"];
  accepts("INTAKE_LISTEN", near);
});

test("a mismatched certificate and key, or a file with other content, are errors", () => {
  assert.equal(
    fault({ TLS_CERT_FILE: server.certFile, TLS_KEY_FILE: other.keyFile }),
    "TLS_CERT_FILE and TLS_KEY_FILE do not match",
  );
  for (const file of ["package.json", empty]) {
    assert.deepEqual(faults({ TLS_CERT_FILE: file, TLS_KEY_FILE: file }), [
      "TLS_CERT_FILE is not a valid PEM file, or is encrypted with a passphrase",
      "TLS_KEY_FILE is not a valid PEM file, or is encrypted with a passphrase",
    ]);
  }
});

const actions = {
  ACTIONS_URL: "https://actions.internal:9443",
  ACTIONS_CA_FILE: authority.file,
  ACTIONS_CLIENT_CERT_FILE: other.certFile,
  ACTIONS_CLIENT_KEY_FILE: other.keyFile,
};

test("the files for the actions tier must exist, be valid PEM and belong together", () => {
  assert.deepEqual(readConfig({ ...minimal, ...actions }).delivery?.files, {
    caFile: authority.file,
    certFile: other.certFile,
    keyFile: other.keyFile,
  });
  assert.match(
    fault({ ...actions, ACTIONS_CA_FILE: other.keyFile }),
    /^ACTIONS_CA_FILE is not a valid PEM file/,
  );
  assert.match(fault({ ...actions, ACTIONS_CA_FILE: "" }), /^ACTIONS_CA_FILE is not set/);
  assert.match(
    fault({ ...actions, ACTIONS_CLIENT_KEY_FILE: server.keyFile }),
    /^ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE do not match/,
  );
  assert.equal(faults({ ACTIONS_URL: actions.ACTIONS_URL }).length, 3);
});

test("the actions tier is reached without TLS on this machine only", () => {
  for (const host of ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"]) {
    assert.equal(readConfig({ ...minimal, ACTIONS_URL: `http://${host}:9443` }).delivery?.files, null);
  }
  for (const host of ["10.0.0.1", "[::2]", "actions.internal", "127.0.0.1.example"]) {
    assert.match(fault({ ACTIONS_URL: `http://${host}:9443` }), /^ACTIONS_URL must use https: unless/);
  }
});

test("a base address has a scheme and a host and nothing after them", () => {
  assert.equal(
    readConfig({ ...minimal, INTAKE_URL: "https://intake.example.com/" }).intake.url,
    "https://intake.example.com",
  );
  const wrong = [
    "intake.example.com",
    "ftp://x",
    "https://x/path",
    "https://x?y",
    "https://x#y",
    "https://u:p@x",
  ];
  refuses("INTAKE_URL", wrong, /^INTAKE_URL is not a base URL/);
});

test("trusted proxies are networks", () => {
  const { trustedProxies } = readConfig({
    ...minimal,
    TRUSTED_PROXIES: "10.0.0.0/8, 2001:db8::/32 192.0.2.7",
  });
  for (const inside of ["10.200.0.1", "2001:db8:ffff::1", "192.0.2.7"]) {
    assert.ok(trustedProxies.contains(inside));
  }
  for (const outside of ["11.0.0.1", "2001:db9::1", "192.0.2.8"]) {
    assert.ok(!trustedProxies.contains(outside));
  }
  const malformed = ["10.0.0.0/33", "everybody", "10.0.0.0/8/8"];
  refuses("TRUSTED_PROXIES", malformed, /^TRUSTED_PROXIES is not a list of networks/);
});

test("DATABASE_URL accepts several servers, and DATABASE_LISTEN_URL bypasses a pooler", () => {
  const several = "postgres://a:hunter2@one:5432,two:5433/x?target_session_attrs=read-write";
  assert.equal(readConfig({ ...minimal, DATABASE_URL: several }).databaseUrl, several);
  const pooled = "postgres://a:hunter2@pooler:6432/x?pooler=transaction";
  const config = readConfig({ ...minimal, DATABASE_URL: pooled, DATABASE_LISTEN_URL: several });
  assert.equal(config.listenUrl, several);
  assert.equal(readConfig({ ...minimal, DATABASE_URL: pooled }).listenUrl, null);
  assert.equal(
    fault({ DATABASE_LISTEN_URL: pooled }),
    "DATABASE_LISTEN_URL is a pooler's URL; use the server's",
  );
});

test("an invalid database address is not repeated in the error", () => {
  const invalid = [
    "mysql://u:hunter2@h/d",
    "hunter2",
    "postgres:/hunter2",
    "postgres://u:hunter2@h:port/d",
    "postgres://a%zz:hunter2@h/x",
    "postgres://a:hunter2%@h/x",
    "postgres://a:hunter2@%zz/x",
    "postgres://a:hunter2@one,two:x/x",
    "postgres://a:hunter2@one:5432,:5432/x",
    "postgres://a:hunter2@h/x?target_session_attrs=standby",
    "postgres://a:hunter2@h/x?sslmode=hunter2",
  ];
  const unquoted = /^DATABASE_URL (is not a URL|has (a %|an unsupported|an invalid))(?!.*hunter2)/;
  refuses("DATABASE_URL", invalid, unquoted);
  assert.match(fault({ DATABASE_URL: "" }), /^DATABASE_URL is not set/);
});

test("OPS_LISTEN must be loopback or private, even with a certificate, and differ from every public listener", () => {
  const open = ["0.0.0.0:9090", "203.0.113.7:9090", "[::]:9090", "[2001:db8::1]:9090"];
  refuses("OPS_LISTEN", open, /^OPS_LISTEN is a public address .*private address/, withCertificate);
  accepts("OPS_LISTEN", ["127.0.0.1:9090", "10.1.2.3:9090", "[::1]:9090", "192.168.0.1:0"]);
  assert.match(fault({ OPS_LISTEN: "127.0.0.1:8081" }), /^OPS_LISTEN and FORMS_LISTEN are the same address/);
});

test("surfaces that share an address each need a URL with a different host", () => {
  const one = { INTAKE_LISTEN: "127.0.0.1:8443", FORMS_LISTEN: "127.0.0.1:8443" };
  assert.deepEqual(faults(one).map((text) => text.slice(0, 21)), [
    "INTAKE_URL is not set",
    "FORMS_URL is not set;",
  ]);
  const intake = { ...one, INTAKE_URL: "https://intake.example.com" };
  assert.match(fault(intake), /^FORMS_URL is not set/);
  assert.match(
    fault({ ...intake, FORMS_URL: "https://intake.example.com" }),
    /^INTAKE_URL and FORMS_URL have the same host/,
  );
  assert.deepEqual(faults({ ...intake, FORMS_URL: "https://forms.example.com" }), []);
});

test("SURFACES lists what a process serves, by default all, and delivery runs where intake runs", () => {
  const served = (value?: string, more = {}) => [
    ...readConfig({ ...minimal, ...(value === undefined ? {} : { SURFACES: value }), ...more }).surfaces,
  ];
  assert.deepEqual(served(), ["intake", "forms", "subscription", "site", "ops", "delivery"]);
  assert.deepEqual(served("intake"), ["intake", "delivery"]);
  assert.deepEqual(served(" site ,subscription\n"), ["site", "subscription"]);
  assert.deepEqual(served("delivery", { ACTIONS_URL: "http://127.0.0.1:8443" }), ["delivery"]);
  assert.deepEqual(served("ops,ops"), ["ops"]);
  for (const value of ["everything", "intake,plans", "Intake", ","]) {
    assert.match(fault({ SURFACES: value }), /^SURFACES must be a list of intake, forms, .*delivery$/);
  }
});

test("settings of surfaces that are not served are neither required nor checked", () => {
  assert.deepEqual(
    faults({
      SURFACES: "intake",
      SITE_LISTEN: "0.0.0.0:80",
      OPS_LISTEN: "0.0.0.0:9090",
      FORMS_LISTEN: "127.0.0.1:8080",
    }),
    [],
  );
  assert.equal(readConfig({ SURFACES: "site" }).databaseUrl, "");
  assert.throws(() => readConfig({ SURFACES: "site,ops" }), /DATABASE_URL is not set/);
  const tier = { ACTIONS_URL: "https://tier.internal" };
  assert.deepEqual(faults({ ...tier, SURFACES: "forms" }), []);
  for (const surfaces of ["forms,delivery", "ops"]) {
    assert.ok(faults({ ...tier, SURFACES: surfaces }).length > 0, "the client's certificate is needed");
  }
  assert.deepEqual(faults({ SURFACES: "intake", CHECKOUT_ORIGINS: "https://shop.example" }), []);
});

for (
  const [name, likely] of [
    ["INTAKE_LISTENS", "INTAKE_LISTEN"],
    ["INTAKE_KEY_PER_MINUT", "INTAKE_KEY_PER_MINUTE"],
    ["intake_listen", "INTAKE_LISTEN"],
    ["ACTIONS_SERVER_CERT", "ACTIONS_SERVER_CERT_FILE"],
    ["SMTP_URI", "SMTP_URL"],
    ["INTAKE_PORT", "INTAKE_URL"],
    ["ACTIONS_CLIENT_NAMES", "ACTIONS_CLIENT_NAME"],
  ] as const
) {
  test(`the misspelled ${name} stops the start and the error suggests ${likely}, without its value`, () => {
    assert.equal(fault({ [name]: "hunter2" }), `${name} is not a setting; did you mean ${likely}?`);
  });
}

test("an unknown variable with one of our prefixes is refused without a suggestion", () => {
  assert.equal(
    fault({ STRIPE_PUBLISHABLE: "x" }),
    "STRIPE_PUBLISHABLE is not a setting; docs/configuration.md lists them",
  );
});

test("settings of the other process, empty ones and other programs' variables are ignored", () => {
  const others = {
    SMTP_URL: "smtp://mail.example.com",
    MAIL_FROM: "a@example.com",
    ACTIONS_LISTEN: "127.0.0.1:1",
  };
  const foreign = {
    PGHOST: "db",
    PGSSLMODE: "require",
    DATABASE_PASSWORD: "x",
    LEADS_API_KEY: "x",
    LEADS_BASE_URL: "x",
    PATH: "/bin",
    MAIL: "/var/mail/x",
    MAILCHECK: "1",
    INTAKE: "x",
    INTAKE_LISTENS: " ",
  };
  assert.deepEqual(faults({ ...others, ...foreign }), []);
});

test("a secret can be in the file that NAME_FILE names, trimmed of white space", () => {
  const filed = (text: string) => {
    const path = join(authority.folder, `${randomUUID()}.secret`);
    writeFileSync(path, text);
    return path;
  };
  const DATABASE_URL_FILE = filed(`${databaseUrl}\n`);
  assert.equal(readConfig({ DATABASE_URL_FILE }).databaseUrl, databaseUrl);
  const SMTP_URL_FILE = filed("smtp://me:hunter2@mail.example.com\n");
  assert.deepEqual(faults({ SMTP_URL_FILE, ACTIONS_DATABASE_URL_FILE: "/of/the/other/process" }), []);
  const { faults: ofActions, config } = examineActionsConfig({ SMTP_URL_FILE, MAIL_FROM: "a@example.com" });
  assert.equal(config.mail?.host, "mail.example.com");
  assert.ok(!ofActions.some((fault) => fault.includes("SMTP_URL")));
  // The file's content is checked like a variable and not repeated.
  assert.throws(
    () => readConfig({ DATABASE_URL_FILE: filed("mysql://hunter2") }),
    {
      faults: ["DATABASE_URL is not a URL such as postgres://user:password@host:5432/database"],
    },
  );

  assert.deepEqual(faults({ DATABASE_URL_FILE }), ["DATABASE_URL_FILE: DATABASE_URL is also set"]);
  const wrong = (path: string, fault: string) =>
    assert.throws(() => readConfig({ DATABASE_URL_FILE: path }), { faults: [`DATABASE_URL_FILE: ${fault}`] });
  wrong("/nowhere/at/all", "/nowhere/at/all cannot be read (ENOENT)");
  wrong(authority.folder, `${authority.folder} cannot be read (EISDIR)`);
  wrong(empty, `${empty} is empty`);
  // Only secrets can be in a file.
  assert.equal(
    fault({ INTAKE_LISTEN_FILE: empty }),
    "INTAKE_LISTEN_FILE is not a setting; did you mean INTAKE_LISTEN?",
  );
});

test("variables set by runners, orchestrators and other tools are ignored", () => {
  const runner = {
    ACTIONS_RUNTIME_URL: "https://x",
    ACTIONS_RUNTIME_TOKEN: "x",
    ACTIONS_CACHE_URL: "https://x",
    ACTIONS_CACHE_SERVICE_V2: "True",
    ACTIONS_RESULTS_URL: "https://x",
    ACTIONS_ORCHESTRATION_ID: "x",
    ACTIONS_ID_TOKEN_REQUEST_URL: "https://x",
    ACTIONS_RUNNER_DEBUG: "1",
    ACTIONS_STEP_DEBUG: "true",
  };
  const neighbours = Object.fromEntries(
    ["INTAKE", "FORMS", "SITE", "ACTIONS", "SMTP", "LEAD_INTAKE"].flatMap((name) => [
      [`${name}_SERVICE_HOST`, "10.0.0.7"],
      [`${name}_SERVICE_PORT`, "8080"],
      [`${name}_SERVICE_PORT_HTTP_ALT`, "8080"],
      [`${name}_PORT`, "tcp://10.0.0.7:8080"],
      [`${name}_PORT_8080_TCP`, "tcp://10.0.0.7:8080"],
      [`${name}_PORT_8080_TCP_PROTO`, "tcp"],
      [`${name}_PORT_8080_TCP_PORT`, "8080"],
      [`${name}_PORT_8080_TCP_ADDR`, "10.0.0.7"],
    ]),
  );
  const clients = { INTAKE_API_KEY: "x", FORMS_API_KEY: "x", STRIPE_API_KEY: "x" };
  assert.deepEqual(faults({ ...runner, ...neighbours, ...clients }), []);
});

test("settings are read even where the names cannot be listed, as on Deno with a narrow permission", () => {
  const narrow = new Proxy(minimal, {
    ownKeys: () => {
      throw Object.assign(new Error("Requires env access"), { name: "NotCapable" });
    },
  });
  assert.equal(readConfig(narrow).databaseUrl, databaseUrl);
});
