<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * The socket of a connection that curl keeps, to be looked at from outside: PHP's curl shows no socket.
 *
 * It is found among the process's open files by its two addresses. That takes /proc and the command line: elsewhere,
 * as under PHP-FPM, nothing is found.
 *
 * @internal
 */
final class Socket
{
    private const OPEN_FILES = '/proc/self/fd';

    /** The file that it is, once it was found, and what /proc says of that: the number of the socket. */
    private string $descriptor = '';
    private string $number = '';

    private function __construct(
        private readonly string $localAddress,
        private readonly string $peerAddress,
    ) {
    }

    /** The socket that a transfer used last. */
    public static function of(\CurlHandle $transfer): self
    {
        return new self(
            self::address(curl_getinfo($transfer, CURLINFO_LOCAL_IP), curl_getinfo($transfer, CURLINFO_LOCAL_PORT)),
            self::address(curl_getinfo($transfer, CURLINFO_PRIMARY_IP), curl_getinfo($transfer, CURLINFO_PRIMARY_PORT)),
        );
    }

    /** Whether it is known to be open, with nothing to read: no bytes, and no end either. */
    public function isQuiet(): bool
    {
        $stream = PHP_SAPI === 'cli' ? $this->find() : null;
        if ($stream === null) {
            return false;
        }
        $read = [$stream];
        $none = null;
        $quiet = @stream_select($read, $none, $none, 0) === 0;
        fclose($stream); // a duplicate: the socket stays open
        return $quiet;
    }

    /** @return resource|null a duplicate of it */
    private function find(): mixed
    {
        if ($this->number !== '' && self::number($this->descriptor) === $this->number) {
            return @fopen("php://fd/{$this->descriptor}", 'r') ?: null;
        }
        foreach (@scandir(self::OPEN_FILES) ?: [] as $descriptor) {
            // Nothing but sockets is opened: to close the duplicate of a file would drop the locks that are held on it.
            $number = self::number($descriptor);
            $stream = $number === '' ? false : @fopen("php://fd/{$descriptor}", 'r');
            if ($stream === false) {
                continue;
            }
            if (
                stream_socket_get_name($stream, false) === $this->localAddress
                && stream_socket_get_name($stream, true) === $this->peerAddress
            ) {
                $this->descriptor = $descriptor;
                $this->number = $number;
                return $stream;
            }
            fclose($stream);
        }
        return null;
    }

    private static function number(string $descriptor): string
    {
        $file = (string) @readlink(self::OPEN_FILES . "/{$descriptor}");
        return str_starts_with($file, 'socket:') ? $file : '';
    }

    private static function address(string $ip, int $port): string
    {
        return str_contains($ip, ':') ? "[{$ip}]:{$port}" : "{$ip}:{$port}";
    }
}
