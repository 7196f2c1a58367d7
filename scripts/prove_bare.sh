#!/bin/bash
# prove_bare.sh [NODE_VERSION …]: runs the README's two commands in a bare Debian with only Node and npm, as root and as an
# ordinary user, by default with Node 20, 22 and 24. Needs root, debootstrap and git. Tests the committed state, in
# temporary folders.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- 20 22 24
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $(uname -m) in aarch64) arch=arm64 ;; *) arch=x64 ;; esac

echo "Creating a bare Debian"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)' | sed -n 's/^Debian bookworm main //p' | head -n 1)
debootstrap --variant=minbase bookworm "$work/bare" "$mirror" > "$work/debootstrap.log" || { tail "$work/debootstrap.log"; exit 1; }
cp /etc/resolv.conf /etc/hosts "$work/bare/etc/"
chroot "$work/bare" useradd --create-home --shell /bin/bash someone
mkdir -p "$work/bare/usr/local/etc"
{
  echo "registry=$(npm config get registry)"
  cafile=$(npm config get cafile)
  if [ "$cafile" != null ]; then
    cp "$cafile" "$work/bare/usr/local/etc/authorities.pem"
    echo "cafile=/usr/local/etc/authorities.pem"
  fi
} > "$work/bare/usr/local/etc/npmrc"

# Unpacks an npm package: package, folder.
unpack() {
  mkdir -p "$2"
  tar -xzf "$work/$(npm pack --silent --pack-destination "$work" "$1")" -C "$2" --strip-components=1
}

# Posts a lead as in the README, waits until it is delivered and prints one line.
read -r -d '' first_lead << 'END' || true
const { readFileSync } = require("node:fs");
const { execFileSync } = require("node:child_process");
const find = (pattern) => pattern.exec(readFileSync("start.log", "utf8"))?.[1];
(async () => {
  const startMs = Date.now();
  while (!find(/^ {2}development key +(\S+)$/m)) await new Promise((settle) => setTimeout(settle, 100));
  const answer = await fetch(`${find(/^ {2}intake +(\S+)$/m)}/v1/intake`, {
    method: "POST",
    headers: { "X-API-Key": find(/^ {2}development key +(\S+)$/m), "Content-Type": "application/json" },
    body: JSON.stringify({ first_name: "Ada", last_name: "Lovelace", phone: "(555) 123-4567" }),
  });
  const { event_id } = await answer.json();
  const args = ["run", "-s", "ctl", "--", "lead", "show", event_id, "--json"];
  while (true) {
    const { delivery } = JSON.parse(execFileSync("npm", args, { encoding: "utf8" }));
    if (delivery.state === "delivered") break;
  }
  console.log(`npm start: ${answer.status}, and delivered after ${Date.now() - startMs} ms`);
})();
END
export first_lead

# Runs a script in the tree, in its own process and mount namespaces: account, script.
run_as() {
  unshare --mount --pid --fork --kill-child bash -euc '
    mount --rbind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    exec chroot "$1" env -i TERM=dumb LANG=C.UTF-8 first_lead="$first_lead" su - "$2" -w first_lead -c "$3"' bash "$work/tree" "$@"
}

failed=0
for version in "$@"; do
  for account in root someone; do
    rm -rf "$work/tree"
    cp -a "$work/bare" "$work/tree"
    unpack "node-linux-$arch@$version" "$work/tree/usr/local"
    unpack "npm@$([ "${version%%.*}" -ge 24 ] && echo 11 || echo 10)" "$work/tree/usr/local/lib/node_modules/npm"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/tree/usr/local/bin/npm"
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$work/tree/usr/local/bin/npx"
    home=$(chroot "$work/tree" sh -c "echo ~$account")
    git clone --quiet --no-hardlinks . "$work/tree$home/project"
    chroot "$work/tree" chown -R "$account" "$home/project"
    run_as "$account" 'echo "== Node $(node --version), npm $(npm --version), as $(whoami)"'
    run_as "$account" '
      cd project
      (npm ci && exec npm start) > start.log 2>&1 &
      timeout 300 node -e "$first_lead" || { cat start.log; exit 1; }
      kill -TERM $!; wait $! || [ $? -eq 143 ] # npm passes the signal on, waits, and exits with 143
    ' || failed=1
    run_as "$account" '
      cd project && rm -rf node_modules
      status=0; time (npm ci && npm test) > test.log 2>&1 || status=$?
      [ $status -eq 0 ] || grep -A 30 "^✖" test.log || tail -n 30 test.log
      sed -n "/^Steps/,\$p" test.log
      exit $status
    ' || failed=1
  done
done
exit $failed
