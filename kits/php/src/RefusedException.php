<?php

declare(strict_types=1);

namespace Leads;

/** An answer that must not be repeated: read `$status` and `$errorCode`. */
final class RefusedException extends LeadsException
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
            ErrorKind::Refused,
            $status,
            $errorCode,
            $requestId,
            $tries,
            $unknownOutcome,
            $detail,
        );
    }
}
