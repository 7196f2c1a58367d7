/** What PostgreSQL keeps of a password. */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

// PostgreSQL's own number.
const iterations = 4_096;

/** What PostgreSQL keeps of a password (RFC 5803); it takes it in the password's place. */
export function verifierOf(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const mac = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(mac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${stored}:${
    mac("Server Key").toString("base64")
  }`;
}
