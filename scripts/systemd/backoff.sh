#!/bin/sh
# Has a service that fails again and again wait longer before each start: 1, 2, 4, 8, 16, then 30 seconds. systemd before
# 254 knows one pause only (RestartSec=), and none for a start that a waiting connection asks for. The failures are lines
# of a file, systemd's word for each, and the process tells the last in its figures. Ten minutes without one, an end in good
# order or newer settings, and nothing is waited for.
#
# ExecStartPre=/bin/sh backoff.sh wait SETTINGS     ExecStopPost=/bin/sh backoff.sh note
set -eu
file=$RUNTIME_DIRECTORY/failures
[ -z "$(find "$file" -mmin +10 2>/dev/null)" ] || rm -f "$file"
case $1 in
  note)
    if [ "${SERVICE_RESULT:-success}" = success ]; then rm -f "$file"; else
      # Whoever stops or restarts it during the pause is no failure: the service itself has not run.
      [ -z "${EXIT_CODE:-}" ] || echo "$SERVICE_RESULT" >>"$file"
    fi
    ;;
  wait)
    pause=1
    count=$([ ! -e "$file" ] || wc -l <"$file")
    [ "${count:-0}" -gt 0 ] || exit 0
    # Somebody has mended something, and looks on.
    [ ! "$2" -nt "$file" ] || exit 0
    while [ "$count" -gt 1 ] && [ "$pause" -lt 30 ]; do
      pause=$((pause * 2))
      count=$((count - 1))
    done
    [ "$pause" -le 30 ] || pause=30
    sleep "$pause"
    ;;
esac
