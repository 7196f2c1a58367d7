/** A notification socket like systemd's, with the received messages. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { atEnd } from "./at_end.ts";
import { temporaryFolder } from "./folder.ts";
import { until } from "./until.ts";

// Neither runtime reads Unix datagrams; Perl is part of every Debian. A message is written
// as a whole, so one of its lines implies the others.
const receiver = `
use Socket; $| = 1; my $socket;
socket($socket, PF_UNIX, SOCK_DGRAM, 0) and bind($socket, sockaddr_un($ARGV[0])) or die;
print "bound\n";
while (defined recv($socket, my $message, 65536, 0)) { print "$message\n" }
`;

/** Opens the socket. */
export async function openNotifySocket(): Promise<
  { readonly path: string; readonly heard: readonly string[] }
> {
  const path = join(temporaryFolder(), "notify");
  const child = spawn("perl", ["-e", receiver, path], { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(() => child.kill("SIGKILL"));
  const heard: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => heard.push(line));
  await until(() => heard.includes("bound"), { what: "the socket is bound" });
  return { path, heard };
}
