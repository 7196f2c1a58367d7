#!/bin/bash
# Releases the client kits: all of them, in one version.
#
#   scripts/release_kits.sh                  builds every kit's files into build/kits/VERSION and prints the publish commands
#   scripts/release_kits.sh go rust          only these
#   scripts/release_kits.sh --set 0.2.0      sets all kits' version; commit the change
#   scripts/release_kits.sh --name npm_scope acme   sets npm_scope, composer_vendor or go_path; commit the change
#   scripts/release_kits.sh --publish        builds and then runs the publish commands
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "release_kits: $1" >&2
  exit "${2:-1}"
}
# A value in a JSON file, by its path.
member() {
  node -e 'let value = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
    for (const name of process.argv.slice(2)) value = value?.[name];
    console.log(Array.isArray(value) ? value.join(" ") : value ?? "");' "$@"
}

publish=no
kits=()
while [ $# -gt 0 ]; do
  case $1 in
    --set)
      [[ ${2-} =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--set needs a version such as 0.2.0" 2
      old=$(member kits/kits.json version)
      # The tests compare every kit's version with kits.json.
      git ls-files -z kits | grep -zv '^kits/conformance/' |
        xargs -0 sed -i -E "s/(^|[^0-9.])${old//./\\.}(\.?([^0-9.]|\$))/\1$2\2/g"
      echo "All kits have version $2 now. Run npm test -- kits, and npx node scripts/build_kits.ts; then commit."
      exit 0
      ;;
    --name)
      old=$(member kits/kits.json names "${2-}")
      [[ -n $old && ${3-} =~ ^[a-z0-9][a-z0-9./-]*$ ]] || fail "--name needs npm_scope, composer_vendor or go_path, and a name" 2
      case $2 in
        npm_scope) what="s|@$old/leads-|@$3/leads-|g; s|\./$old-leads-|./$3-leads-|g" ;;
        composer_vendor) what="s|(^\|[^@])$old/leads-php|\1$3/leads-php|g" ;;
        go_path) what="s|${old//./\\.}/leads-|$3/leads-|g; s|(GONOSUMDB=)$old|\1${3%%/*}|" ;;
      esac
      git ls-files -z kits | xargs -0 sed -i -E "$what"
      sed -i "s|\"$2\": \"$old\"|\"$2\": \"$3\"|" kits/kits.json
      echo "$2 is $3 now. Run npm test -- kits, and npx node scripts/build_kits.ts; then commit."
      exit 0
      ;;
    --publish) publish=yes ;;
    -*) fail "unknown option: $1" 2 ;;
    *)
      [ -f "kits/$1/kit.json" ] || fail "unknown kit: $1" 2
      kits+=("$1")
      ;;
  esac
  shift
done
version=$(member kits/kits.json version)
[ ${#kits[@]} -gt 0 ] || read -ra kits <<< "$(member kits/kits.json kits)"

if [ $publish = yes ] && [ -n "$(git status --porcelain)" ]; then
  fail "commit first: only committed files can be published"
fi

for kit in "${kits[@]}"; do
  manifest=kits/$kit/kit.json
  out=$PWD/build/kits/$version/$kit
  rm -rf "$out"
  mkdir -p "$out"
  command=$(member "$manifest" release build)
  (cd "kits/$kit" && OUT=$out VERSION=$version sh -euc "$command") > "$out.log" 2>&1 ||
    fail "$kit could not be built: $(tail -n 20 "$out.log")"
  files=$(cd "$out" && find . -type f -printf '%P\n' | sort)
  [ -n "$files" ] || fail "the build of $kit produced no file"
  (cd "$out" && xargs -d '\n' sha256sum <<< "$files" > SHA256SUMS)
  echo "$(member "$manifest" name) $version: ${files//$'\n'/ }"
done

for kit in "${kits[@]}"; do
  manifest=kits/$kit/kit.json
  command=$(member "$manifest" release publish)
  if [ $publish = no ]; then
    echo "would publish $(member "$manifest" name): $command"
  else
    out=$PWD/build/kits/$version/$kit
    (cd "kits/$kit" && OUT=$out VERSION=$version sh -euc "$command")
  fi
done
[ $publish = no ] || echo "Set \"published\" in the kit.json of each to true, run npx node scripts/build_kits.ts, and commit."
