/**
 * The socket on which systemd hears of a service, with a list of what was said.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { atEnd } from "./at_end.ts";
import { temporaryFolder } from "./folder.ts";
import { until } from "./until.ts";

// Neither runtime reads datagrams of Unix. One is written whole: who has heard a line of it has heard the others.
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True:
    print(s.recv(65536).decode(), flush=True)
`;

/** Opens one. */
export async function openNotifySocket(): Promise<
  { readonly path: string; readonly heard: readonly string[] }
> {
  const path = join(temporaryFolder(), "notify");
  const child = spawn("python3", ["-c", receiver, path], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(() => child.kill("SIGKILL"));
  const heard: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => heard.push(line));
  await until(() => heard.includes("bound"), { what: "the socket is bound" });
  return { path, heard };
}
