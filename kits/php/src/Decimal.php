<?php

declare(strict_types=1);

namespace Leads;

/**
 * A number that reaches the wire digit for digit: `new Decimal('12.50')` is sent as 12.50.
 *
 * PHP has no decimal type, and a float would not keep the digits. Use it for `cost` in a lead that is an array, and
 * for any other number that must not be rounded.
 */
final class Decimal implements \JsonSerializable, \Stringable
{
    /** A float keeps so many digits, whichever they are. */
    private const FLOAT_DIGITS = 15;

    /**
     * @param string $digits a number as JSON writes it
     * @throws MisconfiguredException when it is not one
     */
    public function __construct(public readonly string $digits)
    {
        if (preg_match('/^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/D', $digits) !== 1) {
            throw new MisconfiguredException('A decimal is digits as JSON writes a number, such as 12.50');
        }
    }

    /**
     * What `json_encode` writes, which has no digits of its own for a number: the number when it can be kept exactly,
     * and else the digits as a string. The kit itself always sends the digits as a number.
     */
    public function jsonSerialize(): int|float|string
    {
        $digits = ltrim($this->digits, '-0.');
        return preg_match('/^[0-9.]*$/D', $digits) === 1 && strlen(str_replace('.', '', $digits)) <= self::FLOAT_DIGITS
            ? json_decode($this->digits)
            : $this->digits;
    }

    public function __toString(): string
    {
        return $this->digits;
    }
}
