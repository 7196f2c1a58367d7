<?php

declare(strict_types=1);

namespace Leads;

/**
 * Ends calls from outside: from a signal handler, an observer, or a check of your own.
 *
 *     $cancellation = new Cancellation();
 *     pcntl_async_signals(true);
 *     pcntl_signal(SIGTERM, fn () => $cancellation->cancel());
 *     $client->postLead($lead, $key, cancellation: $cancellation);
 *
 * A call looks at it before each try, about twenty times a second while it waits for an answer or sleeps, and as
 * soon as a signal arrives. It throws CancelledException then.
 */
final class Cancellation
{
    private bool $cancelled = false;

    /** @var (\Closure(): bool)|null */
    private readonly ?\Closure $check;

    /** @param (callable(): bool)|null $check asked again and again; once it returns true the call is cancelled */
    public function __construct(?callable $check = null)
    {
        $this->check = $check === null ? null : \Closure::fromCallable($check);
    }

    /** Cancels every call that was given this object, now and for good. */
    public function cancel(): void
    {
        $this->cancelled = true;
    }

    /** Whether `cancel()` was called or the check has said so. */
    public function isCancelled(): bool
    {
        if (!$this->cancelled && $this->check !== null && ($this->check)()) {
            $this->cancelled = true;
        }
        return $this->cancelled;
    }
}
