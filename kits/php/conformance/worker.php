<?php

declare(strict_types=1);

/* One client of the driver: takes a line, makes the call, answers, and takes the next. */

use Leads\Area;
use Leads\Cancellation;
use Leads\Client;
use Leads\Clock;
use Leads\InvalidLeadException;
use Leads\LeadsException;
use Leads\SystemClock;

require __DIR__ . '/autoload.php';

/** Records waits. Those that are not slept are added to the time, until the call is over. */
final class DriverClock implements Clock
{
    /** @var list<float> */
    public array $waitsMs = [];
    public ?int $cancelAfterWaits = null;
    private float $notSlept = 0.0;
    private readonly SystemClock $real;

    public function __construct(private readonly bool $realTime)
    {
        $this->real = new SystemClock();
    }

    public function beginCall(?int $cancelAfterWaits): void
    {
        $this->waitsMs = [];
        $this->notSlept = 0.0;
        $this->cancelAfterWaits = $cancelAfterWaits;
    }

    public function now(): float
    {
        return $this->real->now() + $this->notSlept;
    }

    public function monotonic(): float
    {
        return $this->real->monotonic() + $this->notSlept;
    }

    public function sleep(float $seconds, Cancellation $cancellation): void
    {
        $this->waitsMs[] = round($seconds * 1000, 3);
        if (count($this->waitsMs) === $this->cancelAfterWaits) {
            $cancellation->cancel();
        }
        if ($this->realTime) {
            $this->real->sleep($seconds, $cancellation);
        } else {
            $this->notSlept += $seconds;
        }
    }
}

/** @return array<string, mixed> */
function call(object $line, ?Client &$client, ?DriverClock &$clock): array
{
    if ($line->call === 'idempotency_key') {
        return ['idempotency_key' => Client::idempotencyKey($line->namespace ?? '', $line->item ?? '')];
    }
    $options = $line->options ?? new stdClass();
    $random = $line->random ?? null;
    $clock ??= new DriverClock($line->real_time ?? false);
    $clock->beginCall($line->cancel_after_waits ?? null);
    $client ??= new Client(
        key: $line->key ?? null,
        baseUrl: $line->base_url ?? null,
        tryTimeout: ($options->try_timeout_ms ?? 20_000) / 1000,
        tries: $options->tries ?? 5,
        caFile: $line->ca_file ?? null,
        clock: $clock,
        random: $random === null ? null : static fn (): float => (float) $random,
    );
    $common = [
        'requestId' => $line->request_id ?? null,
        'deadline' => ($options->deadline_ms ?? 120_000) / 1000,
        'cancellation' => new Cancellation(),
    ];
    switch ($line->call) {
        case 'post_lead':
            $done = $client->postLead($line->lead_json ?? '{}', $line->idempotency_key ?? '', ...$common);
            return [
                'event_id' => $done->eventId,
                'status' => $done->status->value,
                'received_at' => $done->receivedAt,
                'source' => $done->source,
                'flags' => $done->flags,
                'request_id' => $done->requestId,
                'tries' => $done->tries,
                'object' => $done,
            ];
        case 'check_key':
            $done = $client->checkKey(...$common);
            return [
                'verdict' => $done->verdict->value,
                'request_id' => $done->requestId,
                'tries' => $done->tries,
                'object' => $done,
            ];
        case 'vocabulary':
            $done = $client->vocabulary(...$common);
            return [
                'areas' => array_map(
                    static fn (Area $area): array => ['area' => $area->area, 'status' => $area->status],
                    $done->areas,
                ),
                'services' => $done->services,
                'required' => $done->required,
                'object' => $done,
            ];
        default:
            throw new RuntimeException('The call is not known');
    }
}

/** Everything that PHP shows of a value by itself. */
function text(mixed $value, ?Client $client): string
{
    ob_start();
    var_dump($value, $client);
    print_r($value);
    print_r($client);
    if ($value instanceof Throwable) {
        echo $value, $value->getMessage();
        var_dump($value->getTrace(), $value->getPrevious());
    }
    return (string) ob_get_clean();
}

$client = null;
$clock = null;
while (($text = fgets(STDIN)) !== false) {
    $line = json_decode($text);
    $answer = ['id' => $line->id];
    try {
        $result = call($line, $client, $clock);
        $object = $result['object'] ?? null;
        unset($result['object']);
        $answer['result'] = $result;
        $answer['text'] = text($object, $client);
    } catch (LeadsException $exception) {
        $answer['error'] = [
            'kind' => $exception->kind->value,
            'status' => $exception->status,
            'code' => $exception->errorCode,
            'detail' => $exception->detail,
            'request_id' => $exception->requestId,
            'tries' => $exception->tries,
            'unknown_outcome' => $exception->unknownOutcome,
        ];
        if ($exception instanceof InvalidLeadException) {
            $answer['error']['fields'] = (object) $exception->fields;
        }
        $answer['text'] = text($exception, $client);
    }
    $answer['waits_ms'] = $clock === null ? [] : $clock->waitsMs;
    $json = json_encode($answer, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
    fwrite(STDOUT, "{$json}\n");
    fflush(STDOUT);
}
