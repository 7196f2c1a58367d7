<?php

declare(strict_types=1);

/* The kit against the curl extension by itself: same body, same headers, the answer's JSON parsed. */

use Leads\Client;
use Leads\Lead;

require __DIR__ . '/autoload.php';

/** @return Closure(int): void posts the lead with this number by the kit */
function kit(string $run): Closure
{
    $client = new Client();
    return static function (int $number) use ($client, $run): void {
        $client->postLead(lead($number), "bench:{$run}-{$number}");
    };
}

/** @return Closure(int): void posts the lead with this number by curl alone, with one handle that is kept */
function bare(string $run): Closure
{
    $handle = curl_init(getenv('LEADS_BASE_URL') . '/v1/intake');
    return static function (int $number) use ($handle, $run): void {
        curl_setopt_array($handle, [
            CURLOPT_HTTPHEADER => [
                'Expect:',
                "Idempotency-Key: bench:{$run}-{$number}",
                'X-API-Key: ' . getenv('LEADS_API_KEY'),
                'Content-Type: application/json',
                'Accept: application/json',
                'User-Agent: leads-php/' . Client::VERSION,
                'X-Request-Id: leads-php-' . bin2hex(random_bytes(8)),
            ],
            CURLOPT_POSTFIELDS => json_encode(lead($number)->toArray(), JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR),
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => 20,
        ]);
        $body = (string) curl_exec($handle);
        $answer = json_decode($body, false, 512, JSON_THROW_ON_ERROR);
        $status = curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
        if (($status !== 202 && $status !== 200) || !is_string($answer->event_id)) {
            throw new RuntimeException("The answer was {$status}");
        }
    };
}

function lead(int $number): Lead
{
    return new Lead(
        firstName: 'Ada',
        lastName: 'Lovelace',
        phone: '+1 415 555 0123',
        email: 'ada@leads.example',
        city: 'San Francisco',
        state: 'CA',
        zip: '94103',
        projectArea: 'kitchen',
        projectService: 'remodel',
        projectDetails: 'New counters and a sink, before the winter',
        externalId: (string) $number,
    );
}

/** @param Closure(int): void $post */
function postsPerSecond(Closure $post, int $posts): float
{
    $start = hrtime(true);
    for ($number = 1; $number <= $posts; $number++) {
        $post($number);
    }
    return round($posts / ((hrtime(true) - $start) / 1e9), 1);
}

$posts = max(1, (int) ($argv[1] ?? 1000));
$rounds = max(1, (int) ($argv[2] ?? 5));
for ($round = 0; $round <= $rounds; $round++) {
    $run = bin2hex(random_bytes(6));
    $ways = ['kit' => kit("k{$run}"), 'bare' => bare("b{$run}")];
    $rates = [];
    foreach ($round % 2 === 0 ? ['kit', 'bare'] : ['bare', 'kit'] as $way) {
        $rates[$way] = postsPerSecond($ways[$way], $posts);
    }
    if ($round > 0) {
        echo json_encode(['kit' => $rates['kit'], 'bare' => $rates['bare']], JSON_THROW_ON_ERROR), "\n";
    }
}
