<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * The header in which a service says how long to wait.
 *
 * @internal
 */
final class RetryAfter
{
    private const MONTHS = [
        'Jan' => 1, 'Feb' => 2, 'Mar' => 3, 'Apr' => 4, 'May' => 5, 'Jun' => 6,
        'Jul' => 7, 'Aug' => 8, 'Sep' => 9, 'Oct' => 10, 'Nov' => 11, 'Dec' => 12,
    ];

    /** The form that is written today, then two that a recipient has to read as well (RFC 9110, 5.6.7). */
    private const DATES = [
        '/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4})'
            . ' (?<h>\d\d):(?<m>\d\d):(?<s>\d\d) GMT$/D',
        '/^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d)'
            . ' (?<h>\d\d):(?<m>\d\d):(?<s>\d\d) GMT$/D',
        '/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d)'
            . ' (?<h>\d\d):(?<m>\d\d):(?<s>\d\d) (?<year>\d{4})$/D',
    ];

    /**
     * @param float $now seconds since 1970
     * @return float|null seconds, INF when no clock holds them; null when missing or unreadable
     */
    public static function seconds(?string $header, float $now): ?float
    {
        if ($header === null) {
            return null;
        }
        if (preg_match('/^[0-9]+$/D', $header) === 1) {
            return (float) $header;
        }
        foreach (self::DATES as $form) {
            if (preg_match($form, $header, $part) === 1) {
                $time = self::time($part, $now);
                return $time === null ? null : max(0.0, $time - $now);
            }
        }
        return null;
    }

    /** @param array<array-key, string> $part */
    private static function time(array $part, float $now): ?int
    {
        $month = self::MONTHS[$part['month']] ?? 0;
        $day = (int) $part['day'];
        $year = (int) $part['year'];
        if (strlen($part['year']) === 2) {
            // Two digits mean a year that is not over 50 years ahead.
            $thisYear = (int) gmdate('Y', (int) $now);
            $year += intdiv($thisYear, 100) * 100;
            $year -= $year > $thisYear + 50 ? 100 : 0;
        }
        if (!checkdate($month, $day, $year) || $part['h'] > 23 || $part['m'] > 59 || $part['s'] > 60) {
            return null;
        }
        $time = gmmktime((int) $part['h'], (int) $part['m'], (int) $part['s'], $month, $day, $year);
        return $time === false ? null : $time;
    }
}
