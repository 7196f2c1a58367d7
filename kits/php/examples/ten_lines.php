<?php

use Leads\{Client, Lead, LeadsException};
use Leads\{InvalidLeadException, UnavailableException};

require 'vendor/autoload.php';

$lead = new Lead('Ada', 'Lovelace', '+1 415 555 0123', cost: '12.50');
try {
    $done = (new Client())->postLead($lead, idempotencyKey: 'acme:1042');
    echo "{$done->status->value}: {$done->eventId}\n";
} catch (InvalidLeadException $e) {
    print_r($e->fields); // correct them, then post with the same key
} catch (UnavailableException $e) {
    echo "Try later with the same key ({$e->requestId})\n";
} catch (LeadsException $e) {
    echo "{$e->kind->value}: {$e->getMessage()}\n";
}
