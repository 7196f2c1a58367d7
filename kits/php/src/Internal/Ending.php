<?php

declare(strict_types=1);

namespace Leads\Internal;

/**
 * How a try ended.
 *
 * @internal
 */
enum Ending
{
    /** With a whole answer. */
    case Answered;
    /** Without one: refused, reset, cut short, over its time, not HTTP, not TLS that can be trusted. */
    case Broken;
    /** With an answer that must not be read on: 101, too many interim answers, too long a body. */
    case Unfit;
    case Cancelled;
}
