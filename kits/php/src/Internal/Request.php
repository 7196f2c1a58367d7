<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * What every try of a call sends, byte for byte the same.
 *
 * @internal
 */
final class Request
{
    /**
     * @param array<string, string> $headers
     * @param string|null $body null for a GET
     */
    public function __construct(
        public readonly string $url,
        public readonly string $requestId,
        #[\SensitiveParameter] public readonly array $headers,
        #[\SensitiveParameter] public readonly ?string $body,
    ) {
    }

    public function method(): string
    {
        return $this->body === null ? 'GET' : 'POST';
    }

    /** @return array<string, string> */
    public function __debugInfo(): array
    {
        return ['url' => $this->url, 'requestId' => $this->requestId];
    }
}
