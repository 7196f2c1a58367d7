<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Clock;

/**
 * How a client tries and waits. All times are seconds.
 *
 * @internal
 */
final class Policy
{
    private const FIRST_WAIT = 1.0;
    private const WAIT_MAX = 30.0;
    /** Doubled so often, a wait is long past its cap; more would only leave the range of floats. */
    private const DOUBLINGS_MAX = 60;

    /** @param \Closure(): float $random 0 to 1 */
    public function __construct(
        public readonly int $tries,
        public readonly float $tryTimeout,
        public readonly float $deadline,
        public readonly Clock $clock,
        private readonly \Closure $random,
    ) {
    }

    /**
     * The wait after a spent try.
     *
     * @param int $retry 1 for the first
     * @param string|null $retryAfter the header, of a 5xx
     */
    public function waitAfterSpent(int $retry, ?string $retryAfter): float
    {
        $backoff = min(self::WAIT_MAX, self::FIRST_WAIT * 2 ** min($retry - 1, self::DOUBLINGS_MAX));
        $floor = RetryAfter::seconds($retryAfter, $this->clock->now()) ?? 0.0;
        return max($floor, $backoff * (1 + $this->draw()) / 2);
    }

    /**
     * The wait after a 429.
     *
     * @param int $inARow 1 for the first
     */
    public function waitAfterLimited(int $inARow, ?string $retryAfter): float
    {
        $asked = max(1.0, RetryAfter::seconds($retryAfter, $this->clock->now()) ?? 1.0);
        $grown = min(self::WAIT_MAX, $asked * 2 ** min($inARow - 1, self::DOUBLINGS_MAX));
        return max($asked, $grown) * (1 + $this->draw() / 4);
    }

    private function draw(): float
    {
        return max(0.0, min(1.0, ($this->random)()));
    }
}
