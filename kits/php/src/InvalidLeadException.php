<?php

declare(strict_types=1);

namespace Leads;

/**
 * The lead was not accepted (422): correct each field of `$fields`, then post it with the same idempotency key.
 * Nothing was stored.
 */
final class InvalidLeadException extends LeadsException
{
    private const REASONS = ['required', 'too_long', 'out_of_range'];

    /**
     * @internal Only the kit makes these.
     * @param array<array-key, string> $fields each failing field and its reason: `required`, `too_long` or
     *     `out_of_range`
     */
    public function __construct(
        public readonly array $fields,
        ?string $errorCode = null,
        ?string $requestId = null,
        int $tries = 0,
        bool $unknownOutcome = false,
        ?string $detail = null,
    ) {
        parent::__construct(
            'The lead was not accepted: ' . self::describe($fields),
            ErrorKind::InvalidLead,
            422,
            $errorCode,
            $requestId,
            $tries,
            $unknownOutcome,
            $detail,
        );
    }

    /**
     * Names only what the service is known to name: a stranger's answer may hold anything, also what was sent.
     *
     * @param array<array-key, string> $fields
     */
    private static function describe(array $fields): string
    {
        $known = [];
        foreach (array_intersect_key($fields, array_flip(Lead::FIELDS)) as $field => $reason) {
            if (in_array($reason, self::REASONS, true)) {
                $known[] = "{$field} ({$reason})";
            }
        }
        $others = count($fields) - count($known);
        if ($others > 0 || $known === []) {
            $known[] = $known === [] ? "{$others} fields" : "{$others} more";
        }
        return implode(', ', $known);
    }
}
