<?php

declare(strict_types=1);

namespace Leads;

/** The key was not accepted (401): alert a person. */
final class UnauthorizedException extends LeadsException
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
            ErrorKind::Unauthorized,
            $status,
            $errorCode,
            $requestId,
            $tries,
            $unknownOutcome,
            $detail,
        );
    }
}
