#!/bin/bash
# Goes to another release without refusing a connection, and back by itself when the new one does not get well.
# docs/install.md tells it in words.
#
#   old serves ──▶ new beside it, on the same sockets ──▶ link and units exchanged ──▶ the unit restarts as new,
#                  well by its own answer                 one step                      the one beside it ends
#
# Whatever ends it in the middle, one release serves; the next run of this script puts the rest in order.
set -euo pipefail
umask 022
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/install/common.sh
. "$source_folder/scripts/install/common.sh"

usage() {
  cat <<'TEXT'
Usage: lead-upgrade RELEASE

RELEASE is the tarball or the unpacked folder of a release, or the version of an installed one to go back to.

Brings the release to /opt/lead-intake/releases, migrates the database, starts the new release beside the old one on the
same sockets, and lets the old one finish and end when the new one is well. Until then nothing is lost by giving up: a
release that does not get well is stopped, and the old one goes on.

  --keep N   how many releases stay to go back to, the newest of them; 3 when left out
  --list     the installed versions, and which runs

Exit code: 0 done; 1 the old release runs, and the lines say why; 2 nothing was done; 3 a person is needed.
TEXT
}

keep=3 given=''
read_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --keep)
        [[ ${2:-} =~ ^[1-9][0-9]?$ ]] || refuse "--keep needs a number from 1 to 99."
        keep=$2 && shift 2
        ;;
      --list)
        say "installed: $(installed_versions)"
        say "runs: $(linked_version "$home/current" || true)"
        exit 0
        ;;
      --help | -h) usage && exit 0 ;;
      -*) refuse "Unknown option: $1. --help lists them." ;;
      *)
        [ -z "$given" ] || refuse "One release, please: $given or $1?"
        given=$1 && shift
        ;;
    esac
  done
  [ -n "$given" ] || refuse "$(usage)"
}

# What another run has left. The ones beside go when the units themselves are well, so that somebody always serves.
heal() {
  rm -f "$home"/*.new
  if are_active "${parts[@]/#/lead-}"; then
    local code=0
    all_well "$old" 0 1 || code=$?
    # No release gets well without it, and a restart would only end what waits for it.
    [ "$code" -ne 3 ] || refuse "The database takes no writes, so nothing was done, and $old goes on: lead-ctl doctor says more."
    if [ "$code" -eq 0 ]; then
      drop_next
      return
    fi
  fi
  say "Not all of lead-intake runs as $old; starting it"
  if ! { install_units "$home/current" && serve_as "$old"; }; then
    # What an upgrade that was broken off has put here may never have been well. Anything else has, and is not to blame.
    [ "$(linked_version "$home/next")" = "$old" ] || return 1
    local before
    before=$(linked_version "$home/previous") || return 1
    say "$old does not get well; going back to $before"
    old=$before
    point "$home/current" "releases/$old" && install_units "$home/current" && serve_as "$old" || return 1
  fi
  drop_next
}

are_active() {
  local unit
  for unit in "$@"; do systemctl is-active --quiet "$unit.service" || return 1; done
}

# Whether every part answers as that version, from a process that is no older than that, within so many seconds each. The
# exit code is is_well's.
all_well() {
  local part code=0
  for part in "${parts[@]}"; do
    is_well "$part" "$1" "$2" "${3:-20}" || code=$?
    if [ "$code" -ne 0 ]; then
      [ "${3:-20}" -lt 20 ] || complain "lead-$part.service gives no good answer as $1."
      return "$code"
    fi
  done
}

# Restarts the units that stay, and returns when they are well by their own answer. systemctl waits until the old
# processes have finished and the new ones are ready.
serve_as() {
  local since
  since=$(date +%s.%N)
  restart "${parts[@]/#/lead-}" && all_well "$1" "$since"
}

# A process that waits for its database asks systemd for more time again and again.
restart() {
  forget_failures "${@/%/.service}"
  timeout --foreground "$start_s" systemctl restart "${@/%/.service}" 9>&-
}

next_units=(lead-{intake,public,actions}-next)

drop_next() {
  systemctl stop "${next_units[@]/%/.service}" 2>/dev/null || true
  systemctl reset-failed "${next_units[@]/%/.service}" 2>/dev/null || true
  rm -f "$home/next"
}

# --- The steps ----------------------------------------------------------------------------------------------------

migrate_database() {
  # An older release runs on a newer database; its own migration would undo what the newer one needs.
  if [ "$direction" = back ]; then return; fi
  local applied
  applied=$(as_owner "$release" migrate.ts) || return 1
  if [ "$applied" = "The database is current" ]; then say "The database is current"; else
    say "Migrated the database: $(grep -c . <<<"$applied") files of sql/"
  fi
}

start_beside() {
  local unit
  point "$home/next" "releases/$version" || return 1
  for unit in "${next_units[@]}"; do
    copy_if_changed "$release/scripts/systemd/$unit.service" "$units/$unit.service" 644 || return 1
  done
  systemctl daemon-reload || return 1
  # They start as ready once the store has taken a write.
  restart "${next_units[@]}" && are_active "${next_units[@]}" || return 1
  say "$version runs beside $old, and is well"
}

# The units that stay start as the new release, while the ones beside them serve.
take_over() {
  point "$home/previous" "releases/$old" && point "$home/current" "releases/$version" || return 1
  install_units "$release" && serve_as "$version" || return 1
  say "$old has answered what it was asked, and has ended; $version serves"
}

finish() {
  drop_next
  as_owner "$release" build_site.ts >/dev/null || complain "The site stays as it was; lead-ctl doctor may say why."
  prune
}

prune() {
  local found
  for found in $(installed_versions | tr ' ' '\n' | head -n "-$keep"); do
    case $found in
      "$version" | "$old") ;;
      *) rm -rf "${releases:?}/$found" ;;
    esac
  done
}

# Back to what ran before: the old release never stopped serving, or serves again before the new one ends.
roll_back() {
  trap '' INT TERM HUP
  complain "$1 Going back to $old."
  show_last_words
  if [ "$(linked_version "$home/current")" != "$old" ]; then
    if ! { point "$home/current" "releases/$old" && install_units "$releases/$old" && serve_as "$old"; }; then
      complain "$old does not get well either. Look at: journalctl -u 'lead-*' -e, and lead-ctl doctor."
      exit 3
    fi
  fi
  drop_next
  complain "$old runs, as before. $version stays in $release for a look, and is not used."
  exit 1
}

show_last_words() {
  journalctl --unit 'lead-*' --since "@$began" --lines 200 --no-pager \
    --output cat 2>/dev/null | grep -v '"event":"request"' | tail -n 8 >&2 || true
}

main() {
  read_arguments "$@"
  require_machine
  [ -e "$home/current/VERSION" ] || refuse "lead-intake is not installed here: scripts/install.sh of the release does that."
  lock_installation
  began=$(date +%s)
  old=$(version_of "$home/current")
  place_release "$given" || exit 2
  release=$releases/$version
  heal || {
    complain "lead-intake does not get well. Look at: journalctl -u 'lead-*' -e, and lead-ctl doctor."
    exit 3
  }
  if [ "$version" = "$old" ]; then
    say "$version runs already"
    return
  fi
  direction=forward
  [ "$(printf '%s\n%s\n' "$old" "$version" | sort -V | tail -n 1)" = "$version" ] || direction=back
  say "From $old to $version"
  trap 'roll_back "It was interrupted."' INT TERM HUP
  migrate_database || roll_back "The migration has failed."
  start_beside || roll_back "$version does not get well."
  take_over || roll_back "$version does not get well in its place."
  trap '' INT TERM HUP
  finish
  say "$version runs, after $(($(date +%s) - began)) s; back with: lead-upgrade $old"
}

# Read whole before it runs: the folder that it stands in may go.
main "$@"
exit
