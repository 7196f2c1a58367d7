<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Client;
use Leads\LeadsException;
use Leads\MisconfiguredException;
use Leads\Tests\Support\Fixture;
use Leads\Tests\Support\Server;
use PHPUnit\Framework\TestCase;

/** No key and no lead stands in anything that PHP shows. */
final class SecretTest extends TestCase
{
    private static function dump(mixed $value): string
    {
        ob_start();
        var_dump($value);
        print_r($value);
        return ob_get_clean() . var_export($value, true) . json_encode($value, JSON_PARTIAL_OUTPUT_ON_ERROR);
    }

    private static function assertNoSecret(string $text): void
    {
        foreach (Fixture::SECRETS as $secret) {
            self::assertStringNotContainsString($secret, $text);
        }
    }

    public function testNoDumpOfAClientShowsItsKey(): void
    {
        $server = new Server([Server::accepted()]);
        $client = new Client(Fixture::KEY, $server->url());
        self::assertNoSecret(self::dump($client));
        $client->postLead(Fixture::lead(), 'acme:1');
        self::assertNoSecret(self::dump($client));
        self::assertNoSecret(self::dump((array) $client));
        self::assertStringContainsString('(hidden)', self::dump($client));
        self::assertStringContainsString('X-API-Key: ' . Fixture::KEY, $server->request()['head']);
    }

    public function testAClientCannotBeSerialized(): void
    {
        $client = new Client(Fixture::KEY, 'https://leads.example');
        try {
            serialize($client);
            self::fail('It was serialized');
        } catch (\LogicException $exception) {
            self::assertNoSecret((string) $exception);
        }
    }

    public function testNoDumpOfALeadShowsIt(): void
    {
        ob_start();
        var_dump(Fixture::lead());
        print_r(Fixture::lead());
        self::assertNoSecret((string) ob_get_clean());
    }

    /** @return iterable<string, array{array<string, mixed>}> */
    public function echoes(): iterable
    {
        $secrets = implode(' ', Fixture::SECRETS);
        yield 'an error' => [Server::answer(400, ['error' => $secrets])];
        yield 'an error of many words' => [Server::answer(500, "{\"error\":\"x\" {$secrets}")];
        yield 'fields' => [Server::answer(422, ['fields' => [Fixture::KEY => 'required', 'phone' => '5550123']])];
        yield 'a status line' => [['raw' => "HTTP/1.1 404 {$secrets}\r\nContent-Length: 0\r\n\r\n"]];
        yield 'a redirect' => [Server::answer(302, '', 'Location: https://leads.example/' . Fixture::KEY)];
        yield 'what is not HTTP' => [['raw' => $secrets, 'close' => true]];
        yield 'a header that is none' => [['raw' => "HTTP/1.1 202 Ok\r\n{$secrets}\r\n\r\n", 'close' => true]];
        yield 'a length that is none' => [['raw' => "HTTP/1.1 202 Ok\r\nContent-Length: {$secrets}\r\n\r\n"]];
    }

    /**
     * @dataProvider echoes
     * @param array<string, mixed> $answer
     */
    public function testNoExceptionShowsWhatAnAnswerEchoed(array $answer): void
    {
        $server = new Server([['close' => true] + $answer]);
        $client = new Client(Fixture::KEY, $server->url(), tries: 1);
        try {
            $client->postLead(Fixture::lead(), 'acme:1');
            self::fail('Nothing was thrown');
        } catch (LeadsException $exception) {
            ob_start();
            var_dump($exception);
            print_r($exception);
            var_dump($exception->getTrace());
            self::assertNoSecret(ob_get_clean() . $exception);
            self::assertNull($exception->getPrevious());
        }
    }

    /** @return iterable<string, array{string, string}> */
    public function refused(): iterable
    {
        yield 'a forms key' => [Fixture::FORMS_KEY, 'https://leads.example'];
        yield 'a mistyped key' => [strrev(Fixture::KEY), 'https://leads.example'];
        yield 'a cut key' => [substr(Fixture::KEY, 0, -1), 'https://leads.example'];
        yield 'a password' => [Fixture::KEY, 'https://Augusta:Byron-King@leads.example'];
    }

    /** @dataProvider refused */
    public function testNoExceptionShowsWhatWasRefused(string $key, string $address): void
    {
        try {
            new Client($key, $address);
            self::fail('Nothing was thrown');
        } catch (MisconfiguredException $exception) {
            self::assertNoSecret($exception . var_export($exception->getTrace(), true));
        }
    }

    /** Runs a program after all that PHP can put into a stack was turned on, and gives what it says. */
    private static function output(string $program): string
    {
        $program = 'require $argv[1]; function post(string $key, array $lead) {'
            . ' (new Leads\Client($key, "http://127.0.0.1:1", tries: 1))->postLead($lead, "acme:1"); }' . $program;
        $settings = ['zend.exception_ignore_args=0', 'zend.exception_string_param_max_len=200', 'display_errors=1'];
        $command = [PHP_BINARY];
        foreach ($settings as $setting) {
            array_push($command, '-d', $setting);
        }
        array_push($command, '-r', $program, '--', __DIR__ . '/../conformance/autoload.php', Fixture::KEY);
        $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
        $said = (string) stream_get_contents($pipes[1]);
        proc_close($process);
        return $said;
    }

    public function testAnUncaughtExceptionShowsNoSecret(): void
    {
        $said = self::output('post($argv[2], ["first_name" => "Augusta", "last_name" => "Byron-King"]);');
        self::assertStringContainsString('UnavailableException', $said);
        self::assertNoSecret($said);
    }

    public function testAnExceptionOfAValueThatSerializesItselfShowsNoSecret(): void
    {
        $said = self::output(
            'class Broken implements JsonSerializable {'
            . ' function jsonSerialize(): never { throw new Exception("Own"); } }'
            . '$lead = ["first_name" => "Augusta", "more" => [["last_name" => "Byron-King"], [1, new Broken()]]];'
            . 'try { (new Leads\Client($argv[2], "http://127.0.0.1:1"))->postLead($lead, "acme:1"); }'
            . 'catch (Exception $exception) { unset($lead); print_r($exception->getTrace()); throw $exception; }',
        );
        self::assertStringContainsString('Own', $said);
        self::assertNoSecret($said);
    }
}
