<?php

declare(strict_types=1);

namespace Leads;

/** The service has the lead: it is stored, and delivery follows by itself. */
final class Acknowledgement
{
    /**
     * @internal Only the kit makes these.
     * @param string $eventId names the lead in support; keep it with the lead's record
     * @param Status $status whether this call stored it, or an earlier one with the same idempotency key
     * @param string $receivedAt when it was stored, ISO 8601 in UTC, as the service wrote it
     * @param string $source the label of the key
     * @param list<string> $flags observations such as `phone_unnormalized`; never a reason to post again
     * @param string $requestId the `X-Request-Id` that was sent
     * @param int $tries the tries it took; 1 when the first was answered
     */
    public function __construct(
        public readonly string $eventId,
        public readonly Status $status,
        public readonly string $receivedAt,
        public readonly string $source,
        public readonly array $flags,
        public readonly string $requestId,
        public readonly int $tries,
    ) {
    }
}
