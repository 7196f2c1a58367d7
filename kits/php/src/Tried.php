<?php

declare(strict_types=1);

namespace Leads;

/** What an observer is told when a try has ended. */
final class Tried
{
    /**
     * @internal Only the kit makes these.
     * @param string $method `POST` or `GET`
     * @param int|null $status the HTTP status; null when no whole answer came
     * @param float $seconds how long the try took
     */
    public function __construct(
        public readonly string $method,
        public readonly ?int $status,
        public readonly float $seconds,
    ) {
    }
}
