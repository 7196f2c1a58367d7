<?php

declare(strict_types=1);

namespace Leads;

/** Tries or deadline are spent: try later, with the same idempotency key. */
final class UnavailableException extends LeadsException
{
    /** @internal Only the kit makes these. */
    public function __construct(
        string $message,
        ?int $status = null,
        ?string $errorCode = null,
        ?string $requestId = null,
        int $tries = 0,
        bool $unknownOutcome = false,
        ?string $detail = null,
    ) {
        parent::__construct(
            $message,
            ErrorKind::Unavailable,
            $status,
            $errorCode,
            $requestId,
            $tries,
            $unknownOutcome,
            $detail,
        );
    }
}
