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
     * Notices that bytes of the request went out, and from then on lets this transfer open no connection.
     *
     * Left alone, curl sends a request a second time, unasked and untold, when a connection that it used again ends
     * without an answer. But the service may have taken the first one. Nothing turns that off, so the protocols that
     * are allowed do it: the transfer ends with an error instead. A connection that was closed before the
     * request went out is still replaced, since nothing is noticed then.
     *
     * curl calls this after every step of a transfer, between the sending and the reading, too; and no more once
     * it has noticed.
     *
     * @return int 0: go on
     */
    public function notice(\CurlHandle $transfer): int
    {
        // The size counts what was asked of a proxy, too; the time is 0 until the connection, with its TLS, stands.
        if (
            curl_getinfo($transfer, CURLINFO_REQUEST_SIZE) > 0
            && curl_getinfo($transfer, CURLINFO_PRETRANSFER_TIME) > 0
        ) {
            $this->sent = true;
            curl_setopt_array($transfer, [CURLOPT_PROTOCOLS => CURLPROTO_DICT, CURLOPT_NOPROGRESS => true]);
        }
        return 0;
    }

    /**
     * Takes a line of a head.
     *
     * @return int its length; -1 to read no further
     */
    public function takeHeadLine(\CurlHandle $transfer, string $line): int
    {
        $length = strlen($line);
        if ($this->headEnded) {
            return $length; // a trailer
        }
        $this->headBytes += $length;
        if ($this->headBytes > self::HEAD_BYTES_MAX) {
            return -1;
        }
        if ($this->lineIsStatus) {
            $this->lineIsStatus = false;
            return $this->takeStatus($line) ? $length : -1;
        }
        if ($line === "\r\n" || $line === "\n") {
            $this->lineIsStatus = true;
            $this->headEnded = $this->status >= 200;
        } elseif ($this->status >= 200) {
            $this->headers .= $line;
        }
        return $length;
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
        if ($this->interimCount <= self::INTERIM_MAX && $this->status >= 100 && $this->status !== 101) {
            return true;
        }
        $this->ending = Ending::Unfit;
        return false;
    }

    /**
     * Takes bytes of the body, after transfer decoding.
     *
     * @return int how many; -1 to read no further
     */
    public function takeBody(\CurlHandle $transfer, string $bytes): int
    {
        $length = strlen($bytes);
        if (strlen($this->body) + $length > self::BODY_BYTES_MAX) {
            $this->body = '';
            $this->ending = Ending::Unfit;
            return -1;
        }
        $this->body .= $bytes;
        return $length;
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
