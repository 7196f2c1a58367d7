<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Client;
use Leads\Tests\Support\Certificates;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\Server;
use Leads\UnavailableException;
use PHPUnit\Framework\TestCase;

/**
 * Authorities and proxies.
 *
 * @requires extension openssl
 */
final class TlsTest extends TestCase
{
    private static Certificates $certificates;

    public static function setUpBeforeClass(): void
    {
        self::$certificates = new Certificates();
    }

    protected function tearDown(): void
    {
        foreach (['CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'https_proxy'] as $name) {
            putenv($name);
        }
    }

    private static function url(Server $server): string
    {
        return "https://localhost:{$server->port}";
    }

    private function assertNotTrusted(Client $client): void
    {
        try {
            $client->postLead(Fixture::lead(), 'acme:1');
            self::fail('It was trusted');
        } catch (UnavailableException $exception) {
            self::assertNull($exception->status);
            self::assertFalse($exception->unknownOutcome);
        }
    }

    public function testTrustsTheAuthoritiesThatItWasGiven(): void
    {
        $server = new Server([Server::accepted()], self::$certificates->server);
        $client = new Client(Fixture::KEY, self::url($server), caFile: self::$certificates->authority);
        foreach (['acme:1', 'acme:2'] as $key) {
            $client->postLead(Fixture::lead(), $key);
            self::assertSame(1, $server->request()['connection']);
        }
    }

    /**
     * @testWith ["CURL_CA_BUNDLE"]
     *           ["SSL_CERT_FILE"]
     */
    public function testTrustsTheAuthoritiesThatTheEnvironmentNames(string $name): void
    {
        $server = new Server([Server::accepted()], self::$certificates->server);
        putenv("{$name}=" . self::$certificates->authority);
        $done = (new Client(Fixture::KEY, self::url($server)))->postLead(Fixture::lead(), 'acme:1');
        self::assertSame('event-1', $done->eventId);
    }

    public function testTrustsNobodyElse(): void
    {
        $server = new Server([Server::accepted()], self::$certificates->server);
        $this->assertNotTrusted(new Client(Fixture::KEY, self::url($server), tries: 1));
        self::assertSame([], $server->stop());
    }

    public function testTrustsNoOtherName(): void
    {
        $server = new Server([Server::accepted()], self::$certificates->server);
        $address = "https://127.0.0.1:{$server->port}";
        $this->assertNotTrusted(new Client(Fixture::KEY, $address, tries: 1, caFile: self::$certificates->authority));
        self::assertSame([], $server->stop());
    }

    public function testGoesThroughTheProxyOfTheEnvironmentAndShowsItNothing(): void
    {
        $proxy = new Server([Server::answer(502, 'no way', 'Retry-After: 9')]);
        putenv('https_proxy=' . $proxy->url());
        $this->assertNotTrusted(new Client(Fixture::KEY, 'https://leads.example', tries: 1));
        $request = $proxy->request();
        self::assertStringStartsWith('CONNECT leads.example:443 ', $request['head']);
        self::assertStringNotContainsString(Fixture::KEY, $request['head']);
    }

    public function testWhatAProxyWasAskedIsNoPartOfThePost(): void
    {
        $proxy = new Server([['raw' => "HTTP/1.1 200 Connected\r\n\r\nthis is not TLS", 'close' => true]]);
        putenv('https_proxy=' . $proxy->url());
        $this->assertNotTrusted(new Client(Fixture::KEY, 'https://leads.example', tries: 1));
    }
}
