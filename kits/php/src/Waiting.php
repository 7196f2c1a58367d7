<?php

declare(strict_types=1);

namespace Leads;

/** What an observer is told as a wait begins. */
final class Waiting
{
    /**
     * @internal Only the kit makes these.
     * @param float $seconds how long the wait will be, unless it is cancelled
     * @param bool $rateLimited whether it is for a 429
     */
    public function __construct(
        public readonly float $seconds,
        public readonly bool $rateLimited,
    ) {
    }
}
