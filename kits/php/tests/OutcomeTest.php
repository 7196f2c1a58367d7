<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Cancellation;
use Leads\CancelledException;
use Leads\Client;
use Leads\ErrorKind;
use Leads\InvalidLeadException;
use Leads\LeadsException;
use Leads\RefusedException;
use Leads\SystemClock;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\OnRequest;
use Leads\Tests\Support\Server;
use Leads\Tests\Support\TestClock;
use Leads\UnauthorizedException;
use Leads\UnavailableException;
use Leads\Waiting;
use PHPUnit\Framework\TestCase;

/** What a call comes to: its errors, its waits, and what is known of its outcome. */
final class OutcomeTest extends TestCase
{
    /** @return iterable<string, array{array<string, mixed>, class-string<LeadsException>, ErrorKind}> */
    public function failures(): iterable
    {
        yield '401' => [Server::answer(401, '{}'), UnauthorizedException::class, ErrorKind::Unauthorized];
        yield '422' => [
            Server::answer(422, ['error' => 'validation_failed', 'fields' => ['phone' => 'required']]),
            InvalidLeadException::class,
            ErrorKind::InvalidLead,
        ];
        yield '404' => [Server::answer(404, '{}'), RefusedException::class, ErrorKind::Refused];
        yield '503' => [Server::answer(503, '{}'), UnavailableException::class, ErrorKind::Unavailable];
    }

    /**
     * @dataProvider failures
     * @param array<string, mixed> $answer
     */
    public function testEachKindHasAnExceptionOfItsOwn(array $answer, string $class, ErrorKind $kind): void
    {
        $server = new Server([$answer]);
        try {
            (new Client(Fixture::KEY, $server->url(), tries: 1))->postLead(Fixture::lead(), 'acme:1');
            self::fail('Nothing was thrown');
        } catch (LeadsException $exception) {
            self::assertInstanceOf($class, $exception);
            self::assertSame($kind, $exception->kind);
            self::assertSame($exception->status, $exception->getCode());
            self::assertStringStartsWith('leads-php-', (string) $exception->requestId);
        }
    }

    public function testNamesTheFieldsThatTheServiceNames(): void
    {
        $fields = ['phone' => 'required', 'cost' => 'out_of_range', 'Augusta' => 'required', 'zip' => '5550123'];
        $server = new Server([Server::answer(422, ['error' => 'validation_failed', 'fields' => $fields])]);
        try {
            (new Client(Fixture::KEY, $server->url()))->postLead(Fixture::lead(), 'acme:1');
            self::fail('Nothing was thrown');
        } catch (InvalidLeadException $exception) {
            self::assertSame($fields, $exception->fields);
            self::assertSame(
                'The lead was not accepted: phone (required), cost (out_of_range), 2 more',
                $exception->getMessage(),
            );
        }
    }

    public function testAReplacedClockWaitsWithoutWaiting(): void
    {
        $server = new Server([
            Server::answer(503, '{}'),
            Server::answer(503, '{}', 'Retry-After: Fri, 15 Jan 2027 08:01:01 GMT'),
            Server::answer(429, '{}', 'Retry-After: 7'),
            Server::accepted(),
        ]);
        $clock = new TestClock();
        $client = new Client(Fixture::KEY, $server->url(), clock: $clock, random: static fn (): float => 1.0);
        self::assertSame(3, $client->postLead(Fixture::lead(), 'acme:1')->tries);
        self::assertSame([1.0, 60.0, 8.75], $clock->waits);
    }

    public function testDrawsJitterOfItsOwn(): void
    {
        $server = new Server([Server::answer(503, '{}')]);
        $waits = [];
        foreach (range(1, 8) as $ignored) {
            $clock = new TestClock();
            try {
                (new Client(Fixture::KEY, $server->url(), tries: 2, clock: $clock))->checkKey();
            } catch (UnavailableException) {
                $waits[] = $clock->waits[0];
            }
        }
        self::assertCount(8, array_unique($waits));
        self::assertGreaterThanOrEqual(0.5, min($waits));
        self::assertLessThanOrEqual(1.0, max($waits));
    }

    public function testARequestThatWentOutOnAKeptConnectionIsNotSentAgainUnasked(): void
    {
        $server = new Server([Server::accepted(), Server::accepted(), ['close' => true], Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url(), tries: 1);
        $client->postLead(['n' => 0], 'acme:0');
        $client->postLead(['n' => 1], 'acme:1');
        try {
            $client->postLead(['n' => 2], 'acme:2');
            self::fail('It was sent again');
        } catch (UnavailableException $exception) {
            self::assertTrue($exception->unknownOutcome);
            self::assertSame(1, $exception->tries);
        }
        $client->postLead(['n' => 3], 'acme:3');
        $bodies = array_map(static fn (): string => $server->request()['body'], range(0, 3));
        self::assertSame(['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}'], $bodies);
        self::assertSame([], $server->stop());
    }

    public function testAnUnknownOutcomeIsToldAfterLaterAnswersToo(): void
    {
        $server = new Server([['close' => true], Server::answer(404, '{}')]);
        $client = new Client(Fixture::KEY, $server->url(), clock: new TestClock());
        try {
            $client->postLead(Fixture::lead(), 'acme:1');
            self::fail('Nothing was thrown');
        } catch (RefusedException $exception) {
            self::assertTrue($exception->unknownOutcome);
            self::assertSame(404, $exception->status);
        }
    }

    public function testAMemberWhoseNameStartsWithNulIsAMemberLikeOthers(): void
    {
        $ours = substr((string) strstr(Server::accepted()['raw'], "\r\n\r\n{"), 5, -1);
        $server = new Server([Server::answer(202, '{"\u0000a":["\u0000","\\\\",{"\u0000":1}],' . $ours . '}')]);
        $done = (new Client(Fixture::KEY, $server->url()))->postLead(Fixture::lead(), 'acme:1');
        self::assertSame('event-1', $done->eventId);
    }

    public function testAnObjectIsNoListOfFlags(): void
    {
        $body = substr((string) strstr(Server::accepted()['raw'], "\r\n\r\n"), 4);
        $server = new Server([Server::answer(202, str_replace('[]', '{}', $body))]);
        $this->expectException(UnavailableException::class);
        (new Client(Fixture::KEY, $server->url(), tries: 1))->postLead(Fixture::lead(), 'acme:1');
    }

    public function testSkipsInterimAnswersOfEveryNumber(): void
    {
        $interim = array_map(
            static fn (int $status): string => "HTTP/1.1 {$status} Interim\r\nX: y\r\n\r\n",
            [100, 102, 103, 104, 110, 150, 199],
        );
        $server = new Server([['raw' => implode('', $interim) . Server::accepted()['raw']]]);
        $done = (new Client(Fixture::KEY, $server->url(), tries: 1))->postLead(Fixture::lead(), 'acme:1');
        self::assertSame('event-1', $done->eventId);
    }

    public function testAHeadWithoutEndIsNoAnswer(): void
    {
        $head = "HTTP/1.1 202 Accepted\r\n" . str_repeat('X: ' . str_repeat('x', 1000) . "\r\n", 300);
        $server = new Server([['raw' => $head]]);
        $this->expectException(UnavailableException::class);
        (new Client(Fixture::KEY, $server->url(), tries: 1))->postLead(Fixture::lead(), 'acme:1');
    }

    public function testACheckCancelsATryThatIsUnderWay(): void
    {
        $server = new Server([[]]);
        $cancellation = new Cancellation(new OnRequest($server, static fn (): bool => true));
        try {
            (new Client(Fixture::KEY, $server->url()))->postLead([], 'acme:1', cancellation: $cancellation);
            self::fail('It was not cancelled');
        } catch (CancelledException $exception) {
            self::assertTrue($exception->unknownOutcome);
            self::assertNull($exception->status);
        }
    }

    /**
     * @requires extension pcntl
     * @requires extension posix
     */
    public function testASignalHandlerCancelsATryThatIsUnderWay(): void
    {
        $server = new Server([['signal' => SIGUSR1]]);
        $cancellation = new Cancellation();
        $before = pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, static fn () => $cancellation->cancel());
        try {
            (new Client(Fixture::KEY, $server->url()))->postLead([], 'acme:1', cancellation: $cancellation);
            self::fail('It was not cancelled');
        } catch (CancelledException $exception) {
            self::assertSame(ErrorKind::Cancelled, $exception->kind);
        } finally {
            pcntl_signal(SIGUSR1, SIG_DFL);
            pcntl_async_signals($before);
        }
    }

    public function testARealWaitEndsWhenItIsCancelled(): void
    {
        $server = new Server([Server::answer(503, '{}', 'Retry-After: 100')]);
        $cancellation = new Cancellation();
        $client = new Client(
            Fixture::KEY,
            $server->url(),
            observer: static fn (object $event) => $event instanceof Waiting && $cancellation->cancel(),
            clock: new SystemClock(),
        );
        try {
            $client->postLead([], 'acme:1', cancellation: $cancellation);
            self::fail('It was not cancelled');
        } catch (CancelledException $exception) {
            self::assertSame(503, $exception->status);
            self::assertSame(1, $exception->tries);
        }
    }

    public function testACallThatIsCancelledBeforehandSendsNothing(): void
    {
        $server = new Server([Server::accepted()]);
        $cancellation = new Cancellation();
        $cancellation->cancel();
        try {
            (new Client(Fixture::KEY, $server->url()))->postLead([], 'acme:1', cancellation: $cancellation);
            self::fail('It was not cancelled');
        } catch (CancelledException $exception) {
            self::assertNull($exception->requestId);
            self::assertFalse($exception->unknownOutcome);
        }
        self::assertSame([], $server->stop());
    }

    public function testWhatAnExceptionOfASignalHandlerLeavesBehindServesTheNextCall(): void
    {
        $server = new Server([[], Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url());
        $throw = static fn (): never => throw new \DomainException('Enough');
        try {
            $client->postLead([], 'acme:1', cancellation: new Cancellation(new OnRequest($server, $throw)));
            self::fail('Nothing was thrown');
        } catch (\DomainException) {
            self::assertSame('event-1', $client->postLead(Fixture::lead(), 'acme:1')->eventId);
        }
        self::assertSame(2, $server->request()['connection']);
    }

    public function testKeepsTheVocabularyForItsTime(): void
    {
        $body = ['project_area' => [['area' => 'roof', 'status' => 'confirmed']], 'project_service' => ['repair'],
            'required' => ['phone']];
        $server = new Server([
            Server::answer(200, $body, 'Cache-Control: public, max-age=300', 'ETag: "one"'),
            Server::answer(304, '', 'Cache-Control: public, max-age=300'),
        ]);
        $clock = new TestClock();
        $client = new Client(Fixture::KEY, $server->url(), clock: $clock);
        $first = $client->vocabulary();
        self::assertSame('roof', $first->areas[0]->area);
        $clock->seconds += 299;
        self::assertSame($first, $client->vocabulary());
        $clock->seconds += 1;
        self::assertSame($first, $client->vocabulary());
        $clock->seconds += 299;
        self::assertSame($first, $client->vocabulary());
        self::assertStringNotContainsString('If-None-Match', $server->request()['head']);
        self::assertStringContainsString("\r\nIf-None-Match: \"one\"", $server->request()['head']);
        self::assertSame([], $server->stop());
    }
}
