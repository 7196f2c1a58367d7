#!/bin/sh
# Posts a lead and treats what comes of it; leads says the rest.
leads post --idempotency-key acme:4711 <<'LEAD'
{"first_name": "Ada", "last_name": "Lovelace", "phone": "555 123 4567"}
LEAD
case $? in
0) echo "The service has it." ;;
1) echo "Correct what it names, then post it with the same key." ;;
75) echo "Try later, with the same key." ;;
*) exit 2 ;;
esac
