<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Cancellation;
use Leads\CancelledException;
use Leads\Client;
use Leads\Decimal;
use Leads\Lead;
use Leads\MisconfiguredException;
use Leads\Status;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\OnRequest;
use Leads\Tests\Support\Server;
use PHPUnit\Framework\TestCase;

/** What goes out, and over which connection. */
final class WireTest extends TestCase
{
    public function testPostsALeadObjectWithItsFieldsByTheirNamesOnTheWire(): void
    {
        $server = new Server([Server::accepted()]);
        $lead = new Lead(
            firstName: 'Zoë',
            projectDetails: "a/b\n“c”",
            externalId: '7',
            cost: '12.50',
            more: ['campaign' => ['id' => 12], 'empty' => [], 'first_name' => 'not this one'],
        );
        $done = (new Client(Fixture::KEY, $server->url()))->postLead($lead, 'acme:7', 'my request');
        self::assertSame('event-1', $done->eventId);
        self::assertSame(Status::Accepted, $done->status);
        self::assertSame('my request', $done->requestId);
        $request = $server->request();
        self::assertSame(
            '{"first_name":"Zoë","project_details":"a/b\n“c”","external_id":"7","cost":12.50,'
                . '"campaign":{"id":12},"empty":[]}',
            $request['body'],
        );
        self::assertStringContainsString("\r\nIdempotency-Key: acme:7\r\n", $request['head']);
        self::assertStringContainsString("\r\nX-Request-Id: my request", $request['head']);
    }

    /** @return iterable<string, array{Lead|array<string, mixed>, string}> */
    public function encoded(): iterable
    {
        $lead = new Lead(firstName: 'Ada', cost: '12.50', more: ['campaign' => 'spring']);
        yield 'a lead' => [$lead, '{"first_name":"Ada","cost":12.5,"campaign":"spring"}'];
        yield 'a lead of nothing' => [new Lead(), '{}'];
        yield 'a whole number' => [['n' => new Decimal('-7')], '{"n":-7}'];
        yield 'fifteen digits' => [['n' => new Decimal('0.123456789012345')], '{"n":0.123456789012345}'];
        yield 'more than a float holds' => [['n' => new Decimal('1234567890.123456')], '{"n":"1234567890.123456"}'];
        yield 'an exponent' => [['n' => new Decimal('1e400')], '{"n":"1e400"}'];
    }

    /**
     * @dataProvider encoded
     * @param Lead|array<string, mixed> $lead
     */
    public function testJsonEncodeGivesALeadByItsNamesOnTheWireAndRoundsNothing(Lead|array $lead, string $json): void
    {
        self::assertSame($json, json_encode($lead));
    }

    /** @return iterable<string, array{mixed, string}> */
    public function leads(): iterable
    {
        yield 'an array' => [['first_name' => 'A', 'zip' => null], '{"first_name":"A","zip":null}'];
        yield 'an empty array, which is an object' => [[], '{}'];
        yield 'a decimal deep inside' => [['extra' => [['cost' => new Decimal('0.10')]]], '{"extra":[{"cost":0.10}]}'];
        yield 'a float, with the fewest digits' => [['cost' => 0.1], '{"cost":0.1}'];
        yield 'a whole float' => [['cost' => 12.0], '{"cost":12.0}'];
        yield 'the biggest integer' => [['n' => PHP_INT_MAX], '{"n":9223372036854775807}'];
        yield 'an integer beyond' => [['n' => new Decimal('12345678901234567890')], '{"n":12345678901234567890}'];
        yield 'numeric names' => [['1' => 'a', '0' => 'b'], '{"1":"a","0":"b"}'];
        yield 'an object with an enum' => [(array) (object) ['s' => Status::Accepted], '{"s":"accepted"}'];
        yield 'an object of a class' => [['o' => new \ArrayObject([1])], '{"o":{}}'];
        yield 'a date, which serializes itself' => [
            ['d' => new class implements \JsonSerializable {
                public function jsonSerialize(): mixed
                {
                    return ['cost' => new Decimal('1.0')];
                }
            }],
            '{"d":{"cost":1.0}}',
        ];
        yield 'JSON text, byte for byte' => ["{ \"n\":1e400,\n\"n\":0.30000000000000004 }", null];
        yield 'text that is no JSON' => ["not \u{0} JSON", null];
    }

    /** @dataProvider leads */
    public function testSendsALeadAsItIs(mixed $lead, ?string $body): void
    {
        $server = new Server([Server::accepted()]);
        (new Client(Fixture::KEY, $server->url()))->postLead($lead, 'acme:1');
        self::assertSame($body ?? $lead, $server->request()['body']);
    }

    public function testWritesFloatsWithTheFewestDigitsWhateverTheSettingIs(): void
    {
        $server = new Server([Server::accepted()]);
        $before = ini_set('serialize_precision', '17');
        try {
            (new Client(Fixture::KEY, $server->url()))->postLead(['cost' => 0.1], 'acme:1');
            self::assertSame('17', ini_get('serialize_precision'));
        } finally {
            ini_set('serialize_precision', (string) $before);
        }
        self::assertSame('{"cost":0.1}', $server->request()['body']);
    }

    /** @return iterable<string, array{\Closure(): mixed}> */
    public function unwritable(): iterable
    {
        yield 'text that is not UTF-8' => [static fn (): array => ['first_name' => "Augusta\xff"]];
        yield 'infinity' => [static fn (): array => ['cost' => INF]];
        yield 'a lead within itself' => [static function (): array {
            $lead = ['first_name' => 'Augusta'];
            $lead['again'] = &$lead;
            return $lead;
        }];
        yield 'a cost that is no number' => [static fn (): Lead => new Lead(cost: '12,50')];
        yield 'a cost that is not finite' => [static fn (): Lead => new Lead(cost: NAN)];
    }

    /** @dataProvider unwritable */
    public function testRefusesWhatHasNoJsonAndShowsNothingOfIt(\Closure $lead): void
    {
        try {
            (new Client(Fixture::KEY, 'http://127.0.0.1:1'))->postLead($lead(), 'acme:1');
            self::fail('Nothing was refused');
        } catch (MisconfiguredException $exception) {
            self::assertNull($exception->getPrevious());
            self::assertStringNotContainsString('Augusta', var_export($exception->getTrace(), true) . $exception);
        }
    }

    public function testTellsTheVersionOfTheManifest(): void
    {
        $manifest = json_decode((string) file_get_contents(__DIR__ . '/../composer.json'));
        self::assertSame($manifest->version, Client::VERSION);
        $server = new Server([Server::answer(422, ['error' => 'validation_failed'])]);
        self::assertTrue((new Client(Fixture::KEY, $server->url()))->checkKey()->isValid());
        $head = $server->request()['head'];
        self::assertStringContainsString("\r\nUser-Agent: leads-php/{$manifest->version}\r\n", $head);
    }

    public function testKeepsOneConnectionForAllCallsOfAClient(): void
    {
        $server = new Server([Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url());
        $other = new Client(Fixture::KEY, $server->url());
        foreach ([$client, $client, $other, $client] as $each) {
            $each->postLead(Fixture::lead(), 'acme:1');
        }
        $connections = array_map(static fn (): int => $server->request()['connection'], range(1, 4));
        self::assertSame([1, 1, 2, 1], $connections);
    }

    public function testReplacesAConnectionThatWasClosedMeanwhileWithinTheSameTry(): void
    {
        $server = new Server([Server::accepted(), ['close' => true] + Server::accepted(), Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url(), tries: 1);
        $client->postLead(Fixture::lead(), 'acme:1');
        $client->postLead(Fixture::lead(), 'acme:2');
        $server->awaitClosed();
        self::assertSame(1, $client->postLead(Fixture::lead(), 'acme:3')->tries);
    }

    /** @return iterable<string, array{string, bool}> */
    public function unasked(): iterable
    {
        yield 'an acknowledgement' => [Server::accepted('nobody-judged')['raw'], false];
        yield 'an acknowledgement, and the end' => [Server::accepted('nobody-judged')['raw'], true];
        yield 'that it waited too long, and the end' => [Server::answer(408, '{}')['raw'], true];
        yield 'a single byte' => ["\r", false];
    }

    /** @dataProvider unasked */
    public function testTakesNothingThatCameUnaskedForAnAnswer(string $raw, bool $close): void
    {
        $server = new Server(array_map(Server::accepted(...), ['1', '2', '3', '4']));
        $client = new Client(Fixture::KEY, $server->url(), tries: 1);
        foreach ([1 => 1, 2 => 1, 3 => 2, 4 => 2] as $n => $connection) {
            if ($n === 3) {
                $server->say($raw, $close);
            }
            self::assertSame((string) $n, $client->postLead(Fixture::lead(), 'acme:1')->eventId);
            self::assertSame($connection, $server->request()['connection']);
        }
    }

    /** @return iterable<string, array{string}> */
    public function proxies(): iterable
    {
        yield 'http_proxy' => ['http_proxy'];
        yield 'all_proxy' => ['all_proxy'];
        yield 'ALL_PROXY' => ['ALL_PROXY'];
    }

    /** @dataProvider proxies */
    public function testSendsNothingInClearToAProxy(string $name): void
    {
        $proxy = new Server([Server::accepted('by the proxy')]);
        $server = new Server([Server::accepted()]);
        putenv("{$name}={$proxy->url()}");
        try {
            foreach ([$server->url(), "HTTP://localhost:{$server->port}"] as $url) {
                $client = new Client(Fixture::KEY, $url, tries: 1);
                self::assertSame('event-1', $client->postLead(Fixture::lead(), 'acme:1')->eventId);
            }
        } finally {
            putenv($name);
        }
        self::assertSame([], $proxy->stop());
    }

    public function testMayBeCalledFromItsOwnObserver(): void
    {
        $server = new Server([Server::accepted('outer'), Server::accepted('inner')]);
        $inner = null;
        $observer = static function () use (&$client, &$inner): void {
            if ($inner === null) {
                $inner = ''; // the inner call is observed, too
                $inner = $client->postLead(['inner' => true], 'acme:2')->eventId;
            }
        };
        $client = new Client(Fixture::KEY, $server->url(), observer: $observer);
        self::assertSame('outer', $client->postLead(['inner' => false], 'acme:1')->eventId);
        self::assertSame('inner', $inner);
    }

    public function testMayBeCalledFromWithinATransfer(): void
    {
        $server = new Server([[], Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url());
        $inner = null;
        $check = static function () use ($client, &$inner): bool {
            $inner = $client->postLead(Fixture::lead(), 'acme:2');
            return true;
        };
        try {
            $client->postLead([], 'acme:1', cancellation: new Cancellation(new OnRequest($server, $check)));
            self::fail('It was not cancelled');
        } catch (CancelledException $exception) {
            self::assertTrue($exception->unknownOutcome);
        }
        self::assertSame('event-1', $inner?->eventId);
    }

    /** @requires extension pcntl */
    public function testParentAndChildOfAForkDoNotShareAConnection(): void
    {
        $server = new Server([Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url());
        $client->postLead(['from' => 'parent'], 'acme:1');
        $child = pcntl_fork();
        if ($child === 0) {
            $client->postLead(['from' => 'child'], 'acme:2');
            posix_kill(posix_getpid(), SIGKILL); // without the end of PHPUnit
        }
        pcntl_waitpid($child, $status);
        $client->postLead(['from' => 'parent'], 'acme:3');
        $connections = array_map(static fn (): int => $server->request()['connection'], range(1, 3));
        self::assertSame([1, 2, 1], $connections);
    }
}
