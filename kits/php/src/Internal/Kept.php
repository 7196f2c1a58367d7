<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Area;
use Leads\Vocabulary;

/**
 * A vocabulary that was read, and until when it counts. Times are seconds of the monotonic clock.
 *
 * @internal
 */
final class Kept
{
    private function __construct(
        public readonly Vocabulary $vocabulary,
        public readonly ?string $etag,
        private readonly float $maxAge,
        private readonly float $since,
    ) {
    }

    /** @return self|null null when the answer is no vocabulary */
    public static function read(Exchange $answer, float $now): ?self
    {
        $object = $answer->object();
        $areas = $object->project_area ?? null;
        $services = $object->project_service ?? null;
        $required = $object->required ?? null;
        if (!is_array($areas) || !Json::isListOfStrings($services) || !Json::isListOfStrings($required)) {
            return null;
        }
        $read = [];
        foreach ($areas as $area) {
            if (!$area instanceof \stdClass || !is_string($area->area ?? null) || !is_string($area->status ?? null)) {
                return null;
            }
            $read[] = new Area($area->area, $area->status);
        }
        return new self(
            new Vocabulary($read, $services, $required),
            self::etag($answer),
            self::maxAge($answer) ?? 0.0,
            $now,
        );
    }

    /** After a 304: the same, for as long as that says, or else as long as before. */
    public function renewed(Exchange $answer, float $now): self
    {
        return new self($this->vocabulary, $this->etag, self::maxAge($answer) ?? $this->maxAge, $now);
    }

    public function isFresh(float $now): bool
    {
        return $now - $this->since < $this->maxAge;
    }

    /** The tag goes out again in a header, so it has to be fit for one. */
    private static function etag(Exchange $answer): ?string
    {
        $etag = $answer->header('etag') ?? '';
        return preg_match('~^(?:W/)?"[\x21\x23-\x7e]{0,200}"$~D', $etag) === 1 ? $etag : null;
    }

    private static function maxAge(Exchange $answer): ?float
    {
        $control = $answer->header('cache-control') ?? '';
        if (preg_match('/(?:^|[\s,])no-(?:store|cache)\b/i', $control) === 1) {
            return 0.0;
        }
        return preg_match('/(?:^|[\s,])max-age="?([0-9]+)/i', $control, $part) === 1 ? (float) $part[1] : null;
    }
}
