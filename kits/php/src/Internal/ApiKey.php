<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\MisconfiguredException;

/**
 * The form of a key: prefix, 32 base62 characters, and six that are a checksum of all before them.
 *
 * @internal
 */
final class ApiKey
{
    private const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    private const CHECKSUM_PLACES = 6;

    /**
     * @return Secret the key, when its form and checksum are right
     * @throws MisconfiguredException saying what is wrong with it, and never showing it
     */
    public static function check(#[\SensitiveParameter] string $key): Secret
    {
        if (preg_match('/^form_(?:live|test)_/', $key) === 1) {
            throw new MisconfiguredException('This is a forms key; posting leads takes one that starts with lead_');
        }
        if (preg_match('/^lead_(?:live|test)_/', $key) !== 1) {
            throw new MisconfiguredException('This is not a key: one starts with lead_live_ or lead_test_');
        }
        if (
            preg_match('/^lead_(?:live|test)_[0-9A-Za-z]{38}$/D', $key) !== 1
            || substr($key, -self::CHECKSUM_PLACES) !== self::checksum(substr($key, 0, -self::CHECKSUM_PLACES))
        ) {
            throw new MisconfiguredException('This key is mistyped or cut off');
        }
        return new Secret($key);
    }

    private static function checksum(#[\SensitiveParameter] string $text): string
    {
        $rest = crc32($text);
        $digits = '';
        for ($place = 0; $place < self::CHECKSUM_PLACES; $place++) {
            $digits = self::DIGITS[$rest % 62] . $digits;
            $rest = intdiv($rest, 62);
        }
        return $digits;
    }
}
