<?php

declare(strict_types=1);

namespace Leads;

/** One term of `project_area`. */
final class Area
{
    /**
     * @internal Only the kit makes these.
     * @param string $area the term, as a lead holds it
     * @param string $status `confirmed` or `proposed`; both are accepted alike
     */
    public function __construct(
        public readonly string $area,
        public readonly string $status,
    ) {
    }
}
