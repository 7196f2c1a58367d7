#!/bin/bash
# Installs and starts the service on a Debian machine with PostgreSQL; docs/install.md describes it.
#
# Every step checks whether it was already done: a second run changes nothing, and a run after an interrupted one
# continues where that one stopped. Existing settings are not changed.
set -euo pipefail
umask 022
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/install/common.sh
. "$source_folder/scripts/install/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/install.sh [OPTION …]

Installs the release that contains this script and starts the service. If it is already installed, adds missing parts and
leaves the rest unchanged. On an installed machine, the command is lead-setup.

  --domain NAME            the public name: the intake listens on 0.0.0.0:443, forms, plans and site on 8443 to 8445
  --tls-cert FILE          the certificate chain for that name, PEM
  --tls-key FILE           the certificate's key, PEM without a passphrase
  --contact ADDRESS        the email address where partners ask for a key
  --database-url URL       a PostgreSQL on another machine: the URL of a role that may create roles and databases there,
                           without its password; put the password in PGPASSWORD
  --database-url-file FILE the same, with the password, in a file that only root can read
  --new-passwords          set new passwords for existing roles of the service whose URLs are not in /etc/lead-intake;
                           other machines that log in with these roles are locked out
  --no-key                 create no sandbox tenant and no key

  --certificate            only install --tls-cert and --tls-key, which the service loads within seconds; use it in the
                           renewal hook of your certificate
  --uninstall              stop the service and remove it; keep the database and /etc/lead-intake

Without a certificate, the service listens on 127.0.0.1:8080 to 8083, for a proxy in front of it.
Exit code: 0 done; 1 a step failed, and running the same command again continues there; 2 nothing was done.
TEXT
}

domain='' tls_cert='' tls_key='' contact='' database_url='' database_url_file='' task=install with_key=yes
new_passwords=no
# IPv4 only: the rate limits count IPv4 addresses.
declare -A public=([intake]=0.0.0.0:443 [forms]=0.0.0.0:8443 [subscription]=0.0.0.0:8444 [site]=0.0.0.0:8445)
# The socket units' default addresses.
declare -A private=([intake]=127.0.0.1:8080 [forms]=127.0.0.1:8081 [subscription]=127.0.0.1:8082 [site]=127.0.0.1:8083)
# The target starts the services; systemd opens the sockets at boot.
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
      refuse "$domain is not a domain name such as leads.example.com."
  fi
  case $database_url in
    *://*:*@*) refuse "Every user of this machine can see a password on the command line: use --database-url-file." ;;
    '' | postgres://* | postgresql://*) ;;
    *) refuse "--database-url is not a URL such as postgres://admin@db.example.com/postgres." ;;
  esac
}

has_certificate() { [ -f "$etc/tls/cert.pem" ] && [ -f "$etc/tls/key.pem" ]; }
is_installed() { [ -e "$home/current/VERSION" ]; }
# Whether this run adds a public name to an installation. The listeners' drop-ins are written last.
adds_domain() {
  local surface
  [ -n "$domain" ] && is_installed || return 1
  for surface in "${!public[@]}"; do [ -e "$(listen_file "lead-$surface.socket")" ] || return 0; done
  return 1
}

# --- Checks -------------------------------------------------------------------------------------------------------

check_machine() {
  verify_release "$source_folder" || exit 2
  command -v openssl >/dev/null || refuse "openssl is not installed; it checks certificates and generates passwords: apt install openssl."
  is_installed && return
  local folder free
  # Room for this release, the next one, and the logs.
  for folder in /opt /var; do
    free=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge 1024 ] || refuse "The disk of $folder has $free MB free; 1024 MB are needed."
  done
}

check_certificate() {
  [ -n "$tls_cert" ] || return 0
  local file
  for file in "$tls_cert" "$tls_key"; do [ -r "$file" ] || refuse "$file cannot be read."; done
  openssl x509 -in "$tls_cert" -noout 2>/dev/null || refuse "$tls_cert is not a PEM certificate."
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
  if [ -f "$folder/ca.pem" ] && actions_certificates_missing && [ ! -f "$folder/authority/ca.key" ]; then
    refuse "$folder lacks a certificate or its key. Issue them again with the authority's key: lead-ctl certificates $folder --renew --ca-key FILE."
  fi
}

actions_certificates_missing() {
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

# The addresses that the service will listen on.
addresses() {
  if is_installed; then
    ! adds_domain || say "${public[@]}"
    return
  fi
  if [ -n "$domain" ]; then say "${public[@]}"; else say "${private[@]}"; fi
  say 127.0.0.1:9443 127.0.0.1:90{90,91,92} 127.0.0.1:919{1,2}
}

# --- PostgreSQL ---------------------------------------------------------------------------------------------------

# The server's address for its administrator, as JSON for database.ts.
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
      refuse "No PostgreSQL is running here: apt install postgresql, or pass --database-url for one on another machine."
    [ "$(wc -l <<<"$sockets")" -eq 1 ] ||
      refuse "Several PostgreSQL servers are running here (${sockets//$'\n'/, }): choose one with --database-url."
    admin_port=${sockets##*.}
    printf '{"socketFolder":"/run/postgresql","port":%d}' "$admin_port"
  fi
}

json_url() {
  [[ $1 =~ ^postgres(ql)?://[^\"\\[:cntrl:]]+$ ]] ||
    refuse "The database's address is not a URL such as postgres://admin@db.example.com/postgres."
  printf '{"url":"%s"}' "$1"
}

# The URL of a login: the one in the settings, or one with a new password.
login_url() {
  local found=$1 role=$2
  printf %s "${found:-postgres://$role:$(openssl rand -hex 24)@$(server_address)}"
}

# The logins that get new passwords, as a JSON list: an existing role of that name is an error, because it is in use.
new_logins() {
  local found=() IFS=,
  if [ "$new_passwords" = no ]; then
    [ -s "$etc/owner_database_url" ] || found+=('"owner"')
    [ -s "$credentials/intake/DATABASE_URL" ] || found+=('"service"')
    [ -s "$credentials/actions/ACTIONS_DATABASE_URL" ] || found+=('"actions"')
  fi
  printf '[%s]' "${found[*]}"
}

# A secret: a file named after its setting, which systemd passes to the process.
secret() { cat "$credentials/$1" 2>/dev/null || true; }

# Host, port, database and parameters. A local PostgreSQL is reached over loopback with a password.
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
  input=$(printf '{"check":%s,"admin":%s,"newLogins":%s,"logins":{"owner":"%s","service":"%s","actions":"%s"}}' "$1" "$admin" \
    "$new_logins" "$owner_url" "$service_url" "$actions_url")
  "$source_folder/runtime/node" "$source_folder/scripts/install/database.ts" <<<"$input"
}

# --- Files --------------------------------------------------------------------------------------------------------

make_accounts() {
  local account
  for account in lead-intake lead-actions; do
    id "$account" >/dev/null 2>&1 && continue
    useradd --system --user-group --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin "$account"
    say "Created the account $account"
  done
}

# Keeps an existing file; creates a new one atomically and readable only by root.
write_once() {
  local file=$1
  [ ! -s "$file" ] || return 0
  (umask 077 && printf '%s\n' "$2" >"$file.new")
  mv -T "$file.new" "$file"
}

# Adds a missing setting and keeps an existing one.
set_default() {
  local file=$1 name=$2 value=$3 found
  if grep -q "^$name=" "$file"; then
    found=$(setting "$file" "$name")
    [ "$found" = "$value" ] || [ "${4:-}" != option ] || say "$file still has $name=$found; your option $value is ignored"
    return
  fi
  printf '%s=%s\n' "$name" "$value" >>"$file"
}

write_settings() {
  local intake=$etc/intake.env actions=$etc/actions.env folder=$etc/actions-tls scheme=http surface
  write_once "$intake" "# Settings of the service, one per line (docs/configuration.md). After a change: systemctl restart 'lead-intake@*' 'lead-public@*'"
  write_once "$actions" "# Settings of the actions process, one per line (docs/configuration.md). After a change: systemctl restart 'lead-actions@*'"
  write_once "$etc/owner_database_url" "$owner_url"
  chmod 600 "$intake" "$actions" "$etc/owner_database_url"
  install -d -m 700 "$credentials" "$credentials/intake" "$credentials/actions"
  write_once "$credentials/intake/DATABASE_URL" "$service_url"
  write_once "$credentials/actions/ACTIONS_DATABASE_URL" "$actions_url"
  # Signs the links in digests; both processes need the same one.
  if ! grep -q '^FORMS_LINK_SECRET' "$intake" "$actions"; then
    write_once "$credentials/intake/FORMS_LINK_SECRET" "$(openssl rand -base64 32)"
    write_once "$credentials/actions/FORMS_LINK_SECRET" "$(cat "$credentials/intake/FORMS_LINK_SECRET")"
  fi
  if [ -n "$contact" ]; then set_default "$intake" CONTACT_EMAIL "$contact" option; fi
  if has_certificate; then
    set_default "$intake" TLS_CERT_FILE "$etc/tls/cert.pem"
    set_default "$intake" TLS_KEY_FILE "$etc/tls/key.pem"
    scheme=https
  fi
  for surface in "${!public[@]}"; do
    if [ -n "$domain" ]; then
      local port=:${public[$surface]#*:} before="^${surface^^}_URL=https\\?://${private[$surface]}\$"
      # The URL from before it had a public name.
      ! grep -q "$before" "$intake" "$actions" || sed -i "\\,$before,d" "$intake" "$actions"
      set_default "$intake" "${surface^^}_URL" "https://$domain${port%:443}" option
    else
      # The URL until it has a public name.
      set_default "$intake" "${surface^^}_URL" "$scheme://${private[$surface]}"
    fi
  done
  set_default "$actions" FORMS_URL "$(setting "$intake" FORMS_URL)"
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

# Mutual TLS between the two processes, with a certificate authority on this machine.
make_actions_certificates() {
  local folder=$etc/actions-tls renew_options=()
  if actions_certificates_missing; then
    # A folder without the authority's certificate is from an interrupted run.
    if [ -f "$folder/ca.pem" ]; then renew_options=(--renew); else rm -rf "$folder"; fi
    "$release/runtime/node" "$release/scripts/ctl.ts" certificates "$folder" "${renew_options[@]}" >/dev/null
    say "Issued certificates for the two processes in $folder"
  fi
  chown lead-actions "$folder/server.key"
  chown lead-intake "$folder/client.key"
}

# Copies the files, because the service may not read the originals, and loads a renewal once both files exist.
install_certificate() {
  local folder=$etc/tls
  # After an uninstall the group may have another number.
  [ ! -d "$folder" ] || chgrp -R lead-intake "$folder"
  [ -n "$tls_cert" ] || return 0
  install -d -m 750 -g lead-intake "$folder"
  if cmp -s "$tls_cert" "$folder/cert.pem" && cmp -s "$tls_key" "$folder/key.pem"; then return; fi
  install -m 640 -g lead-intake "$tls_key" "$folder/key.pem.new"
  install -m 644 "$tls_cert" "$folder/cert.pem.new"
  mv -T "$folder/key.pem.new" "$folder/key.pem"
  mv -T "$folder/cert.pem.new" "$folder/cert.pem"
  say "Installed the certificate in $folder; it is valid until $(openssl x509 -in "$tls_cert" -noout -enddate | cut -d = -f 2)"
}

# --- The service --------------------------------------------------------------------------------------------------

migrate_database() {
  local applied
  applied=$(as_owner "$release" migrate.ts)
  [ "$applied" = "The database is current" ] || say "Migrated the database: applied $(grep -c . <<<"$applied") files of sql/"
}

build_site() {
  install -d -m 755 "$var"
  # The site's pages contain the public name.
  if [ ! -d "$var/site" ] || [ "$renamed" = yes ]; then as_owner "$release" build_site.ts >/dev/null; fi
}

# Moves the sockets to the public addresses. An operator's own drop-in is read after this one.
write_listeners() {
  [ -n "$domain" ] || return 0
  local surface
  # A socket changes its address only while its services are stopped. Stop them before writing, so that a run after an
  # interrupted one starts them.
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
  all_healthy "$instance" "$version" 5 && return
  timeout --foreground "$start_s" systemctl start lead-intake.target 9>&- || true
  if ! start_instance "$instance" || ! all_healthy "$instance" "$version" 30; then
    journalctl --unit 'lead-*' --since "@$began" --lines 50 --no-pager --output cat |
      grep -v '"event":"request"' | tail -n 5 >&2 || true
    print_error "lead-intake is not healthy; the lines above are from its log. Fix the cause and run the same command again."
    exit 1
  fi
  say "Started lead-intake.target"
}

# Creates a sandbox tenant, with a key that is shown only once.
issue_first_key() {
  [ "$with_key" = yes ] || return 0
  [ "$(lead_ctl tenant list --json)" = "[]" ] && lead_ctl tenant add sandbox --name Sandbox --sandbox >/dev/null
  # An interrupted run may have created the tenant and no key.
  if [ "$(lead_ctl key list --json)" = "[]" ] && lead_ctl tenant list --json | grep -q '"sandbox"'; then
    key=$(lead_ctl key issue sandbox --label install --json | sed -n 's/.*"key": *"\([^"]*\)".*/\1/p')
  fi
}

lead_ctl() { as_owner "$release" ctl.ts "$@"; }

intake_url() { setting "$etc/intake.env" INTAKE_URL; }

print_next_steps() {
  say
  "$commands/lead-ctl" doctor || say "lead-ctl doctor found problems; each line says how to fix one."
  say
  say "lead-intake $version is running: $(intake_url)"
  if [ -n "${key:-}" ]; then
    cat <<TEXT

A sandbox key, shown only once; leads posted with it are stored but not delivered:

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
Settings are in /etc/lead-intake; email needs MAIL_FROM in actions.env and SMTP_URL in credentials/actions.
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
  new_logins=$(new_logins)
  database true || exit 2
  check_ports
  renamed=no
  if adds_domain; then renamed=yes; fi
  install_release "$source_folder" || exit 2
  release=$releases/$version
  if is_installed && [ "$(version_of "$home/current")" != "$version" ]; then
    refuse "lead-intake $(version_of "$home/current") is installed here. To upgrade: $release/scripts/upgrade.sh $version"
  fi
  make_accounts
  # Passwords are written to files before the roles get them.
  install -d -m 755 "$etc"
  install_certificate
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
  print_next_steps
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
    # Drop-ins stay, like settings.
    rm -f "$units/$unit"
  done
  rm -rf "${units:?}/${sandbox%/*}"
  systemctl daemon-reload
  systemctl reset-failed 'lead-*' 2>/dev/null || true
  rm -f "$commands"/lead-ctl "$commands"/lead-upgrade "$commands"/lead-setup
  rm -rf "$home" "$var"
  for account in lead-intake lead-actions; do userdel "$account" 2>/dev/null || true; done
  cat <<TEXT
lead-intake is removed. These remain, so that a new installation continues with them:
  the database lead_intake with its roles and every lead
  $etc: settings, database URLs with their passwords, certificates
  $units/lead-*.d: the sockets' addresses and your own drop-ins

To delete these permanently too:
  rm -rf $etc $units/lead-*.d
  sudo -u postgres dropdb lead_intake
  sudo -u postgres psql -c 'drop role lead_owner, intake_login, actions_login, lead_service, lead_actions'
TEXT
  [ ${#timers[@]} -eq 0 ] || cat <<TEXT

Backups of the database and the copy of its audit have stopped. After you install it again:
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
      install_certificate
      ;;
    install) install_everything ;;
  esac
}

# All code is in functions, so that bash has read it before an upgrade replaces this file.
main "$@"
exit
