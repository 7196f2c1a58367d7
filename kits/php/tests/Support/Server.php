<?php

declare(strict_types=1);

namespace Leads\Tests\Support;

/** A real server on 127.0.0.1, in a process of its own, that answers as it was told to. */
final class Server
{
    public readonly int $port;

    /** @var resource */
    private $process;

    /** @var array<int, resource> */
    private array $pipes = [];

    /**
     * @param list<array{raw?: string, close?: bool, signal?: int}> $answers in order; the last again and again
     * @param string|null $certificate a PEM file of certificate and key, for a server with TLS
     */
    public function __construct(array $answers, ?string $certificate = null)
    {
        $process = proc_open([PHP_BINARY, __DIR__ . '/server.php'], [['pipe', 'r'], ['pipe', 'w']], $this->pipes);
        assert($process !== false);
        $this->process = $process;
        $plan = ['answers' => $answers] + ($certificate === null ? [] : ['certificate' => $certificate]);
        fwrite($this->pipes[0], json_encode($plan, JSON_THROW_ON_ERROR) . "\n");
        $this->port = $this->next('port')['port'];
    }

    /** An answer with a JSON body. */
    public static function answer(int $status, mixed $body, string ...$headers): array
    {
        $text = is_string($body) ? $body : json_encode($body, JSON_THROW_ON_ERROR);
        $lines = ["HTTP/1.1 {$status} Answer", 'Content-Length: ' . strlen($text), ...$headers];
        return ['raw' => implode("\r\n", $lines) . "\r\n\r\n" . $text];
    }

    /** The acknowledgement of a lead. */
    public static function accepted(string $eventId = 'event-1'): array
    {
        return self::answer(202, [
            'event_id' => $eventId,
            'status' => 'accepted',
            'received_at' => '2026-09-03T10:00:00Z',
            'source' => 'acme',
            'flags' => [],
        ]);
    }

    public function url(): string
    {
        return "http://127.0.0.1:{$this->port}";
    }

    /**
     * Waits for the next request that came in whole.
     *
     * @return array{connection: int, head: string, body: string}
     */
    public function request(): array
    {
        return $this->next('head');
    }

    /**
     * Sends bytes on the connections of this process, unasked, and waits until they are here. What happened before is
     * not told then.
     */
    public function say(string $raw, bool $close = false): void
    {
        fwrite($this->pipes[0], json_encode(['raw' => $raw, 'close' => $close], JSON_THROW_ON_ERROR) . "\n");
        $this->next('said');
        $this->awaitInput();
    }

    /** Whether something has happened that was not asked for yet. */
    public function hasEvent(): bool
    {
        $read = [$this->pipes[1]];
        $none = null;
        return stream_select($read, $none, $none, 0) === 1;
    }

    /** Waits until the server has closed the connection of this process, and its end is here: the kernel may be late. */
    public function awaitClosed(): void
    {
        $this->next('closed');
        $this->awaitInput();
    }

    /** @return list<array<string, mixed>> the requests that came in and were not asked for; ends the server */
    public function stop(): array
    {
        fclose($this->pipes[0]);
        $rest = array_filter(explode("\n", (string) stream_get_contents($this->pipes[1])));
        fclose($this->pipes[1]);
        proc_close($this->process);
        $this->pipes = [];
        $events = array_map(static fn (string $line): array => json_decode($line, true), array_values($rest));
        return array_values(array_filter($events, static fn (array $event): bool => isset($event['head'])));
    }

    public function __destruct()
    {
        if ($this->pipes !== []) {
            $this->stop();
        }
    }

    /** Waits until something is to be read on the connections of this process: bytes, or an end. */
    private function awaitInput(): void
    {
        foreach (scandir('/proc/self/fd') as $descriptor) {
            if (!str_starts_with((string) @readlink("/proc/self/fd/{$descriptor}"), 'socket:')) {
                continue;
            }
            $read = [fopen("php://fd/{$descriptor}", 'r')];
            $none = null;
            if (stream_socket_get_name($read[0], true) === "127.0.0.1:{$this->port}") {
                stream_select($read, $none, $none, 10);
            }
        }
    }

    /** @return array<string, mixed> */
    private function next(string $member): array
    {
        while (($line = fgets($this->pipes[1])) !== false) {
            $event = json_decode($line, true, 16, JSON_THROW_ON_ERROR);
            if (isset($event[$member])) {
                return $event;
            }
        }
        throw new \RuntimeException('The server has ended');
    }
}
