#!/bin/bash
# Goes to another release without refusing a connection, and back by itself when the new one does not get well.
# docs/install.md tells it in words.
#
#   instance a serves ──▶ instance b starts as the new release ──▶ current ─▶ b   ──▶ a answers what it was asked,
#                         on the same sockets, and reports well    in one step        and ends
#
# Whatever ends it in the middle, one instance serves; the next run of this script puts the rest in order.
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

# Stops what an upgrade that was broken off has left beside the instance that serves, and starts that one if it does not run.
heal() {
  local code=0
  rm -f "$home"/*.new
  all_well "$serving" "$old" 1 || code=$?
  # No release gets well without it, and a restart would only end what waits for it.
  [ "$code" -ne 3 ] || refuse "The database takes no writes, so nothing was done, and $old goes on: lead-ctl doctor says more."
  if [ "$code" -ne 0 ]; then
    say "Not all of lead-intake runs as $old; starting it"
    install_units "$home/current" && start_instance "$serving" && all_well "$serving" "$old" || return 1
  fi
  enable_instance "$serving"
  stop_instance "$free"
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
  point "$home/$free" "releases/$version" && install_units "$release" && start_instance "$free" || return 1
  # The console has one address for both. A service that has started has written to the store.
  is_well intake "$free" "$version" && is_well actions "$free" "$version" || return 1
  say "$version runs beside $old, and is well"
}

# From here on the new release is the one that runs, at the next boot as well.
take_over() {
  enable_instance "$free" && point "$home/current" "$free" || return 1
  stop_instance "$serving"
  all_well "$free" "$version" || return 1
  say "$old has answered what it was asked, and has ended; $version serves"
}

finish() {
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

# Back to what ran before, which has not stopped unless the new one had taken over.
roll_back() {
  trap '' INT TERM HUP
  complain "$1 Going back to $old."
  show_last_words
  if ! { install_units "$releases/$old" && start_instance "$serving" && enable_instance "$serving" &&
    point "$home/current" "$serving"; }; then
    complain "$old does not get well either. Look at: journalctl -u 'lead-*' -e, and lead-ctl doctor."
    exit 3
  fi
  stop_instance "$free"
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
  serving=$(instance_of_current)
  free=$(other_instance "$serving")
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
