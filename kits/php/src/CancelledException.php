<?php

declare(strict_types=1);

namespace Leads;

/** The caller cancelled: to finish, post again with the same idempotency key. */
final class CancelledException extends LeadsException
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
            ErrorKind::Cancelled,
            $status,
            $errorCode,
            $requestId,
            $tries,
            $unknownOutcome,
            $detail,
        );
    }
}
