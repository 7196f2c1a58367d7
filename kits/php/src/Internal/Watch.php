<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Tried;
use Leads\Waiting;
use Psr\Log\LoggerInterface;

/**
 * Tells observer and log what goes on. What they throw is dropped: a full disk under a log must not cost a lead.
 *
 * @internal
 */
final class Watch
{
    /** @param (\Closure(Tried|Waiting): void)|null $observer */
    public function __construct(
        private readonly ?\Closure $observer,
        private readonly ?LoggerInterface $logger,
    ) {
    }

    public function tell(Tried|Waiting $event, string $requestId): void
    {
        try {
            if ($this->observer !== null) {
                ($this->observer)($event);
            }
        } catch (\Throwable) {
        }
        try {
            if ($event instanceof Tried) {
                $this->logger?->debug('leads: {method} brought {status} in {seconds} s', [
                    'method' => $event->method,
                    'status' => $event->status ?? 'no answer',
                    'seconds' => round($event->seconds, 3),
                    'request_id' => $requestId,
                ]);
            } else {
                $this->logger?->notice('leads: waiting {seconds} s before the next try', [
                    'seconds' => round($event->seconds, 3),
                    'rate_limited' => $event->rateLimited,
                    'request_id' => $requestId,
                ]);
            }
        } catch (\Throwable) {
        }
    }
}
