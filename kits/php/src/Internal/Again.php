<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * That a call goes on after a try.
 *
 * @internal
 */
enum Again
{
    /** The answer cannot be the service's, or is its 5xx. */
    case Spent;
    /** 429. */
    case Limited;
}
