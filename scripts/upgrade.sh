#!/bin/bash
# Switches to another release without refusing a connection, and rolls back if the new one does not become healthy.
# docs/install.md describes it.
#
#   instance a serves ──▶ instance b starts as the new release ──▶ current ─▶ b   ──▶ a finishes its requests
#                         on the same sockets and is healthy       in one step        and exits
#
# If it is interrupted, one instance serves; the next run of this script cleans up.
set -euo pipefail
umask 022
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/install/common.sh
. "$source_folder/scripts/install/common.sh"

usage() {
  cat <<'TEXT'
Usage: lead-upgrade RELEASE

RELEASE is a release's tarball or unpacked folder, or the version of an installed release to roll back to.

Copies the release to /opt/lead-intake/releases, migrates the database, and starts the new release beside the old one on
the same sockets. Once the new one is healthy, the old one finishes its requests and exits. If the new one does not become
healthy, it is stopped and the old one continues to serve.

  --keep N   how many of the newest releases to keep for going back (3)
  --list     list the installed versions and the running one

Exit code: 0 done; 1 the old release is still running, and the output explains why; 2 nothing was done; 3 neither release
is healthy.
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
        say "running: $(linked_version "$home/current" || true)"
        exit 0
        ;;
      --help | -h) usage && exit 0 ;;
      -*) refuse "Unknown option: $1. --help lists them." ;;
      *)
        [ -z "$given" ] || refuse "Name one release: $given or $1?"
        given=$1 && shift
        ;;
    esac
  done
  [ -n "$given" ] || refuse "$(usage)"
}

# Stops the second instance of an interrupted upgrade, and starts the serving one if it is not running.
repair_installation() {
  local code=0
  rm -f "$home"/*.new
  all_healthy "$serving" "$old" 1 || code=$?
  # No release becomes healthy without the database, and a restart would only end the requests that wait for it.
  [ "$code" -ne 3 ] || refuse "The database accepts no writes. Nothing was done; $old keeps running. See lead-ctl doctor."
  if [ "$code" -ne 0 ]; then
    say "Parts of $old are not running; starting them"
    install_units "$home/current" && start_instance "$serving" && all_healthy "$serving" "$old" || return 1
  fi
  enable_instance "$serving"
  stop_instance "$free"
}

# --- The steps ----------------------------------------------------------------------------------------------------

migrate_database() {
  # An older release runs on a newer schema; its own migration would revert the functions of the newer one.
  if [ "$direction" = back ]; then return; fi
  local applied
  applied=$(as_owner "$release" migrate.ts) || return 1
  if [ "$applied" = "The database is current" ]; then say "The database is current"; else
    say "Migrated the database: applied $(grep -c . <<<"$applied") files of sql/"
  fi
}

start_beside() {
  point "$home/$free" "releases/$version" && install_units "$release" && start_instance "$free" || return 1
  # Without the public part, because both instances share the console's address.
  is_healthy intake "$free" "$version" && is_healthy actions "$free" "$version" || return 1
  say "$version runs beside $old and is healthy"
}

# From here on, the new release is the current one, also at the next boot.
take_over() {
  enable_instance "$free" && point "$home/current" "$free" || return 1
  stop_instance "$serving"
  all_healthy "$free" "$version" || return 1
  say "$old has finished its requests and exited; $version serves"
}

finish() {
  as_owner "$release" build_site.ts >/dev/null || print_error "The site was not rebuilt; see lead-ctl doctor."
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

# Rolls back to the old release, which is still running unless the new one had taken over.
roll_back() {
  trap '' INT TERM HUP
  print_error "$1 Going back to $old."
  show_log
  if ! { install_units "$releases/$old" && start_instance "$serving" && enable_instance "$serving" &&
    point "$home/current" "$serving"; }; then
    print_error "Neither $version nor $old is healthy. Repair the installation manually; start with lead-ctl doctor and journalctl -u 'lead-*' -e."
    exit 3
  fi
  stop_instance "$free"
  print_error "$old is running, as before. $version remains in $release for inspection."
  exit 1
}

show_log() {
  journalctl --unit 'lead-*' --since "@$began" --lines 200 --no-pager \
    --output cat 2>/dev/null | grep -v '"event":"request"' | tail -n 8 >&2 || true
}

main() {
  read_arguments "$@"
  require_machine
  [ -e "$home/current/VERSION" ] || refuse "lead-intake is not installed here. Run scripts/install.sh of the release."
  lock_installation
  began=$(date +%s)
  old=$(version_of "$home/current")
  serving=$(instance_of_current)
  free=$(other_instance "$serving")
  install_release "$given" || exit 2
  release=$releases/$version
  repair_installation || {
    print_error "lead-intake does not become healthy. See journalctl -u 'lead-*' -e and lead-ctl doctor."
    exit 3
  }
  if [ "$version" = "$old" ]; then
    say "$version is already running"
    return
  fi
  direction=forward
  [ "$(printf '%s\n%s\n' "$old" "$version" | sort -V | tail -n 1)" = "$version" ] || direction=back
  say "Upgrading from $old to $version"
  trap 'roll_back "It was interrupted."' INT TERM HUP
  migrate_database || roll_back "The migration failed."
  start_beside || roll_back "$version does not become healthy."
  take_over || roll_back "$version does not stay healthy after taking over."
  trap '' INT TERM HUP
  finish
  say "$version is running, after $(($(date +%s) - began)) s. To go back: lead-upgrade $old"
}

# All code is in functions, so that bash has read it before this script's folder is removed.
main "$@"
exit
