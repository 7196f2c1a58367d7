import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../src/settings/config.ts";
import { addCredentialFiles } from "../../src/settings/credentials.ts";
import { temporaryFolder } from "../support/folder.ts";

function environmentWith(files: Readonly<Record<string, string>>, given: Record<string, string> = {}) {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const environment: Record<string, string | undefined> = { CREDENTIALS_DIRECTORY: folder, ...given };
  addCredentialFiles(environment);
  return { environment, folder };
}

test("a credential named after a setting provides a secret's text or a TLS file's path", () => {
  const { environment, folder } = environmentWith({
    lead_DATABASE_URL: "postgres://a:b@127.0.0.1/leads\n",
    lead_ACTIONS_CLIENT_KEY_FILE: "key",
    another: "of somebody else",
  });
  assert.equal(environment.DATABASE_URL_FILE, `${folder}/lead_DATABASE_URL`);
  assert.equal(environment.ACTIONS_CLIENT_KEY_FILE, `${folder}/lead_ACTIONS_CLIENT_KEY_FILE`);
  assert.equal(readConfig(environment).databaseUrl, "postgres://a:b@127.0.0.1/leads");
  assert.ok(!Object.keys(environment).includes("another"));
});

test("a credential with an unknown name stops the start with a suggestion", () => {
  const { environment } = environmentWith({
    lead_DATABASE_URL: "postgres://127.0.0.1/a",
    lead_TLS_KEY_FIEL: "x",
  });
  assert.throws(() => readConfig(environment), /TLS_KEY_FIEL is not a setting; did you mean TLS_KEY_FILE\?/);
});
