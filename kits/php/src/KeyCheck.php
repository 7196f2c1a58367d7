<?php

declare(strict_types=1);

namespace Leads;

/** What a key check found. */
final class KeyCheck
{
    /**
     * @internal Only the kit makes these.
     * @param string $requestId the `X-Request-Id` that was sent
     * @param int $tries the tries it took; 1 when the first was answered
     */
    public function __construct(
        public readonly Verdict $verdict,
        public readonly string $requestId,
        public readonly int $tries,
    ) {
    }

    /** Whether the key is known and active. */
    public function isValid(): bool
    {
        return $this->verdict === Verdict::Valid;
    }
}
