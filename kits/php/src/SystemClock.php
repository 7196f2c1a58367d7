<?php

declare(strict_types=1);

namespace Leads;

/** The machine's own time. */
final class SystemClock implements Clock
{
    /** How often a wait looks whether it was cancelled; a signal ends the sleep that it comes in at once. */
    private const SLICE_MICROSECONDS = 50_000;

    public function now(): float
    {
        return microtime(true);
    }

    public function monotonic(): float
    {
        return hrtime(true) / 1e9;
    }

    public function sleep(float $seconds, Cancellation $cancellation): void
    {
        $end = $this->monotonic() + $seconds;
        while (!$cancellation->isCancelled() && ($left = $end - $this->monotonic()) > 0) {
            usleep((int) min(self::SLICE_MICROSECONDS, ceil($left * 1e6)));
        }
    }
}
