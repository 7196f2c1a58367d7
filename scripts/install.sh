#!/bin/bash
# Takes a Debian machine with PostgreSQL to a running service. docs/install.md tells it in words.
#
# Every step looks first whether it was done: a second run changes nothing, and one after a run that was broken off
# goes on where that one ended. What stands in a settings file stays.
set -euo pipefail
umask 022
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/install/common.sh
. "$source_folder/scripts/install/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/install.sh [OPTION …]

Installs the release that it is part of, and starts it. On a machine where it is installed already: makes what is
missing, and leaves the rest as it is. Then it is called lead-setup.

  --domain NAME            the public name: the intake listens on 0.0.0.0:443, forms, plans and site on 8443 to 8445
  --tls-cert FILE          the certificate chain for that name, PEM
  --tls-key FILE           its key, PEM without a passphrase
  --contact ADDRESS        whom partners write to about a key
  --database-url URL       a PostgreSQL elsewhere: the address of a role that may create roles and databases there,
                           without its password, which PGPASSWORD has
  --database-url-file FILE the same in a file that only root reads, with the password
  --new-passwords          give new passwords to roles of the service that are there, and whose addresses are not in
                           /etc/lead-intake; another machine that logs in as these is locked out
  --no-key                 make no sandbox tenant and no key

  --certificate            only bring --tls-cert and --tls-key to the service, which takes them up within seconds; for
                           the hook of whatever renews them
  --uninstall              stop the service and remove it; the database and /etc/lead-intake stay

Without a certificate it listens on 127.0.0.1:8080 and up, for an edge in front of it.
Exit code: 0 done; 1 a step failed, and the same command goes on there; 2 nothing was done.
TEXT
}

domain='' tls_cert='' tls_key='' contact='' database_url='' database_url_file='' task=install with_key=yes
new_passwords=no
# IPv4 alone: the limits count addresses of it.
declare -A public=([intake]=0.0.0.0:443 [forms]=0.0.0.0:8443 [subscription]=0.0.0.0:8444 [site]=0.0.0.0:8445)
# Where the socket units listen by themselves.
declare -A private=([intake]=127.0.0.1:8080 [forms]=127.0.0.1:8081 [subscription]=127.0.0.1:8082 [site]=127.0.0.1:8083)
# The target starts the services; sockets are systemd's at boot.
sockets=(lead-{intake,forms,subscription,site,console,actions}.socket)
read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --domain | --tls-cert | --tls-key | --contact | --database-url | --database-url-file)
        [ $# -ge 2 ] || refuse "$1 needs a value."
        local name=${1#--}
        printf -v "${name//-/_}" %s "$2"
        shift 2
        ;;
      --new-passwords) new_passwords=yes && shift ;;
      --no-key) with_key=no && shift ;;
      --certificate) task=certificate && shift ;;
      --uninstall) task=uninstall && shift ;;
      --help | -h) usage && exit 0 ;;
      *) refuse "Unknown option: $1. --help lists them." ;;
    esac
  done
  [ -z "$tls_cert" ] || [ -n "$tls_key" ] || refuse "--tls-cert needs --tls-key."
  [ -z "$tls_key" ] || [ -n "$tls_cert" ] || refuse "--tls-key needs --tls-cert."
  [ "$task" != certificate ] || [ -n "$tls_cert" ] || refuse "--certificate needs --tls-cert and --tls-key."
  [ -z "$domain" ] || [ -n "$tls_cert" ] || has_certificate ||
    refuse "A public name needs a certificate: --tls-cert and --tls-key."
  if [ -n "$domain" ]; then
    [[ $domain =~ ^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$ ]] ||
      refuse "$domain is no name such as leads.example.com."
  fi
  case $database_url in
    *://*:*@*) refuse "A password on the command line is seen by everybody on this machine: use --database-url-file." ;;
    '' | postgres://* | postgresql://*) ;;
    *) refuse "--database-url is no address such as postgres://admin@db.example.com/postgres." ;;
  esac
}

has_certificate() { [ -f "$etc/tls/cert.pem" ] && [ -f "$etc/tls/key.pem" ]; }
is_installed() { [ -e "$home/current/VERSION" ]; }
# Whether it runs without a public name, and gets one. Where it listens is written last.
gets_name() {
  local surface
  [ -n "$domain" ] && is_installed || return 1
  for surface in "${!public[@]}"; do [ -e "$(listen_file "lead-$surface.socket")" ] || return 0; done
  return 1
}

# --- What must be there -------------------------------------------------------------------------------------------

check_machine() {
  verify_release "$source_folder" || exit 2
  command -v openssl >/dev/null || refuse "openssl is not installed; it checks certificates and makes passwords: apt install openssl."
  is_installed && return
  local folder free
  # The release, the next one beside it, and room for the logs.
  for folder in /opt /var; do
    free=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge 1024 ] || refuse "The disk of $folder has $free MB free; 1024 are needed."
  done
}

check_certificate() {
  [ -n "$tls_cert" ] || return 0
  local file
  for file in "$tls_cert" "$tls_key"; do [ -r "$file" ] || refuse "$file cannot be read."; done
  openssl x509 -in "$tls_cert" -noout 2>/dev/null || refuse "$tls_cert is no certificate in PEM."
  [ "$(openssl x509 -in "$tls_cert" -noout -pubkey)" = \
    "$(openssl pkey -in "$tls_key" -passin pass: -pubout 2>/dev/null)" ] ||
    refuse "$tls_key is not the key of $tls_cert, or has a passphrase."
  openssl x509 -in "$tls_cert" -noout -checkend 0 >/dev/null || refuse "$tls_cert has expired."
  if [ -n "$domain" ]; then
    openssl x509 -in "$tls_cert" -noout -checkhost "$domain" | grep -q 'does match' ||
      refuse "$tls_cert is not for $domain."
  fi
}

check_actions_certificates() {
  local folder=$etc/actions-tls
  if [ -f "$folder/ca.pem" ] && lacks_actions_certificates && [ ! -f "$folder/authority/ca.key" ]; then
    refuse "$folder lacks a certificate or its key: lead-ctl certificates $folder --renew --ca-key FILE makes them anew, with the authority's key from where it is kept."
  fi
}

lacks_actions_certificates() {
  local file
  for file in {server,client}.{pem,key}; do [ -f "$etc/actions-tls/$file" ] || return 0; done
  return 1
}

check_ports() {
  local address
  for address in $(addresses); do
    "$source_folder/runtime/node" -e '
      const [, host, port] = /^(.*):(\d+)$/.exec(process.argv[1]);
      const server = require("node:net").createServer();
      server.once("error", () => process.exit(1));
      server.listen({ host, port: Number(port) }, () => server.close());
    ' "$address" || refuse "Another program listens on $address."
  done
}

# Where it will listen: the socket units' own addresses, and those of a public name.
addresses() {
  if is_installed; then
    ! gets_name || say "${public[@]}"
    return
  fi
  if [ -n "$domain" ]; then say "${public[@]}"; else say "${private[@]}"; fi
  say 127.0.0.1:9443 127.0.0.1:90{90,91,92} 127.0.0.1:919{1,2}
}

# --- PostgreSQL ---------------------------------------------------------------------------------------------------

# Where the administrator of the server is, as database.ts reads it.
admin_place() {
  if [ -n "$database_url_file" ]; then
    [ -r "$database_url_file" ] || refuse "$database_url_file cannot be read."
    json_url "$(cat "$database_url_file")"
  elif [ -n "$database_url" ]; then
    json_url "$database_url"
  else
    local sockets
    sockets=$(find /run/postgresql -maxdepth 1 -type s -name '.s.PGSQL.*' 2>/dev/null) || true
    [ -n "$sockets" ] ||
      refuse "No PostgreSQL runs here: apt install postgresql, or name one elsewhere with --database-url."
    [ "$(wc -l <<<"$sockets")" -eq 1 ] ||
      refuse "Several PostgreSQL servers run here (${sockets//$'\n'/, }): name one with --database-url."
    admin_port=${sockets##*.}
    printf '{"socketFolder":"/run/postgresql","port":%d}' "$admin_port"
  fi
}

json_url() {
  [[ $1 =~ ^postgres(ql)?://[^\"\\[:cntrl:]]+$ ]] ||
    refuse "The address of the database is none such as postgres://admin@db.example.com/postgres."
  printf '{"url":"%s"}' "$1"
}

# The address of a login: that of the settings, or one with a new password.
login_url() {
  local found=$1 role=$2
  printf %s "${found:-postgres://$role:$(openssl rand -hex 24)@$(server_address)}"
}

# The logins whose passwords are new, as a list of JSON: a role that is there has another one, and somebody who uses it.
new_logins() {
  local found=() IFS=,
  if [ "$new_passwords" = no ]; then
    [ -s "$etc/owner_database_url" ] || found+=('"owner"')
    [ -s "$credentials/intake/DATABASE_URL" ] || found+=('"service"')
    [ -s "$credentials/actions/ACTIONS_DATABASE_URL" ] || found+=('"actions"')
  fi
  printf '[%s]' "${found[*]}"
}

# A secret: a file named after its setting, which systemd hands to the process.
secret() { cat "$credentials/$1" 2>/dev/null || true; }

# Host, port, database and parameters: PostgreSQL on this machine is reached over loopback, with a password.
server_address() {
  local url=$database_url
  [ -z "$database_url_file" ] || url=$(cat "$database_url_file")
  if [ -z "$url" ]; then
    printf '127.0.0.1:%d/lead_intake' "$admin_port"
  else
    local rest=${url#*://} parameters=
    rest=${rest#*@}
    [[ $rest != *\?* ]] || parameters="?${rest#*\?}"
    rest=${rest%%\?*}
    printf '%s/lead_intake%s' "${rest%%/*}" "$parameters"
  fi
}

database() {
  local input
  input=$(printf '{"check":%s,"admin":%s,"made":%s,"logins":{"owner":"%s","service":"%s","actions":"%s"}}' "$1" "$admin" \
    "$made" "$owner_url" "$service_url" "$actions_url")
  "$source_folder/runtime/node" "$source_folder/scripts/install/database.ts" <<<"$input"
}

# --- Files --------------------------------------------------------------------------------------------------------

make_accounts() {
  local account
  for account in lead-intake lead-actions; do
    id "$account" >/dev/null 2>&1 && continue
    useradd --system --user-group --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin "$account"
    say "Made the account $account"
  done
}

# A file that is there stays; a new one is there whole or not at all, and never readable for others.
write_once() {
  local file=$1
  [ ! -s "$file" ] || return 0
  (umask 077 && printf '%s\n' "$2" >"$file.new")
  mv -T "$file.new" "$file"
}

# Adds a setting that is not there. One that is there stays, whoever wrote it.
set_default() {
  local file=$1 name=$2 value=$3 found
  if grep -q "^$name=" "$file"; then
    found=$(setting "$file" "$name")
    [ "$found" = "$value" ] || [ "${4:-}" != told ] || say "$name stays $found in $file; the options say $value"
    return
  fi
  printf '%s=%s\n' "$name" "$value" >>"$file"
}

write_settings() {
  local intake=$etc/intake.env actions=$etc/actions.env folder=$etc/actions-tls scheme=http surface
  write_once "$intake" "# Settings of the service, a line each: docs/configuration.md. Yours stay. After a change: systemctl restart 'lead-intake@*' 'lead-public@*'"
  write_once "$actions" "# Settings of the actions process, a line each: docs/configuration.md. Yours stay. After a change: systemctl restart 'lead-actions@*'"
  write_once "$etc/owner_database_url" "$owner_url"
  chmod 600 "$intake" "$actions" "$etc/owner_database_url"
  install -d -m 700 "$credentials" "$credentials/intake" "$credentials/actions"
  write_once "$credentials/intake/DATABASE_URL" "$service_url"
  write_once "$credentials/actions/ACTIONS_DATABASE_URL" "$actions_url"
  if [ -n "$contact" ]; then set_default "$intake" CONTACT_EMAIL "$contact" told; fi
  if has_certificate; then
    set_default "$intake" TLS_CERT_FILE "$etc/tls/cert.pem"
    set_default "$intake" TLS_KEY_FILE "$etc/tls/key.pem"
    scheme=https
  fi
  for surface in "${!public[@]}"; do
    if [ -n "$domain" ]; then
      local port=:${public[$surface]#*:} before="^${surface^^}_URL=https\\?://${private[$surface]}\$"
      # What it was called until it had a public name.
      ! grep -q "$before" "$intake" || sed -i "\\,$before,d" "$intake"
      set_default "$intake" "${surface^^}_URL" "https://$domain${port%:443}" told
    else
      # What it is called until it has a public name.
      set_default "$intake" "${surface^^}_URL" "$scheme://${private[$surface]}"
    fi
  done
  set_default "$intake" SITE_DIR "$var/site"
  set_default "$intake" ACTIONS_URL https://localhost:9443
  set_default "$intake" ACTIONS_CA_FILE "$folder/ca.pem"
  set_default "$intake" ACTIONS_CLIENT_CERT_FILE "$folder/client.pem"
  set_default "$intake" ACTIONS_CLIENT_KEY_FILE "$folder/client.key"
  set_default "$actions" ACTIONS_SERVER_CERT_FILE "$folder/server.pem"
  set_default "$actions" ACTIONS_SERVER_KEY_FILE "$folder/server.key"
  set_default "$actions" ACTIONS_CLIENT_CA_FILE "$folder/ca.pem"
  set_default "$actions" ACTIONS_CLIENT_NAME lead-intake
}

# Mutual TLS between the two processes, by an authority of this machine's own.
make_actions_certificates() {
  local folder=$etc/actions-tls how=()
  if lacks_actions_certificates; then
    # An authority whose certificate is not there, from a run that was broken off, has signed nothing.
    if [ -f "$folder/ca.pem" ]; then how=(--renew); else rm -rf "$folder"; fi
    "$release/runtime/node" "$release/scripts/ctl.ts" certificates "$folder" "${how[@]}" >/dev/null
    say "Made certificates for the two processes in $folder"
  fi
  chown lead-actions "$folder/server.key"
  chown lead-intake "$folder/client.key"
}

# Copies: the service may not read where they come from, and a renewal is taken up when both are there.
place_certificate() {
  local folder=$etc/tls
  # After a removal the group of this name may have another number.
  [ ! -d "$folder" ] || chgrp -R lead-intake "$folder"
  [ -n "$tls_cert" ] || return 0
  install -d -m 750 -g lead-intake "$folder"
  if cmp -s "$tls_cert" "$folder/cert.pem" && cmp -s "$tls_key" "$folder/key.pem"; then return; fi
  install -m 640 -g lead-intake "$tls_key" "$folder/key.pem.new"
  install -m 644 "$tls_cert" "$folder/cert.pem.new"
  mv -T "$folder/key.pem.new" "$folder/key.pem"
  mv -T "$folder/cert.pem.new" "$folder/cert.pem"
  say "Brought the certificate to $folder, good until $(openssl x509 -in "$tls_cert" -noout -enddate | cut -d = -f 2)"
}

# --- The service --------------------------------------------------------------------------------------------------

migrate_database() {
  local applied
  applied=$(as_owner "$release" migrate.ts)
  [ "$applied" = "The database is current" ] || say "Migrated the database: $(grep -c . <<<"$applied") files of sql/"
}

build_site() {
  install -d -m 755 "$var"
  # Its pages have the public name.
  if [ ! -d "$var/site" ] || [ "$renamed" = yes ]; then as_owner "$release" build_site.ts >/dev/null; fi
}

# Where the sockets listen that a public name moves; a drop-in of the operator's comes after this one.
write_listeners() {
  [ -n "$domain" ] || return 0
  local surface
  # A socket changes its address only while what it serves is stopped. Before, so that the next run starts what this one,
  # broken off, has not.
  if [ "$renamed" = yes ]; then systemctl stop lead-intake.target "${sockets[@]}"; fi
  for surface in "${!public[@]}"; do listen_on "lead-$surface.socket" "${public[$surface]}"; done
  systemctl daemon-reload
}

listen_file() { say "$units/$1.d/10-installed.conf"; }

listen_on() {
  local file
  file=$(listen_file "$1")
  [ ! -e "$file" ] || return 0
  mkdir -p "$units/$1.d"
  printf '[Socket]\nListenStream=\nListenStream=%s\n' "$2" >"$file.new"
  mv -T "$file.new" "$file"
}

start_service() {
  local instance began
  instance=$(instance_of_current)
  began=$(date +%s)
  systemctl is-enabled --quiet lead-intake.target 2>/dev/null || systemctl enable --quiet lead-intake.target "${sockets[@]}"
  enable_instance "$instance"
  all_well "$instance" "$version" 5 && return
  timeout --foreground "$start_s" systemctl start lead-intake.target 9>&- || true
  if ! start_instance "$instance" || ! all_well "$instance" "$version" 30; then
    journalctl --unit 'lead-*' --since "@$began" --lines 50 --no-pager --output cat |
      grep -v '"event":"request"' | tail -n 5 >&2 || true
    complain "lead-intake does not get well; its last words stand above. Mend it, and run the same command again."
    exit 1
  fi
  say "Started lead-intake.target"
}

# A sandbox to post to, with a key that is shown this once.
issue_first_key() {
  [ "$with_key" = yes ] || return 0
  [ "$(lead_ctl tenant list --json)" = "[]" ] && lead_ctl tenant add sandbox --name Sandbox --sandbox >/dev/null
  # None if a run was broken off before it.
  if [ "$(lead_ctl key list --json)" = "[]" ] && lead_ctl tenant list --json | grep -q '"sandbox"'; then
    key=$(lead_ctl key issue sandbox --label install --json | sed -n 's/.*"key": *"\([^"]*\)".*/\1/p')
  fi
}

lead_ctl() { as_owner "$release" ctl.ts "$@"; }

intake_url() { setting "$etc/intake.env" INTAKE_URL; }

tell_what_next() {
  say
  "$commands/lead-ctl" doctor || say "The doctor has found something; each line says what mends it."
  say
  say "lead-intake $version runs: $(intake_url)"
  if [ -n "${key:-}" ]; then
    cat <<TEXT

The key of a sandbox, which is shown this once; its leads are stored and go nowhere:

  $key

Post a lead:

  curl -i $(intake_url)/v1/intake -H 'X-API-Key: $key' \\
    -H 'Content-Type: application/json' -H 'Idempotency-Key: install:lead:1' \\
    -d '{"first_name":"Ada","last_name":"Lovelace","phone":"(555) 123-4567"}'
TEXT
  fi
  cat <<'TEXT'

Next:
  sudo lead-ctl tenant add acme --name "Acme Remodeling"     a customer
  sudo lead-ctl key issue acme --label partner-x             a key for a source of leads
  sudo lead-ctl --help                                       everything else
Settings are in /etc/lead-intake; mail needs MAIL_FROM in actions.env and SMTP_URL in credentials/actions.
TEXT
}

install_everything() {
  check_machine
  check_certificate
  check_actions_certificates
  admin=$(admin_place) || exit 2
  admin_port=$(sed -n 's/.*"port":\([0-9]*\).*/\1/p' <<<"$admin")
  owner_url=$(login_url "$(cat "$etc/owner_database_url" 2>/dev/null || true)" lead_owner)
  service_url=$(login_url "$(secret intake/DATABASE_URL)" intake_login)
  actions_url=$(login_url "$(secret actions/ACTIONS_DATABASE_URL)" actions_login)
  made=$(new_logins)
  database true || exit 2
  check_ports
  renamed=no
  if gets_name; then renamed=yes; fi
  place_release "$source_folder" || exit 2
  release=$releases/$version
  if is_installed && [ "$(version_of "$home/current")" != "$version" ]; then
    refuse "lead-intake $(version_of "$home/current") runs here: $release/scripts/upgrade.sh $version goes to $version."
  fi
  make_accounts
  # The passwords are written down before the roles have them.
  install -d -m 755 "$etc"
  place_certificate
  write_settings
  database false
  migrate_database
  make_actions_certificates
  build_site
  if ! is_installed; then
    point "$home/a" "releases/$version"
    point "$home/current" a
  fi
  install_units "$release"
  write_listeners
  start_service
  issue_first_key
  tell_what_next
}

uninstall() {
  local unit
  local names=() timers=()
  for unit in "$units"/lead-*.{target,service,socket,timer}; do [ ! -e "$unit" ] || names+=("$(basename "$unit")"); done
  stop_instance a
  stop_instance b
  for unit in "${names[@]}"; do
    if [[ $unit = *.timer ]] && systemctl is-enabled --quiet "$unit" 2>/dev/null; then timers+=("$unit"); fi
  done
  for unit in "${names[@]}"; do [[ $unit = *@.* ]] || systemctl disable --now --quiet "$unit" || true; done
  for unit in "${names[@]}"; do
    # Drop-ins stay, as settings do: the operator's, and ours with the addresses.
    rm -f "$units/$unit"
  done
  rm -rf "${units:?}/${sandbox%/*}"
  systemctl daemon-reload
  systemctl reset-failed 'lead-*' 2>/dev/null || true
  rm -f "$commands"/lead-ctl "$commands"/lead-upgrade "$commands"/lead-setup
  rm -rf "$home" "$var"
  for account in lead-intake lead-actions; do userdel "$account" 2>/dev/null || true; done
  cat <<TEXT
lead-intake is removed. What stays, so that installing it again goes on where this ends:
  the database lead_intake with its roles, and every lead in it
  $etc: settings, the addresses of the database with their passwords, certificates
  $units/lead-*.d: where the sockets listen, and changes of yours

To delete these too, for good:
  rm -rf $etc $units/lead-*.d
  sudo -u postgres dropdb lead_intake
  sudo -u postgres psql -c 'drop role lead_owner, intake_login, actions_login, lead_service, lead_actions'
TEXT
  [ ${#timers[@]} -eq 0 ] || cat <<TEXT

Nothing makes these from now on: the backups of the database and the copy of its audit. After installing it again:
  systemctl enable --now ${timers[*]}
TEXT
}

main() {
  read_options "$@"
  require_machine
  lock_installation
  case $task in
    uninstall) uninstall ;;
    certificate)
      is_installed || refuse "lead-intake is not installed here."
      check_certificate
      place_certificate
      ;;
    install) install_everything ;;
  esac
}

# Read whole before it runs: an upgrade exchanges the file under it.
main "$@"
exit
