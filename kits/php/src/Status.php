<?php

declare(strict_types=1);

namespace Leads;

/** What became of a posted lead. Both are success. */
enum Status: string
{
    /** The lead was stored (202). */
    case Accepted = 'accepted';
    /** A lead with this idempotency key had been stored before (200); the acknowledgement is that one's. */
    case Duplicate = 'duplicate';
}
