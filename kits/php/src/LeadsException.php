<?php

declare(strict_types=1);

namespace Leads;

/**
 * Any failure of a call. Catch a subclass for one kind, or this class and `match` on `$kind`.
 *
 * Neither message nor string form nor stack holds the key, the lead, or text of an answer. Of the stack that is
 * true whatever `zend.exception_ignore_args` says: the arguments are taken out of it.
 */
abstract class LeadsException extends \RuntimeException
{
    /**
     * @internal Only the kit makes these.
     * @param ErrorKind $kind what went wrong
     * @param int|null $status the HTTP status of the last try; null when it brought none
     * @param string|null $errorCode the `error` of the last try's answer, such as `not_accepting`; null when that
     *     is not an answer of the service
     * @param string|null $requestId the `X-Request-Id` that was sent on every try; null when nothing was sent
     * @param int $tries the tries that were spent; a 429 spends none
     * @param bool $unknownOutcome whether the lead may have been stored all the same. Post it again with the same
     *     idempotency key: that stores it once.
     * @param string|null $detail what the last try's answer says is wrong, in a sentence for people; null when it says
     *     nothing. Do not parse it. Neither message nor `var_dump` has it
     */
    public function __construct(
        string $message,
        public readonly ErrorKind $kind,
        public readonly ?int $status = null,
        public readonly ?string $errorCode = null,
        public readonly ?string $requestId = null,
        public readonly int $tries = 0,
        public readonly bool $unknownOutcome = false,
        public readonly ?string $detail = null,
    ) {
        parent::__construct($message, $status ?? 0);
        $this->forgetArguments();
    }

    /** Drops the arguments from every frame: key and lead are among them, in the caller's own frames too. */
    private function forgetArguments(): void
    {
        $trace = new \ReflectionProperty(\Exception::class, 'trace');
        $trace->setValue($this, array_map(static function (array $frame): array {
            unset($frame['args']);
            return $frame;
        }, $this->getTrace()));
    }

    /** @return array<string, mixed> what `var_dump` and `print_r` show */
    public function __debugInfo(): array
    {
        return [
            'message' => $this->getMessage(),
            'kind' => $this->kind->value,
            'status' => $this->status,
            'errorCode' => $this->errorCode,
            'requestId' => $this->requestId,
            'tries' => $this->tries,
            'unknownOutcome' => $this->unknownOutcome,
            'file' => $this->getFile(),
            'line' => $this->getLine(),
            'trace' => $this->getTraceAsString(),
        ];
    }
}
