<?php

declare(strict_types=1);

namespace Leads\Tests\Support;

use Leads\Cancellation;
use Leads\Clock;

/** A clock that stands still but for the waits, which take no time. */
final class TestClock implements Clock
{
    /** @var list<float> */
    public array $waits = [];
    public float $seconds = 1_800_000_000.0;

    public function now(): float
    {
        return $this->seconds;
    }

    public function monotonic(): float
    {
        return $this->seconds;
    }

    public function sleep(float $seconds, Cancellation $cancellation): void
    {
        $this->waits[] = $seconds;
        $this->seconds += $seconds;
    }
}
