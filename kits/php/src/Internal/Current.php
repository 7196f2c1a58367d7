<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * The exchange that curl's callbacks write into. They belong to a handle that is used again, and would keep its owner
 * alive if they knew it.
 *
 * @internal
 */
final class Current
{
    public ?Exchange $exchange = null;
}
