<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Client;
use Leads\MisconfiguredException;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\Server;
use PHPUnit\Framework\TestCase;

/** What a client is made of, and what it refuses. */
final class SettingsTest extends TestCase
{
    protected function tearDown(): void
    {
        foreach (['LEADS_API_KEY', 'LEADS_BASE_URL'] as $name) {
            putenv($name);
            unset($_ENV[$name], $_SERVER[$name]);
        }
    }

    public function testTakesKeyAndAddressFromTheEnvironment(): void
    {
        $server = new Server([Server::accepted()]);
        putenv('LEADS_API_KEY=' . Fixture::KEY);
        putenv('LEADS_BASE_URL=' . $server->url());
        (new Client())->postLead(Fixture::lead(), 'acme:1');
        self::assertStringContainsString("\r\nX-API-Key: " . Fixture::KEY, $server->request()['head']);
    }

    public function testTakesThemFromTheArraysThatAnEnvFileIsReadInto(): void
    {
        $server = new Server([Server::accepted()]);
        $_ENV['LEADS_API_KEY'] = Fixture::KEY;
        $_SERVER['LEADS_BASE_URL'] = $server->url();
        (new Client())->postLead(Fixture::lead(), 'acme:1');
        self::assertStringContainsString("\r\nX-API-Key: " . Fixture::KEY, $server->request()['head']);
    }

    public function testArgumentsComeBeforeTheEnvironment(): void
    {
        $server = new Server([Server::accepted()]);
        putenv('LEADS_API_KEY=' . Fixture::OTHER_KEY);
        putenv('LEADS_BASE_URL=https://leads.example');
        (new Client(Fixture::KEY, $server->url()))->postLead(Fixture::lead(), 'acme:1');
        self::assertStringContainsString("\r\nX-API-Key: " . Fixture::KEY, $server->request()['head']);
    }

    /** @return iterable<string, array{array<string, mixed>, string}> */
    public function refused(): iterable
    {
        yield 'no key' => [['key' => null], 'set LEADS_API_KEY'];
        yield 'an empty key' => [['key' => ''], 'not a key'];
        yield 'a forms key' => [['key' => Fixture::FORMS_KEY], 'forms key'];
        yield 'a key with a space' => [['key' => Fixture::KEY . ' '], 'mistyped or cut off'];
        yield 'a key with a line end' => [['key' => Fixture::KEY . "\n"], 'mistyped or cut off'];
        yield 'no address' => [['baseUrl' => null], 'set LEADS_BASE_URL'];
        yield 'http' => [['baseUrl' => 'http://leads.example'], 'https://'];
        yield 'http to a name like localhost' => [['baseUrl' => 'http://localhost.leads.example'], 'https://'];
        yield 'http to a short loopback address' => [['baseUrl' => 'http://127.1'], 'https://'];
        yield 'http to a name like a loopback address' => [['baseUrl' => 'http://127.0.0.1.leads.example'], 'https://'];
        yield 'a user' => [['baseUrl' => 'https://a:b@leads.example'], 'user name'];
        yield 'a query' => [['baseUrl' => 'https://leads.example?a'], 'query'];
        yield 'a fragment' => [['baseUrl' => 'https://leads.example#'], 'fragment'];
        yield 'a backslash' => [['baseUrl' => 'https://leads.example\\@other.example'], 'user name'];
        yield 'a line end' => [['baseUrl' => "https://leads.example\n"], 'URL'];
        yield 'a port that is none' => [['baseUrl' => 'https://leads.example:65536'], 'URL'];
        yield 'no tries' => [['tries' => 0], 'try'];
        yield 'no deadline' => [['deadline' => 0.0], 'deadline'];
        yield 'a deadline that never comes' => [['deadline' => INF], 'deadline'];
        yield 'a time-out that is no number' => [['tryTimeout' => NAN], 'time-out'];
        yield 'authorities that are not there' => [['caFile' => __DIR__ . '/none.pem'], 'authorities'];
    }

    /**
     * @dataProvider refused
     * @param array<string, mixed> $setting
     */
    public function testRefusesWhatCannotBeRight(array $setting, string $why): void
    {
        $this->expectException(MisconfiguredException::class);
        $this->expectExceptionMessage($why);
        new Client(...$setting + ['key' => Fixture::KEY, 'baseUrl' => 'https://leads.example']);
    }

    /** @return iterable<string, array{string}> */
    public function addresses(): iterable
    {
        yield 'the name of this machine' => ['http://LOCALHOST:8080'];
        yield 'all of 127' => ['http://127.255.0.9'];
        yield 'the IPv6 loopback address' => ['http://[::1]:8080/'];
        yield 'that address at length' => ['http://[0:0:0:0:0:0:0:1]'];
        yield 'a path' => ['https://leads.example/a/b/'];
    }

    /** @dataProvider addresses */
    public function testTakesAddresses(string $address): void
    {
        self::assertSame(rtrim($address, '/'), (new Client(Fixture::KEY, $address))->__debugInfo()['baseUrl']);
    }

    public function testMakesIdempotencyKeys(): void
    {
        self::assertSame('acme:1042', Client::idempotencyKey('acme', 1042));
        self::assertSame(200, strlen(Client::idempotencyKey('acme', str_repeat('1', 195))));
    }

    /** @return iterable<string, array{string, string}> */
    public function blanks(): iterable
    {
        yield 'no namespace' => ['', '1'];
        yield 'a blank namespace' => [" \t", '1'];
        yield 'no id' => ['acme', ''];
        yield 'over 200 characters' => ['acme', str_repeat('1', 196)];
        yield 'not ASCII' => ['acmé', '1'];
        yield 'a line end' => ['acme', "1\n"];
    }

    /** @dataProvider blanks */
    public function testRefusesToMakeOthers(string $namespace, string $id): void
    {
        $this->expectException(MisconfiguredException::class);
        Client::idempotencyKey($namespace, $id);
    }
}
