#!/bin/sh
# Delays the restarts of a failing service by 1, 2, 4, 8, 16, then 30 seconds, because systemd before 254 has only a fixed
# RestartSec=. The file contains a line with systemd's result per failure; the process reports the last one as a metric.
# There is no delay after ten minutes without a failure, after a clean exit, or after a change of the settings.
#
# ExecStartPre=/bin/sh backoff.sh wait SETTINGS     ExecStopPost=/bin/sh backoff.sh note
set -eu
file=$RUNTIME_DIRECTORY/failures
[ -z "$(find "$file" -mmin +10 2>/dev/null)" ] || rm -f "$file"
case $1 in
  note)
    if [ "${SERVICE_RESULT:-success}" = success ]; then rm -f "$file"; else
      # A stop or restart during the delay is not a failure, because the service itself has not run.
      [ -z "${EXIT_CODE:-}" ] || echo "$SERVICE_RESULT" >>"$file"
    fi
    ;;
  wait)
    pause=1
    count=$([ ! -e "$file" ] || wc -l <"$file")
    [ "${count:-0}" -gt 0 ] || exit 0
    # The operator has just edited the settings and is watching.
    [ ! "$2" -nt "$file" ] || exit 0
    while [ "$count" -gt 1 ] && [ "$pause" -lt 30 ]; do
      pause=$((pause * 2))
      count=$((count - 1))
    done
    [ "$pause" -le 30 ] || pause=30
    sleep "$pause"
    ;;
esac
