# Paths and functions that install.sh and upgrade.sh share; sourced, not run.
# shellcheck shell=bash

home=/opt/lead-intake
releases=$home/releases
etc=/etc/lead-intake
# shellcheck disable=SC2034 # install.sh uses it.
var=/var/lib/lead-intake
# Secrets, one file each; systemd passes each process its folder.
credentials=$etc/credentials
units=/etc/systemd/system
commands=/usr/local/bin

# Steps go to standard output, errors to standard error.
say() { printf '%s\n' "$*"; }
print_error() { printf '%s\n' "$*" >&2; }
# Exit code 2 means that nothing was changed.
refuse() {
  print_error "$*"
  exit 2
}

require_root() {
  [ "$(id -u)" -eq 0 ] || refuse "This needs root, because it creates accounts and starts services. Try sudo."
}

require_machine() {
  require_root
  [ -d /run/systemd/system ] || refuse "This machine does not run systemd, which the service needs."
}

# Only one of install.sh and upgrade.sh runs at a time. The process and its children hold the lock. So that a new run can
# follow a killed one, long-running children do not inherit it (9>&-), and the new run waits for the others.
lock_installation() {
  exec 9>/run/lead-intake.lock
  flock --timeout 10 9 || refuse "Another installation or upgrade is running on this machine."
}

version_of() { cat "$1/VERSION"; }

# The version that a link points to; empty if there is none.
linked_version() { [ -e "$1" ] && version_of "$1"; }

# The services of an instance, a or b. An upgrade starts the idle one; `current` links to the running one.
parts=(intake public actions)
instance_of_current() { readlink "$home/current"; }
other_instance() { if [ "$1" = a ]; then say b; else say a; fi; }
# The units of an instance: services_of a.
services_of() { say "lead-intake@$1.service lead-public@$1.service lead-actions@$1.service"; }

# Whether a part of an instance reports that version and is healthy within the given seconds. Exit code 3: it would be
# healthy if its store accepted writes.
is_healthy() {
  local release=$releases/$3
  "$release/runtime/node" "$release/scripts/install/is_healthy.ts" "$(ops_address "$1" "$2")" "$3" "${4:-20}" 9>&-
}

# Whether every part of an instance is active and healthy.
all_healthy() {
  local part code=0
  for part in "${parts[@]}"; do
    systemctl is-active --quiet "lead-$part@$1.service" && is_healthy "$part" "$1" "$2" "${3:-20}" || code=$?
    [ "$code" -eq 0 ] || return "$code"
  done
}

# Starts the services of an instance. A process that waits for its database extends systemd's start timeout.
start_instance() {
  local services
  read -ra services <<<"$(services_of "$1")"
  forget_failures "${services[@]}"
  timeout --foreground "$start_s" systemctl start "${services[@]}" 9>&-
}

stop_instance() {
  local services
  read -ra services <<<"$(services_of "$1")"
  systemctl disable --now --quiet "${services[@]}" 2>/dev/null 9>&- || true
  systemctl reset-failed "${services[@]}" 2>/dev/null || true
}

enable_instance() {
  local services
  read -ra services <<<"$(services_of "$1")"
  systemctl enable --quiet "${services[@]}"
}

# The time limit of a start; a new process waits up to 90 s for its database.
start_s=120

# Resets the failures that systemd and backoff.sh have counted.
forget_failures() {
  systemctl reset-failed "$@" 2>/dev/null || true
  rm -f /run/lead-*/failures
}

# The ops address of a part of an instance, from its socket unit, because the operator may have moved it. Both instances
# share the console's.
ops_address() {
  local unit=lead-$1-ops@$2.socket
  [ "$1" != public ] || unit=lead-console.socket
  systemctl show "$unit" --property Listen --value | sed -n 's/ (Stream).*//p' | tail -n 1
}

# Whether every file of a release is present and unchanged.
verify_release() {
  if [ ! -f "$1/VERSION" ] || [ ! -f "$1/SHA256SUMS" ]; then
    print_error "$1 is not a release of lead-intake: VERSION or SHA256SUMS is missing."
    return 1
  fi
  (cd "$1" && sha256sum --check --quiet --strict SHA256SUMS >&2) || {
    print_error "$1 is damaged: the files above differ from the release."
    return 1
  }
  "$1/runtime/node" --version >/dev/null || {
    print_error "The Node in $1 does not run here. Was it built for another processor than $(uname -m)?"
    return 1
  }
}

# Installs a folder, a tarball or an installed version under $releases and sets $version. It copies to a temporary name
# first, so that a release is never incomplete.
install_release() {
  local given=$1 aside=$releases/.new
  if [ ! -e "$given" ] && [ -f "$releases/$given/VERSION" ]; then
    version=$given
    verify_release "$releases/$version"
    return
  fi
  if [ ! -e "$given" ]; then
    print_error "There is no file, folder or installed version $given. Installed: $(installed_versions)."
    return 1
  fi
  # Only one installation runs at a time, so an existing folder is from an interrupted one.
  rm -rf "$aside"
  mkdir -p "$aside" || return 1
  if ! { unpack "$given" "$aside/release" && verify_release "$aside/release" && move_release "$aside/release"; }; then
    rm -rf "$aside"
    return 1
  fi
  rm -rf "$aside"
}

unpack() {
  mkdir "$2" || return 1
  if [ ! -d "$1" ]; then
    tar --extract --gzip --file "$1" --directory "$2" --strip-components=1 --no-same-owner 2>/dev/null && return
    print_error "$1 is not a tarball of a release."
    return 1
  fi
  cp --recursive --no-dereference --preserve=mode,timestamps "$1/." "$2"
}

move_release() {
  version=$(version_of "$1")
  local place=$releases/$version
  if [ -f "$place/SHA256SUMS" ]; then
    if ! cmp -s "$place/SHA256SUMS" "$1/SHA256SUMS"; then
      print_error "$version is already installed with different files; each release needs its own version."
      return 1
    fi
    verify_release "$place" 2>/dev/null && return
  fi
  # Replaces a damaged or partly removed release.
  rm -rf "$place"
  mv -T "$1" "$place"
}

installed_versions() {
  local found=
  for found in "$releases"/*/VERSION; do [ -e "$found" ] && cat "$found"; done | sort -V | paste -sd ' ' -
}

# Replaces a link atomically.
point() {
  ln -sfn "$2" "$1.new" && mv -T "$1.new" "$1"
}

# Installs a release's units and commands. An operator's own changes belong in drop-ins (systemctl edit), which are kept.
install_units() {
  local release=$1 unit
  for unit in "$release"/scripts/systemd/lead-*; do
    [ -d "$unit" ] || copy_if_changed "$unit" "$units/$(basename "$unit")" 644 || return 1
  done
  copy_if_changed "$release/scripts/systemd/$sandbox" "$units/$sandbox" 644 || return 1
  for unit in "$release"/scripts/install/lead-*; do
    copy_if_changed "$unit" "$commands/$(basename "$unit")" 755 || return 1
  done
  systemctl daemon-reload
}
# The sandbox that all services share.
sandbox=lead-.service.d/10-sandbox.conf

# Copies atomically. The steps are chained with &&, because `set -e` is off in a function that is called before || or &&.
copy_if_changed() {
  cmp -s "$1" "$2" && return
  mkdir -p "$(dirname "$2")" && install -m "$3" "$1" "$2.new" && mv -T "$2.new" "$2"
}

# The value of a setting in a file such as intake.env.
setting() { sed -n "s/^$2=//p" "$1" 2>/dev/null | tail -n 1; }

# Runs a script of a release as the owner of the database, with the settings of the service.
as_owner() {
  local release=$1 script=$2 settings=()
  shift 2
  [ ! -f "$etc/intake.env" ] || settings=(--env-file="$etc/intake.env")
  # The site links to the checkout if one is configured.
  [ ! -f "$credentials/intake/STRIPE_SECRET_KEY" ] || export STRIPE_SECRET_KEY_FILE=$credentials/intake/STRIPE_SECRET_KEY
  DATABASE_URL='' DATABASE_URL_FILE=$etc/owner_database_url \
    "$release/runtime/node" "${settings[@]}" "$release/scripts/$script" "$@"
}
