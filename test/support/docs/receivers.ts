/**
 * Runs the webhook receivers of docs/webhooks.md in six languages as programs that read one request per line and
 * print whether it is genuine, or that the function threw.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { temporaryFolder } from "../folder.ts";
import { runTool } from "../tool.ts";

/** A request to verify. */
export interface Received {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly signatures: string;
  readonly body: Uint8Array;
}

/** How a language's function becomes a program. */
interface Receiver {
  /** The language in the page's fences. */
  readonly fence: string;
  /** The program's files, with the function's text. */
  readonly files: (code: string) => Readonly<Record<string, string>>;
  readonly command: string;
}

const node = JSON.stringify(process.execPath);

/** The languages by their name on the page. */
export const receivers = {
  "TypeScript": {
    fence: "ts",
    files: (code) => ({
      "main.ts": `${code}
import { readFileSync } from "node:fs";
for (const line of readFileSync(0, "utf8").trimEnd().split("\\n")) {
  const [secret, id, timestamp, signatures, body] = line.split("\\t");
  try {
    console.log(verify(secret, id, timestamp, signatures, Buffer.from(body, "base64")));
  } catch {
    console.log("thrown");
  }
}
`,
    }),
    command: `${node} main.ts`,
  },
  "Python": {
    fence: "python",
    files: (code) => ({
      "main.py": `${code}
import sys
for line in sys.stdin:
    *texts, body = line.rstrip("\\n").split("\\t")
    try:
        print(str(verify(*texts, base64.b64decode(body))).lower())
    except Exception:
        print("thrown")
`,
    }),
    command: "python3 main.py",
  },
  "Go": {
    fence: "go",
    files: (code) => ({
      "go.mod": "module receiver\n\ngo 1.21\n",
      "webhooks/verify.go": code,
      "main.go": `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"receiver/webhooks"
	"strings"
)

func report(t []string) {
	defer func() {
		if recover() != nil {
			fmt.Println("thrown")
		}
	}()
	body, _ := base64.StdEncoding.DecodeString(t[4])
	fmt.Println(webhooks.Verify(t[0], t[1], t[2], t[3], body))
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		report(strings.Split(lines.Text(), "\\t"))
	}
}
`,
    }),
    command: "go vet ./... && go run .",
  },
  "PHP": {
    fence: "php",
    files: (code) => ({
      "main.php": `${code}
foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    [$secret, $id, $timestamp, $signatures, $body] = explode("\\t", $line);
    try {
        echo verify($secret, $id, $timestamp, $signatures, base64_decode($body)) ? "true\\n" : "false\\n";
    } catch (Throwable) {
        echo "thrown\\n";
    }
}
`,
    }),
    command: "php -d error_reporting=-1 -d display_errors=stderr main.php",
  },
  "Ruby": {
    fence: "ruby",
    files: (code) => ({
      "main.rb": `${code}
STDIN.each_line(chomp: true) do |line|
  *texts, body = line.split("\\t", -1)
  puts begin
    verify(*texts, body.unpack1("m"))
  rescue StandardError
    "thrown"
  end
end
`,
    }),
    command: "ruby -w main.rb",
  },
  "Java": {
    fence: "java",
    files: (code) => ({
      "Webhook.java": code,
      "Main.java": `import java.util.Base64;
import java.util.Scanner;

final class Main {
    public static void main(String[] args) throws Exception {
        Scanner lines = new Scanner(System.in, "UTF-8");
        while (lines.hasNextLine()) {
            String[] t = lines.nextLine().split("\\t", -1);
            try {
                System.out.println(Webhook.verify(t[0], t[1], t[2], t[3], Base64.getDecoder().decode(t[4])));
            } catch (RuntimeException error) {
                System.out.println("thrown");
            }
        }
    }
}
`,
    }),
    command: "javac -Xlint:all -Werror -d . Webhook.java Main.java && java -cp . Main",
  },
} as const satisfies Record<string, Receiver>;

/** A language in {@linkcode receivers}. */
export type Language = keyof typeof receivers;

/** What a function returned, or that it threw. */
export type Verdict = "true" | "false" | "thrown";

/**
 * Returns the function's verdict for each request.
 *
 * @throws {Error} with the program's output when it fails or prints anything else
 */
export async function verdictsOf(
  language: Language,
  code: string,
  requests: readonly Received[],
): Promise<Verdict[]> {
  const { files, command } = receivers[language];
  const folder = temporaryFolder("receiver");
  for (const [name, text] of Object.entries(files(code))) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const lines = requests.map(({ secret, id, timestamp, signatures, body }) =>
    [secret, id, timestamp, signatures, Buffer.from(body).toString("base64")].join("\t")
  );
  const { code: exit, stdout, stderr } = await runTool(["sh", "-e", "-c", command], {
    cwd: folder,
    env: { GOPROXY: "off", GOFLAGS: "-mod=mod" },
    input: `${lines.join("\n")}\n`,
  });
  const words = stdout.trim().split("\n");
  if (
    exit !== 0 || words.length !== requests.length ||
    words.some((word) => !/^(true|false|thrown)$/.test(word))
  ) {
    throw new Error(`${command}: ${exit}\n${stdout}${stderr}`);
  }
  return words as Verdict[];
}
