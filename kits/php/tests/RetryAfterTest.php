<?php

declare(strict_types=1);

namespace Leads\Tests;

use Leads\Internal\RetryAfter;
use PHPUnit\Framework\TestCase;

/** The header, in each of its forms. The time is 1994-11-06 08:49:30 UTC. */
final class RetryAfterTest extends TestCase
{
    private const NOW = 784_111_770.0;

    /** @return iterable<array{string|null, float|null}> */
    public function headers(): iterable
    {
        yield [null, null];
        yield ['', null];
        yield ['0', 0.0];
        yield ['007', 7.0];
        yield [str_repeat('9', 400), INF];
        yield ['1.5', null];
        yield ['+1', null];
        yield ['-1', null];
        yield ['1s', null];
        yield ['٣', null];
        yield ['Sun, 06 Nov 1994 08:49:37 GMT', 7.0];
        yield ['Sun, 06 Nov 1994 08:49:29 GMT', 0.0];
        yield ['Sunday, 06-Nov-94 08:49:37 GMT', 7.0];
        yield ['Sunday, 06-Nov-50 08:49:37 GMT', 0.0]; // 1950: 2050 is over 50 years ahead
        yield ['Sun Nov  6 08:49:37 1994', 7.0];
        yield ['Sun, 06 Nov 1994 08:49:60 GMT', 30.0];
        yield ['Sun, 06 Nov 1994 08:49:61 GMT', null];
        yield ['Sun, 31 Nov 1994 08:49:37 GMT', null];
        yield ['Sun, 06 Foo 1994 08:49:37 GMT', null];
        yield ['Sun, 06 Nov 1994 08:49:37 +0100', null];
        yield ['Sun, 6 Nov 1994 08:49:37 GMT', null];
        yield ['tomorrow', null];
    }

    /** @dataProvider headers */
    public function testReads(?string $header, ?float $seconds): void
    {
        self::assertSame($seconds, RetryAfter::seconds($header, self::NOW));
    }
}
