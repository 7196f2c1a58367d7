<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Cancellation;
use Leads\CancelledException;
use Leads\InvalidLeadException;
use Leads\LeadsException;
use Leads\RefusedException;
use Leads\Tried;
use Leads\UnauthorizedException;
use Leads\UnavailableException;
use Leads\Waiting;

/**
 * One call: its tries, its waits, its deadline, and what is known of its outcome.
 *
 * @internal
 */
final class Call
{
    /** Spent tries. */
    public int $tries = 0;

    private int $limitedInARow = 0;
    private ?int $status = null;
    private ?string $errorCode = null;
    private ?string $detail = null;
    private bool $unknownOutcome = false;

    /** Whether this posts a lead: what else is sent leaves nothing behind, so its outcome is never unknown. */
    private readonly bool $leavesSomething;

    public function __construct(
        #[\SensitiveParameter] public readonly Request $request,
        private readonly Policy $policy,
        private readonly Transport $transport,
        private readonly Watch $watch,
        private readonly Cancellation $cancellation,
    ) {
        $this->leavesSomething = isset($request->headers['Idempotency-Key']);
    }

    /**
     * Tries until there is a result, or until there can be none.
     *
     * @template T of object
     * @param \Closure(Exchange): (T|Again) $judge says what a whole answer comes to, or throws what it means
     * @param float|null $deadline seconds; null for the client's
     * @return T
     * @throws LeadsException
     */
    public function run(\Closure $judge, ?float $deadline): object
    {
        $clock = $this->policy->clock;
        $end = $clock->monotonic() + ($deadline ?? $this->policy->deadline);
        while (true) {
            if ($this->cancellation->isCancelled()) {
                throw $this->cancelled();
            }
            $left = $end - $clock->monotonic();
            if ($left <= 0) {
                throw $this->unavailable('the deadline has passed');
            }
            $exchange = $this->try(min($this->policy->tryTimeout, $left));
            $again = $this->judge($exchange, $judge);
            if (!$again instanceof Again) {
                return $again;
            }
            if ($again === Again::Spent && $this->tries >= $this->policy->tries) {
                throw $this->unavailable($this->lastTry($exchange));
            }
            $this->wait($again, $exchange, $end);
        }
    }

    private function try(float $timeout): Exchange
    {
        $start = $this->policy->clock->monotonic();
        $exchange = $this->transport->exchange($this->request, $timeout, $this->cancellation);
        $this->status = $exchange->status;
        $code = $exchange->object()?->error ?? null;
        $this->errorCode = is_string($code) && preg_match('/^[a-z_]{1,64}$/D', $code) === 1 ? $code : null;
        $detail = $this->errorCode === null ? null : $exchange->object()?->detail ?? null;
        $this->detail = is_string($detail) ? $detail : null;
        $seconds = $this->policy->clock->monotonic() - $start;
        $this->watch->tell(
            new Tried($this->request->method(), $exchange->status, $seconds),
            $this->request->requestId,
        );
        return $exchange;
    }

    /** @param \Closure(Exchange): (object|Again) $judge */
    private function judge(Exchange $exchange, \Closure $judge): object
    {
        // What a 429 says is no try; all else is one, also when it brings the call to its end.
        $limited = $exchange->ending === Ending::Answered && $exchange->status === 429;
        $this->tries += $limited ? 0 : 1;
        $this->limitedInARow = $limited ? $this->limitedInARow + 1 : 0;
        if ($limited) {
            return Again::Limited;
        }
        if ($exchange->ending !== Ending::Answered) {
            $this->markUnknown($exchange->sent);
            return match ($exchange->ending) {
                Ending::Broken => Again::Spent,
                Ending::Unfit => throw $this->refused(),
                Ending::Cancelled => throw $this->cancelled(),
            };
        }
        $result = $judge($exchange);
        if (!$result instanceof Again) {
            return $result;
        }
        $this->markUnknown($exchange->status < 300);
        return $result;
    }

    private function markUnknown(bool $mayBeStored): void
    {
        $this->unknownOutcome = $this->unknownOutcome || ($mayBeStored && $this->leavesSomething);
    }

    private function wait(Again $again, Exchange $exchange, float $end): void
    {
        $limited = $again === Again::Limited;
        $retryAfter = $exchange->status >= 400 ? $exchange->header('retry-after') : null;
        $seconds = $limited
            ? $this->policy->waitAfterLimited($this->limitedInARow, $retryAfter)
            : $this->policy->waitAfterSpent($this->tries, $retryAfter);
        $clock = $this->policy->clock;
        if ($clock->monotonic() + $seconds > $end) {
            throw $this->unavailable($this->lastTry($exchange) . ', and the next try would be past the deadline');
        }
        $this->watch->tell(new Waiting($seconds, $limited), $this->request->requestId);
        $clock->sleep($seconds, $this->cancellation);
    }

    private function lastTry(Exchange $exchange): string
    {
        return $exchange->status === null
            ? "the last try brought no answer ({$exchange->reason})"
            : "the last try was answered with {$exchange->status}";
    }

    private function unavailable(string $why): UnavailableException
    {
        $how = $this->leavesSomething ? 'Try later, with the same idempotency key' : 'Try later';
        return new UnavailableException("{$how}: {$why}", ...$this->soFar());
    }

    private function cancelled(): CancelledException
    {
        return new CancelledException('The call was cancelled', ...$this->soFar());
    }

    /** The exception for an answer that must not be repeated. */
    public function refused(): RefusedException
    {
        $what = $this->errorCode ?? 'it is not one of the service, or not one that was asked for';
        return new RefusedException("The answer {$this->status} ends the call: {$what}", ...$this->soFar());
    }

    /** The exception for a 401. */
    public function unauthorized(): UnauthorizedException
    {
        return new UnauthorizedException('The key was not accepted', ...$this->soFar());
    }

    /**
     * The exception for a 422 that names fields.
     *
     * @param array<array-key, string> $fields
     */
    public function invalidLead(array $fields): InvalidLeadException
    {
        $soFar = $this->soFar();
        unset($soFar['status']);
        return new InvalidLeadException($fields, ...$soFar);
    }

    /** @return array{status: ?int, errorCode: ?string, requestId: ?string, tries: int, unknownOutcome: bool, detail: ?string} */
    private function soFar(): array
    {
        $begun = $this->tries > 0 || $this->limitedInARow > 0;
        return [
            'status' => $this->status,
            'errorCode' => $this->errorCode,
            'requestId' => $begun ? $this->request->requestId : null,
            'tries' => $this->tries,
            'unknownOutcome' => $this->unknownOutcome,
            'detail' => $this->detail,
        ];
    }

    /** @return array<string, mixed> */
    public function __debugInfo(): array
    {
        return array_diff_key($this->soFar(), ['detail' => true]);
    }
}
