<?php

declare(strict_types=1);

namespace Leads;

/** Time, as a client sees it. Give a client one of your own to test without waiting. */
interface Clock
{
    /** Seconds since 1970-01-01 UTC. Dates in `Retry-After` are held against it. */
    public function now(): float;

    /** Seconds that never step back, from any origin. Deadlines are held against it. */
    public function monotonic(): float;

    /** Returns after that many seconds, or as soon as the call is cancelled. */
    public function sleep(float $seconds, Cancellation $cancellation): void;
}
