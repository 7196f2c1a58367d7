<?php

declare(strict_types=1);

namespace Leads;

/** What a key check found. */
enum Verdict: string
{
    /** The key is known and active. */
    case Valid = 'valid';
    /** The key is unknown, mistyped or revoked, or belongs to another address. */
    case Invalid = 'invalid';
}
