<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * One try: curl's callbacks write into it what comes in, and it is what the try comes to.
 *
 * @internal
 */
final class Exchange
{
    private const BODY_BYTES_MAX = 1_048_576;
    private const INTERIM_MAX = 20;
    /** All heads of an answer, those of interim answers too. Far above any that is meant well. */
    private const HEAD_BYTES_MAX = 262_144;
    private const INTERIM = [100, 102, 103];

    public Ending $ending = Ending::Broken;

    /** Whether bytes of the request went out on an established (TLS) connection. */
    public bool $sent = false;

    /** Why no whole answer came, in words that hold nothing of it. */
    public string $reason = '';

    public ?int $status = null;
    public string $body = '';

    private ?\stdClass $object = null;
    private bool $headEnded = false;
    private bool $lineIsStatus = true;
    private int $headBytes = 0;
    private string $headers = '';
    private int $interimCount = 0;

    /**
     * Takes a line of a head.
     *
     * @return bool whether to read on
     */
    public function takeHeadLine(string $line): bool
    {
        if ($this->headEnded) {
            return true; // a trailer
        }
        $this->headBytes += strlen($line);
        if ($this->headBytes > self::HEAD_BYTES_MAX) {
            return false;
        }
        if ($this->lineIsStatus) {
            $this->lineIsStatus = false;
            return $this->takeStatus($line);
        }
        if ($line === "\r\n" || $line === "\n") {
            $this->lineIsStatus = true;
            $this->headEnded = $this->status >= 200;
        } elseif ($this->status >= 200) {
            $this->headers .= $line;
        }
        return true;
    }

    private function takeStatus(string $line): bool
    {
        if (preg_match('~^HTTP/[0-9.]+ +([0-9]{3})~', $line, $part) !== 1) {
            return false;
        }
        $this->status = (int) $part[1];
        if ($this->status >= 200) {
            return true;
        }
        $this->interimCount++;
        if ($this->interimCount <= self::INTERIM_MAX && in_array($this->status, self::INTERIM, true)) {
            return true;
        }
        $this->ending = Ending::Unfit;
        return false;
    }

    /**
     * Takes bytes of the body, after transfer decoding.
     *
     * @return bool whether to read on
     */
    public function takeBody(string $bytes): bool
    {
        if (strlen($this->body) + strlen($bytes) > self::BODY_BYTES_MAX) {
            $this->body = '';
            $this->ending = Ending::Unfit;
            return false;
        }
        $this->body .= $bytes;
        return true;
    }

    /** A header of the answer; of several, the first. */
    public function header(string $name): ?string
    {
        return preg_match("/^{$name}:([^\r\n]*+)/im", $this->headers, $part) === 1 ? trim($part[1], " \t") : null;
    }

    /** Forgets an answer that did not come whole. */
    public function forgetAnswer(): void
    {
        $this->status = null;
        $this->body = '';
        $this->headers = '';
    }

    /** The body, when it is a JSON object. */
    public function object(): ?\stdClass
    {
        if ($this->object === null && $this->body !== '') {
            $this->object = Json::decodeObject($this->body);
        }
        return $this->object;
    }
}
