<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * A string that no dump of its holder shows: it lives in a map beside the object, so `var_dump`, `print_r`,
 * `var_export`, an array cast and `serialize` find nothing in it.
 *
 * @internal
 */
final class Secret
{
    /** @var \WeakMap<self, string>|null */
    private static ?\WeakMap $values = null;

    public function __construct(#[\SensitiveParameter] string $value)
    {
        self::$values ??= new \WeakMap();
        self::$values[$this] = $value;
    }

    public function reveal(): string
    {
        return self::$values[$this];
    }

    private function __clone()
    {
    }

    /** @return never */
    public function __serialize(): array
    {
        throw new \LogicException('A secret cannot be serialized');
    }
}
