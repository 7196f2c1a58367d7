<?php

declare(strict_types=1);

namespace Leads;

/** The terms that the service knows. A lead may hold others: they are stored and flagged, never refused. */
final class Vocabulary
{
    /**
     * @internal Only the kit makes these.
     * @param list<Area> $areas the terms of `project_area`
     * @param list<string> $services the values of `project_service`
     * @param list<string> $required the fields that a lead must have
     */
    public function __construct(
        public readonly array $areas,
        public readonly array $services,
        public readonly array $required,
    ) {
    }
}
