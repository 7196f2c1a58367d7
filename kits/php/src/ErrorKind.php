<?php

declare(strict_types=1);

namespace Leads;

/** What went wrong, in the words that every kit uses. Each kind has an exception class of its own. */
enum ErrorKind: string
{
    /** The key was not accepted (401): alert a person. */
    case Unauthorized = 'unauthorized';
    /** The lead was not accepted (422): correct the named fields, then post with the same idempotency key. */
    case InvalidLead = 'invalid_lead';
    /** Any other answer that must not be repeated: read status and code. */
    case Refused = 'refused';
    /** Tries or deadline are spent: try later, with the same idempotency key. */
    case Unavailable = 'unavailable';
    /** The caller cancelled: as for unavailable. */
    case Cancelled = 'cancelled';
    /** Found before anything was sent: mend key, address or argument. */
    case Misconfigured = 'misconfigured';
}
