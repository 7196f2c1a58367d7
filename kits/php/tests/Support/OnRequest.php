<?php

declare(strict_types=1);

namespace Leads\Tests\Support;

/** A check for a cancellation: calls what it was given once the server has a request, and returns false until then. */
final class OnRequest
{
    private bool $called = false;

    public function __construct(private readonly Server $server, private readonly \Closure $then)
    {
    }

    public function __invoke(): bool
    {
        if ($this->called || !$this->server->hasEvent()) {
            return false;
        }
        $this->called = true;
        $this->server->request();
        return ($this->then)();
    }
}
