#!/bin/bash
# Restores the database to a point in time from pgBackRest's repository; docs/backup.md describes it.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/restore.sh --time 'TIME' | --latest  [--dry-run] [--yes] [--journal FILE]…

Restores the database to a point in time (--time) or to the end of the archive (--latest), reapplies revocations and
erasures that the restore undid, and starts the service again. Stop PostgreSQL first. Its current data folder is renamed,
not deleted.

  --time 'TIME'     such as '2026-11-22 03:14:07' (this machine's clock), '2026-11-22T03:14:07Z' or '10 minutes ago'
  --latest          everything that was archived
  --dry-run         print what would be done and change nothing
  --yes             do not ask for confirmation
  --journal FILE    a further log of the service, such as another machine's; may be repeated. This machine's journal and
                    /var/lib/lead-audit/audit.jsonl are always read
  --config FILE     pgBackRest's settings (/etc/pgbackrest.conf)
  --stanza NAME     its stanza (lead)
  --unit NAME       PostgreSQL's unit (postgresql@15-main.service; the version comes from the data folder)

The database owner's URL is read from /etc/lead-intake/owner_database_url, unless DATABASE_URL or DATABASE_URL_FILE is
set.

Exit code: 0 restored and running; 1 refused or failed, and the last line says how to continue; 2 wrong usage.
TEXT
}

wrong() {
  echo "$1" >&2
  usage >&2
  exit 2
}
refuse() {
  echo "$1" >&2
  exit 1
}
say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$1"; }

time='' latest='' dry_run='' yes='' unit='' journals=()
config=/etc/pgbackrest.conf stanza=lead audit=/var/lib/lead-audit/audit.jsonl
while [ $# -gt 0 ]; do
  case $1 in
    --latest) latest=yes ;;
    --dry-run) dry_run=yes ;;
    --yes) yes=yes ;;
    --help | -h) usage; exit 0 ;;
    --time | --journal | --config | --stanza | --unit | --audit)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --time) time=$2 ;;
        --journal) journals+=("$2") ;;
        --config) config=$2 ;;
        --stanza) stanza=$2 ;;
        --unit) unit=$2 ;;
        --audit) audit=$2 ;;
      esac
      shift
      ;;
    *) wrong "Unknown option: $1" ;;
  esac
  shift
done
[ -n "$time$latest" ] || wrong '--time or --latest is missing'
[ -z "$time" ] || [ -z "$latest" ] || wrong '--time and --latest exclude each other'

root=$(cd "$(dirname "$0")/.." && pwd)
# The release's own Node.
node=$root/runtime/node
[ -x "$node" ] || node=node
[ -r "$config" ] || refuse "$config cannot be read; try sudo"

# A value of pgBackRest's settings: the stanza's, else the global one.
configured() {
  awk -v stanza="[$stanza]" -v name="$1" -v found="$2" '
    /^\[/ { section = $0; sub(/[ \t]+$/, "", section) }
    section == stanza || section == "[global]" {
      at = index($0, "=")
      key = substr($0, 1, at - 1); gsub(/[ \t]/, "", key)
      if (key == name && (section == stanza || !own)) { found = substr($0, at + 1); own = section == stanza }
    }
    END { gsub(/^[ \t]+|[ \t]+$/, "", found); print found }' "$config"
}
data=$(configured pg1-path '')
port=$(configured pg1-port 5432)
socket=$(configured pg1-socket-path /var/run/postgresql)
[ -n "$data" ] || refuse "$config names no pg1-path in [$stanza]"
parent=$(dirname "$data")
[ -d "$parent" ] || refuse "$parent does not exist: is its disk mounted?"
if [ -z "$unit" ]; then
  # Debian's folder is /var/lib/postgresql/15/main.
  unit=postgresql@$(basename "$parent")-$(basename "$data").service
fi

# PostgreSQL's account: the owner of its data, or of the folder around it.
owner=$(stat -c %U "$([ -d "$data" ] && echo "$data" || echo "$parent")")
[ "$owner" != root ] || owner=postgres
if [ "$(id -un)" = "$owner" ]; then
  as_owner() { (cd / && "$@"); }
elif [ "$(id -u)" -eq 0 ]; then
  as_owner() { (cd / && runuser -u "$owner" -- "$@"); }
else
  refuse "Run this as root: sudo $0"
fi
backrest() { as_owner pgbackrest --config="$config" --stanza="$stanza" "$@"; }
ask() { as_owner psql -XAtq -h "$socket" -p "$port" -d postgres -c "$1"; }

# The point in time, and the backup to start from.
if [ -n "$time" ]; then
  seconds=$(date -d "$time" +%s.%6N 2>&1) || wrong "--time is not a valid time: $time"
  [ "${seconds%.*}" -le "$(date +%s)" ] || refuse "--time is in the future: $(date -d "@$seconds")"
  target=$(date -u -d "@$seconds" '+%Y-%m-%d %H:%M:%S.%6N+00')
  words="$(date -d "@$seconds" '+%Y-%m-%d %H:%M:%S %Z') ($(date -u -d "@$seconds" '+%Y-%m-%d %H:%M:%S') UTC)"
else
  words='the end of the archive'
fi
info=$(backrest --output=json info) || refuse "pgBackRest cannot list its backups; pgbackrest info reports the cause"
# For each backup: when it finished, its label, and the size of its data in bytes; the newest last.
backups=$(printf '%s' "$info" | "$node" -e '
  for (const { backup } of JSON.parse(require("node:fs").readFileSync(0, "utf8"))) {
    for (const { error, timestamp, label, info } of backup ?? []) {
      if (!error) console.log(timestamp.stop, label, info.size);
    }
  }')
[ -n "$backups" ] || refuse "There is no backup of $stanza in the repository"
chosen=$(awk -v until="${seconds:-99999999999}" '$1 < until' <<<"$backups" | tail -n 1)
[ -n "$chosen" ] || refuse "The oldest backup finished at $(date -d "@$(head -n 1 <<<"$backups" | cut -d' ' -f1)"); you cannot restore to a point before it"
read -r done_at label bytes <<<"$chosen"

# A running server would write into the restored files.
if [ -e "$data/postmaster.pid" ] && kill -0 "$(head -n 1 "$data/postmaster.pid")" 2>/dev/null; then
  running=yes
else
  running=
fi
aside=
free=$(($(stat -f -c '%a * %S' "$parent")))
if [ -d "$data" ] && [ -n "$(ls -A "$data")" ]; then aside=$data.before-$(date +%Y%m%dT%H%M%S); fi
mapfile -t units < <(systemctl list-units --plain --no-legend --state=active,activating,reloading 'lead-*' | awk '{print $1}')
# Units that failed or were stopped manually are also started if they are enabled.
mapfile -t starts < <({
  [ ${#units[@]} -eq 0 ] || printf '%s\n' "${units[@]}"
  systemctl list-unit-files --plain --no-legend --state=enabled 'lead-*' | awk '$1 !~ /@\./ {print $1}'
} | sort -u)

cat <<TEXT
Restores $data
  to                $words
from the backup   $label, finished at $(date -d "@$done_at" '+%Y-%m-%d %H:%M:%S %Z'), and the WAL since
  needs             $((bytes / 1048576)) MiB; $((free / 1048576)) MiB are free
Stops               ${units[*]:-nothing: no unit of the service runs}
Renames             $([ -n "$aside" ] && echo "$data to $aside" || echo 'nothing: the folder is empty')
Starts              $unit with the database of that point in time
Reapplies           revocations and erasures that the restore undid: ctl restored --apply
Starts              ${starts[*]:-nothing}
TEXT
[ -z "$running" ] || refuse "PostgreSQL is running on $data. Nothing was done. First:  sudo systemctl stop $unit"
if [ -n "$aside" ] && mountpoint -q "$data"; then
  refuse "A disk is mounted at $data, so the folder cannot be renamed. Nothing was done. First: move its files away and leave it empty"
fi
[ "$free" -gt "$bytes" ] || refuse "There is not enough room beside the old folder. Nothing was done. First: move $data to another disk"
# The file with the owner's URL, which lead-ctl uses too.
owner_file=
if [ -z "${DATABASE_URL:-}${DATABASE_URL_FILE:-}" ]; then
  owner_file=/etc/lead-intake/owner_database_url
  [ -r "$owner_file" ] || refuse "Neither $owner_file nor DATABASE_URL_FILE has the database owner's URL, which ctl needs. Nothing was done"
fi
if [ -n "$dry_run" ]; then
  echo 'Nothing was done: --dry-run.'
  exit 0
fi
if [ -z "$yes" ]; then
  read -r -p 'Type restore to continue: ' answer || answer=
  [ "$answer" = restore ] || refuse 'Nothing was done.'
fi

# Nothing may deliver or accept on a half-restored database.
trap 'echo "Failed; the database is unchanged. To continue without a restore: sudo systemctl start $unit ${starts[*]}" >&2' ERR
# Sockets and services in one call: a connection would start a service again.
[ ${#units[@]} -eq 0 ] || systemctl stop "${units[@]}"
say "stopped ${units[*]:-nothing}"
mode=700
if [ -n "$aside" ]; then
  mode=$(stat -c %a "$data")
  mv "$data" "$aside"
  say "renamed $data to $aside"
fi
# From here on, an operator can go back only by restoring the old folder.
back="To go back to the old database: sudo systemctl stop $unit; sudo rm -rf $data${aside:+; sudo mv $aside $data}"
trap 'echo "Failed. The service stays stopped. $back" >&2' ERR
if [ ! -d "$data" ]; then install -d -m "$mode" -o "$owner" -g "$(id -gn "$owner")" "$data"; fi

if [ -n "$time" ]; then
  backrest --type=time "--target=$target" --target-action=promote restore
else
  backrest restore
fi
say 'restored the files; PostgreSQL is replaying WAL'
systemctl start "$unit"
# Replay may take hours; wait for as long as the server runs.
until state=$(ask 'select pg_is_in_recovery()' 2>/dev/null) && [ "$state" = f ]; do
  if ! systemctl is-active --quiet "$unit"; then
    echo "PostgreSQL has stopped. If its log says \"recovery ended before configured recovery target was reached\", the archive ends before that time: use --latest. Its log: journalctl -u $unit, /var/log/postgresql/" >&2
    false
  fi
  sleep 1
done
# If no commit was replayed, the last one is in the backup.
point=$(ask "select to_char(coalesce(pg_last_xact_replay_timestamp(), to_timestamp($done_at)) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
say "PostgreSQL accepts writes; its last transaction is from $point"

# The logs, from the day before, contain what happened after that point.
folder=$(mktemp -d)
logs=()
if journalctl --quiet --output=cat --unit='lead-*' --since="$(date -d "$point - 1 day" '+%Y-%m-%d %H:%M:%S')" >"$folder/journal" 2>/dev/null; then
  logs+=(--journal "$folder/journal")
fi
for one in "$audit" "$audit".before-*; do
  if [ -f "$one" ]; then logs+=(--journal "$one"); fi
done
for one in "${journals[@]}"; do logs+=(--journal "$one"); done
restored=()
if [ -n "$owner_file" ]; then restored=(env "DATABASE_URL_FILE=$owner_file"); fi
restored+=("$node" --import ./scripts/check_node.js scripts/ctl.ts restored --apply --point "$point" "${logs[@]}")
# The restored audit continues from an earlier row than the file, so a new file is started.
audit_aside=
if [ -f "$audit" ]; then audit_aside=$audit.before-$(date +%Y%m%dT%H%M%S); fi
trap 'echo "The database is restored; the service stays stopped and delivers nothing. Continue, in $root, with: ${restored[*]}; ${audit_aside:+then: mv $audit $audit_aside; }then: systemctl start ${starts[*]}" >&2' ERR
(cd "$root" && "${restored[@]}")
rm -rf "$folder"
if [ -n "$audit_aside" ]; then mv "$audit" "$audit_aside"; fi

if [ ${#starts[@]} -gt 0 ]; then
  systemctl reset-failed "${starts[@]}" 2>/dev/null || true
  systemctl start "${starts[@]}"
fi
trap - ERR
say "started ${starts[*]:-nothing}"
cat <<TEXT

Restored. Now:
  lead-ctl doctor          checks the installation
  lead-ctl dead list       lists what is held until you decide
  a new full backup        sudo systemctl start --no-block lead-backup@full.service
  the old folder           ${aside:-none}; remove it once you are sure; it contains personal data
TEXT
