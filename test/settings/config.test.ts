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

/** The faults of an environment; empty when it can be used. */
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

test("DATABASE_URL alone is enough; everything else has the published default", () => {
  const config = readConfig(minimal);
  assert.equal(config.databaseUrl, databaseUrl);
  assert.deepEqual(config.intake.listen, { host: "127.0.0.1", port: 8080 });
  assert.equal(config.intake.url, null);
  assert.equal(config.tls, null);
  assert.ok(config.trustedProxies.isEmpty);
  assert.equal(config.connectionsPerAddress, null);
  assert.deepEqual(config.intakeIpRate, limits.ipRate);
  assert.deepEqual(config.intakeKeyRate, limits.keyRate);
});

test("the console's time zone is one of the world's, and a misspelled one is refused with the likely name", () => {
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

test("addresses to listen on: IPv4, IPv6 in brackets, localhost, a port up to 65535", () => {
  const listen = (value: string) => readConfig({ ...minimal, INTAKE_LISTEN: value }).intake.listen;
  assert.deepEqual(listen("10.1.2.3:0"), { host: "10.1.2.3", port: 0 });
  assert.deepEqual(listen("[::1]:8443"), { host: "::1", port: 8443 });
  assert.deepEqual(listen("[fd00::1]:65535"), { host: "fd00::1", port: 65_535 });
  assert.deepEqual(listen("localhost:80"), { host: "localhost", port: 80 });
  for (
    const value of ["8080", ":8080", "127.0.0.1", "127.0.0.1:", "::1:80", "127.0.0.1:65536", "300.0.0.1:80"]
  ) {
    assert.ok(
      faults({ INTAKE_LISTEN: value }).some((text) => /^INTAKE_LISTEN is not address:port/.test(text)),
      value,
    );
  }
});

const withCertificate = { TLS_CERT_FILE: server.certFile, TLS_KEY_FILE: server.keyFile };

test("a public address needs a certificate", () => {
  for (
    const value of [
      "0.0.0.0:80",
      "[::]:80",
      "8.8.8.8:443",
      "[2001:db8::1]:443",
      "100.64.0.1:80",
      "172.32.0.1:80",
    ]
  ) {
    assert.match(fault({ INTAKE_LISTEN: value }), /^INTAKE_LISTEN is a public address .*TLS_CERT_FILE/);
  }
  for (const value of ["0.0.0.0:443", "8.8.8.8:443", "[::1]:443", "[fd00::1]:443"]) {
    assert.deepEqual(faults({ INTAKE_LISTEN: value, ...withCertificate }), []);
  }
});

test("with a certificate neither a public IPv6 address nor port 80 of a public address is listened at", () => {
  for (const value of ["[::]:443", "[2001:db8::1]:443"]) {
    assert.match(
      fault({ INTAKE_LISTEN: value, ...withCertificate }),
      /^INTAKE_LISTEN is a public IPv6 address .*0\.0\.0\.0$/,
    );
  }
  assert.match(
    fault({ INTAKE_LISTEN: "0.0.0.0:80", ...withCertificate }),
    /^INTAKE_LISTEN is port 80 .*443$/,
  );
  for (const value of ["127.8.8.8:80", "10.0.0.1:80", "192.168.1.1:80", "172.31.0.1:80", "[fe80::1]:80"]) {
    assert.deepEqual(faults({ INTAKE_LISTEN: value }), []);
  }
});

test("a certificate and a key that are no pair, and files that hold something else, are faults", () => {
  assert.equal(
    fault({ TLS_CERT_FILE: server.certFile, TLS_KEY_FILE: other.keyFile }),
    "TLS_CERT_FILE and TLS_KEY_FILE do not belong together",
  );
  for (const file of ["package.json", empty]) {
    assert.deepEqual(faults({ TLS_CERT_FILE: file, TLS_KEY_FILE: file }), [
      "TLS_CERT_FILE is not valid PEM without a passphrase",
      "TLS_KEY_FILE is not valid PEM without a passphrase",
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
  assert.match(fault({ ...actions, ACTIONS_CA_FILE: other.keyFile }), /^ACTIONS_CA_FILE is not valid PEM/);
  assert.match(fault({ ...actions, ACTIONS_CA_FILE: "" }), /^ACTIONS_CA_FILE is not set/);
  assert.match(
    fault({ ...actions, ACTIONS_CLIENT_KEY_FILE: server.keyFile }),
    /^ACTIONS_CLIENT_CERT_FILE and ACTIONS_CLIENT_KEY_FILE do not belong together/,
  );
  assert.equal(faults({ ACTIONS_URL: actions.ACTIONS_URL }).length, 3);
});

test("the actions tier is reached in the clear on this machine only", () => {
  for (const host of ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"]) {
    assert.equal(readConfig({ ...minimal, ACTIONS_URL: `http://${host}:9443` }).delivery?.files, null);
  }
  for (const host of ["10.0.0.1", "[::2]", "actions.internal", "127.0.0.1.example"]) {
    assert.match(fault({ ACTIONS_URL: `http://${host}:9443` }), /^ACTIONS_URL is http: on another machine/);
  }
});

test("a base address has a scheme and a host and nothing behind them", () => {
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
  for (const value of wrong) {
    assert.match(fault({ INTAKE_URL: value }), /^INTAKE_URL is not a base address/);
  }
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
  for (const value of ["10.0.0.0/33", "everybody", "10.0.0.0/8/8"]) {
    assert.match(fault({ TRUSTED_PROXIES: value }), /^TRUSTED_PROXIES is not a list of networks/);
  }
});

test("DATABASE_URL may name several servers; DATABASE_LISTEN_URL leads past a pooler, and is no pooler's", () => {
  const several = "postgres://a:hunter2@one:5432,two:5433/x?target_session_attrs=read-write";
  assert.equal(readConfig({ ...minimal, DATABASE_URL: several }).databaseUrl, several);
  const pooled = "postgres://a:hunter2@pooler:6432/x?pooler=transaction";
  const config = readConfig({ ...minimal, DATABASE_URL: pooled, DATABASE_LISTEN_URL: several });
  assert.equal(config.listenUrl, several);
  assert.equal(readConfig({ ...minimal, DATABASE_URL: pooled }).listenUrl, null);
  assert.equal(
    fault({ DATABASE_LISTEN_URL: pooled }),
    "DATABASE_LISTEN_URL is the address of a pooler; use the address of the server",
  );
});

test("a database address that is none is not repeated", () => {
  for (
    const value of [
      ...["mysql://u:hunter2@h/d", "hunter2", "postgres:/hunter2", "postgres://u:hunter2@h:port/d"],
      ...["postgres://a%zz:hunter2@h/x", "postgres://a:hunter2%@h/x", "postgres://a:hunter2@%zz/x"],
      ...["postgres://a:hunter2@one,two:x/x", "postgres://a:hunter2@one:5432,:5432/x"],
      ...[
        "postgres://a:hunter2@h/x?target_session_attrs=standby",
        "postgres://a:hunter2@h/x?sslmode=hunter2",
      ],
    ]
  ) {
    assert.match(
      fault({ DATABASE_URL: value }),
      /^DATABASE_URL (is not (a URL|valid)|has (a|an) (%|target_|sslmode))(?!.*hunter2)/,
    );
  }
  assert.match(fault({ DATABASE_URL: "" }), /^DATABASE_URL is not set/);
});

test("OPS_LISTEN must be loopback or private, even with a certificate, and differ from every public listener", () => {
  for (const value of ["0.0.0.0:9090", "203.0.113.7:9090", "[::]:9090", "[2001:db8::1]:9090"]) {
    assert.match(
      fault({ OPS_LISTEN: value, TLS_CERT_FILE: server.certFile, TLS_KEY_FILE: server.keyFile }),
      /^OPS_LISTEN is a public address .*private address/,
    );
  }
  for (const value of ["127.0.0.1:9090", "10.1.2.3:9090", "[::1]:9090", "192.168.0.1:0"]) {
    assert.deepEqual(faults({ OPS_LISTEN: value }), []);
  }
  assert.match(fault({ OPS_LISTEN: "127.0.0.1:8081" }), /^OPS_LISTEN and FORMS_LISTEN are the same address/);
});

test("surfaces on one address need a URL each, with hosts that differ", () => {
  const one = { INTAKE_LISTEN: "127.0.0.1:8443", FORMS_LISTEN: "127.0.0.1:8443" };
  assert.deepEqual(faults(one).map((text) => text.slice(0, 21)), [
    "INTAKE_URL is not set",
    "FORMS_URL is not set;",
  ]);
  const intake = { ...one, INTAKE_URL: "https://intake.example.com" };
  assert.match(fault(intake), /^FORMS_URL is not set/);
  assert.match(
    fault({ ...intake, FORMS_URL: "https://intake.example.com" }),
    /^INTAKE_URL and FORMS_URL name one host/,
  );
  assert.deepEqual(faults({ ...intake, FORMS_URL: "https://forms.example.com" }), []);
});

test("SURFACES lists what a process serves: all by default, delivery wherever the intake is", () => {
  const served = (value?: string, more = {}) => [
    ...readConfig({ ...minimal, ...(value === undefined ? {} : { SURFACES: value }), ...more }).surfaces,
  ];
  assert.deepEqual(served(), ["intake", "forms", "subscription", "site", "ops", "delivery"]);
  assert.deepEqual(served("intake"), ["intake", "delivery"]);
  assert.deepEqual(served(" site ,subscription\n"), ["site", "subscription"]);
  assert.deepEqual(served("delivery", { ACTIONS_URL: "http://127.0.0.1:8443" }), ["delivery"]);
  assert.deepEqual(served("ops,ops"), ["ops"]);
  for (const value of ["everything", "intake,plans", "Intake", ","]) {
    assert.match(fault({ SURFACES: value }), /^SURFACES is not a list of intake, forms, .*delivery$/);
  }
});

test("what a process does not serve needs no settings and cannot make them wrong", () => {
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
  assert.ok(faults({ ...tier, SURFACES: "forms,delivery" }).length > 0, "the client's certificate is needed");
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
  test(`the misspelled ${name} stops the start and names ${likely}, without its value`, () => {
    assert.equal(fault({ [name]: "hunter2" }), `${name} is not a setting; did you mean ${likely}?`);
  });
}

test("a variable with one of our prefixes that is like no setting is refused without a guess", () => {
  assert.equal(
    fault({ STRIPE_PUBLISHABLE: "x" }),
    "STRIPE_PUBLISHABLE is not a setting; docs/configuration.md lists them",
  );
});

test("settings of the other process, empty ones and variables of other programs do not stop the start", () => {
  const others = {
    SMTP_URL: "smtp://mail.example.com",
    MAIL_FROM: "a@example.com",
    ACTIONS_LISTEN: "127.0.0.1:1",
  };
  const foreign = {
    ...{
      PGHOST: "db",
      PGSSLMODE: "require",
      DATABASE_PASSWORD: "x",
      LEADS_API_KEY: "x",
      LEADS_BASE_URL: "x",
    },
    ...{ PATH: "/bin", MAIL: "/var/mail/x", MAILCHECK: "1", INTAKE: "x", INTAKE_LISTENS: " " },
  };
  assert.deepEqual(faults({ ...others, ...foreign }), []);
});

test("a secret may stand in the file that NAME_FILE names; white space around it is no part of it", () => {
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
  // What it holds is checked as ever, and not repeated.
  assert.throws(
    () => readConfig({ DATABASE_URL_FILE: filed("mysql://hunter2") }),
    {
      faults: ["DATABASE_URL is not a URL such as postgres://user:password@host:5432/database"],
    },
  );

  assert.deepEqual(faults({ DATABASE_URL_FILE }), ["DATABASE_URL_FILE: DATABASE_URL is set too"]);
  const wrong = (path: string, fault: string) =>
    assert.throws(() => readConfig({ DATABASE_URL_FILE: path }), { faults: [`DATABASE_URL_FILE: ${fault}`] });
  wrong("/nowhere/at/all", "/nowhere/at/all cannot be read (ENOENT)");
  wrong(authority.folder, `${authority.folder} cannot be read (EISDIR)`);
  wrong(empty, `${empty} is empty`);
  // What is no secret has no such file.
  assert.equal(
    fault({ INTAKE_LISTEN_FILE: empty }),
    "INTAKE_LISTEN_FILE is not a setting; did you mean INTAKE_LISTEN?",
  );
});

test("what runners, orchestrators and other tools put into an environment does not stop the start", () => {
  const runner = {
    ...{ ACTIONS_RUNTIME_URL: "https://x", ACTIONS_RUNTIME_TOKEN: "x", ACTIONS_CACHE_URL: "https://x" },
    ...{ ACTIONS_CACHE_SERVICE_V2: "True", ACTIONS_RESULTS_URL: "https://x", ACTIONS_ORCHESTRATION_ID: "x" },
    ...{ ACTIONS_ID_TOKEN_REQUEST_URL: "https://x", ACTIONS_RUNNER_DEBUG: "1", ACTIONS_STEP_DEBUG: "true" },
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

test("where the names cannot be listed, as on Deno with a narrow permission, the rest is read all the same", () => {
  const narrow = new Proxy(minimal, {
    ownKeys: () => {
      throw Object.assign(new Error("Requires env access"), { name: "NotCapable" });
    },
  });
  assert.equal(readConfig(narrow).databaseUrl, databaseUrl);
});
