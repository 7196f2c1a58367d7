<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Client;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\Server;
use Leads\Tests\Support\TestClock;
use Leads\Tried;
use Leads\UnavailableException;
use Leads\Waiting;
use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;

/** What observer and log are told. */
final class WatchTest extends TestCase
{
    /** @return list<array<string, mixed>> 503, 429, and the lead is taken */
    private static function answers(): array
    {
        return [Server::answer(503, '{"error":"Augusta"}'), Server::answer(429, '{}'), Server::accepted()];
    }

    public function testTheObserverHearsOfEveryTryAndWait(): void
    {
        $server = new Server(self::answers());
        $events = [];
        $client = new Client(
            Fixture::KEY,
            $server->url(),
            observer: static function (Tried|Waiting $event) use (&$events): void {
                $events[] = $event;
            },
            clock: new TestClock(),
            random: static fn (): float => 0.0,
        );
        $client->postLead(Fixture::lead(), 'acme:1');
        self::assertEquals([
            new Tried('POST', 503, 0.0),
            new Waiting(0.5, false),
            new Tried('POST', 429, 0.0),
            new Waiting(1.0, true),
            new Tried('POST', 202, 0.0),
        ], $events);
    }

    public function testATryWithoutAnAnswerHasNoStatus(): void
    {
        $events = [];
        $client = new Client(
            Fixture::KEY,
            'http://127.0.0.1:1',
            tries: 1,
            observer: static function (Tried|Waiting $event) use (&$events): void {
                $events[] = $event;
            },
        );
        try {
            $client->checkKey();
            self::fail('Somebody answered');
        } catch (UnavailableException $exception) {
            self::assertFalse($exception->unknownOutcome);
        }
        self::assertCount(1, $events);
        self::assertNull($events[0]->status);
        self::assertGreaterThan(0.0, $events[0]->seconds);
    }

    public function testWhatTheObserverThrowsCostsNoLead(): void
    {
        $server = new Server([Server::accepted()]);
        $observer = static fn (object $event) => throw new \LogicException('The disk is full');
        $client = new Client(Fixture::KEY, $server->url(), observer: $observer);
        self::assertSame('event-1', $client->postLead(Fixture::lead(), 'acme:1')->eventId);
    }

    public function testALogOfPsr3HearsTheSameAndNoSecret(): void
    {
        if (!interface_exists(\Psr\Log\LoggerInterface::class)) {
            self::markTestSkipped('psr/log is not installed');
        }
        $logger = new class extends AbstractLogger {
            /** @var list<array{mixed, string, array<string, mixed>}> */
            public array $lines = [];

            public function log($level, $message, array $context = []): void
            {
                $this->lines[] = [$level, (string) $message, $context];
            }
        };
        $server = new Server(self::answers());
        (new Client(Fixture::KEY, $server->url(), logger: $logger, clock: new TestClock()))
            ->postLead(Fixture::lead(), 'acme:1', 'request-1');
        self::assertSame(['debug', 'notice', 'debug', 'notice', 'debug'], array_column($logger->lines, 0));
        self::assertSame(
            ['method' => 'POST', 'status' => 202, 'seconds' => 0.0, 'request_id' => 'request-1'],
            $logger->lines[4][2],
        );
        foreach (Fixture::SECRETS as $secret) {
            self::assertStringNotContainsString($secret, var_export($logger->lines, true));
        }
    }
}
