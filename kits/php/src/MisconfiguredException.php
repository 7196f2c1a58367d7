<?php

declare(strict_types=1);

namespace Leads;

/** Key, address or an argument cannot be right. Nothing was sent. */
final class MisconfiguredException extends LeadsException
{
    /** @internal Only the kit makes these. */
    public function __construct(string $message)
    {
        parent::__construct($message, ErrorKind::Misconfigured);
    }
}
