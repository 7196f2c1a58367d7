<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Decimal;
use Leads\Lead;
use Leads\MisconfiguredException;

/**
 * JSON in both directions: leads out, answers in.
 *
 * @internal
 */
final class Json
{
    private const DEPTH_MAX = 512;
    private const FLAGS = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION;

    /**
     * What `json_encode` would write, but a Decimal as a number of just its digits.
     *
     * @throws MisconfiguredException when a value has no JSON; it names none, and has no cause, which would hold it
     */
    public static function encode(#[\SensitiveParameter] mixed $value): string
    {
        // The fewest digits that give a float back, whatever php.ini says: 0.1 is sent as 0.1.
        $precision = (string) ini_get('serialize_precision');
        if ($precision === '-1') {
            return self::write($value, 0);
        }
        ini_set('serialize_precision', '-1');
        try {
            return self::write($value, 0);
        } finally {
            ini_set('serialize_precision', $precision);
        }
    }

    private static function write(#[\SensitiveParameter] mixed $value, int $depth): string
    {
        if ($depth > self::DEPTH_MAX) {
            throw new MisconfiguredException('The lead cannot be written as JSON: it is nested too deeply');
        }
        if ($value instanceof Decimal) {
            return $value->digits;
        }
        if ($value instanceof Lead) {
            return self::writeObject($value->toArray(), $depth);
        }
        if ($value instanceof \JsonSerializable) {
            return self::write($value->jsonSerialize(), $depth + 1);
        }
        if (is_object($value) && !$value instanceof \UnitEnum) {
            return self::writeObject(get_object_vars($value), $depth);
        }
        if (is_array($value)) {
            return array_is_list($value)
                ? '[' . implode(',', self::writeAll($value, $depth)) . ']'
                : self::writeObject($value, $depth);
        }
        return self::writePlain($value, self::FLAGS);
    }

    private static function writePlain(#[\SensitiveParameter] mixed $value, int $flags): string
    {
        $text = json_encode($value, $flags);
        if ($text === false) {
            throw new MisconfiguredException('The lead cannot be written as JSON: ' . json_last_error_msg());
        }
        return $text;
    }

    /** @param array<array-key, mixed> $members */
    private static function writeObject(#[\SensitiveParameter] array $members, int $depth): string
    {
        if (self::arePlain($members)) {
            return self::writePlain($members, self::FLAGS | JSON_FORCE_OBJECT); // at once is much faster
        }
        $texts = [];
        foreach (self::writeAll($members, $depth) as $name => $text) {
            $texts[] = self::write((string) $name, $depth) . ':' . $text;
        }
        return '{' . implode(',', $texts) . '}';
    }

    /** @param array<array-key, mixed> $values */
    private static function arePlain(#[\SensitiveParameter] array $values): bool
    {
        foreach ($values as $value) {
            if (!is_scalar($value) && $value !== null) {
                return false;
            }
        }
        return true;
    }

    /**
     * @param array<array-key, mixed> $values
     * @return array<array-key, string>
     */
    private static function writeAll(#[\SensitiveParameter] array $values, int $depth): array
    {
        // No array_map: the stack of what a value throws as it serializes itself would show what that was given.
        $texts = [];
        foreach ($values as $name => $value) {
            $texts[$name] = self::write($value, $depth + 1);
        }
        return $texts;
    }

    /** The object that a text holds; null when it holds anything else. */
    public static function decodeObject(#[\SensitiveParameter] string $text): ?\stdClass
    {
        $value = json_decode($text, false, self::DEPTH_MAX, JSON_BIGINT_AS_STRING);
        if (json_last_error() === JSON_ERROR_INVALID_PROPERTY_NAME) {
            // A PHP object has no member whose name starts with U+0000, and json_decode gives up the whole text for
            // one. Nobody asks for such a member, so any other name does for it.
            $text = preg_replace_callback(
                '/"((?:[^"\\\\]|\\\\.)*+)"(\s*+:)?/s',
                static fn (array $part): string => isset($part[2]) && str_starts_with($part[1], '\u0000')
                    ? '"?' . $part[1] . '"' . $part[2]
                    : $part[0],
                $text,
            );
            $value = json_decode((string) $text, false, self::DEPTH_MAX, JSON_BIGINT_AS_STRING);
        }
        return $value instanceof \stdClass ? $value : null;
    }

    /** Whether a value is an array of strings, as JSON has arrays. */
    public static function isListOfStrings(mixed $value): bool
    {
        return is_array($value) && self::areStrings($value);
    }

    /** @param array<array-key, mixed> $values */
    public static function areStrings(array $values): bool
    {
        foreach ($values as $value) {
            if (!is_string($value)) {
                return false;
            }
        }
        return true;
    }
}
