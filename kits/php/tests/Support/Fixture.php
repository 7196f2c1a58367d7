<?php

declare(strict_types=1);

namespace Leads\Tests\Support;

use Leads\Lead;

/** What the tests share. */
final class Fixture
{
    public const KEY = 'lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H';
    public const OTHER_KEY = 'lead_live_FSBrysGrwvg8JDrWLyCG6ImS27h1sR3g0fULLN';
    public const FORMS_KEY = 'form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS';

    /** What of a key or a lead must stand nowhere. */
    public const SECRETS = ['JoIv8xyL', 'FSBrysGr', 'YNOLPdY0', 'Augusta', 'Byron-King', '5550123'];

    public static function lead(): Lead
    {
        return new Lead(firstName: 'Augusta', lastName: 'Byron-King', phone: '5550123');
    }
}
