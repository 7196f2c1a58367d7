<?php

declare(strict_types=1);

namespace Leads;

use Leads\Internal\Again;
use Leads\Internal\ApiKey;
use Leads\Internal\BaseUrl;
use Leads\Internal\Call;
use Leads\Internal\Exchange;
use Leads\Internal\Json;
use Leads\Internal\Kept;
use Leads\Internal\Policy;
use Leads\Internal\Request;
use Leads\Internal\Secret;
use Leads\Internal\Transport;
use Leads\Internal\Watch;
use Psr\Log\LoggerInterface;

/**
 * Posts leads to a Lead Intake Service.
 *
 * One client serves a whole process: it keeps its connection from call to call (on the command line of Linux), and
 * opens none before the first.
 * After a fork, parent and child may both go on using it. Every call throws a LeadsException when it fails; `$kind`
 * or the class of the exception says what to do.
 */
final class Client
{
    /** The version of the kit, as its User-Agent tells it. */
    public const VERSION = '0.1.0';

    private const NAME = 'leads-php';
    private const IDEMPOTENCY_KEY_CHARACTERS_MAX = 200;
    private const REQUEST_ID_CHARACTERS_MAX = 64;
    private const REQUEST_ID_RANDOM_BYTES = 8;

    private readonly Secret $key;
    private readonly string $baseUrl;
    private readonly Policy $policy;
    private readonly Transport $transport;
    private readonly Watch $watch;
    private ?Kept $kept = null;

    /**
     * @param string|null $key starts with `lead_live_` or `lead_test_`; null for `LEADS_API_KEY` of the environment
     * @param string|null $baseUrl `https://…`, or `http://` to this machine; null for `LEADS_BASE_URL` of the
     *     environment
     * @param float $deadline seconds that a call may take, its waits included
     * @param float $tryTimeout seconds that a try may take, from the first packet of connecting to the last byte of
     *     the answer
     * @param int $tries the tries of a call; 1 means that nothing is ever repeated, except after a 429, which is
     *     no try
     * @param string|null $caFile certificate authorities in PEM, used in place of curl's file of them; null for the
     *     file that `CURL_CA_BUNDLE` or `SSL_CERT_FILE` of the environment names, and then for curl's
     * @param (callable(Tried|Waiting): void)|null $observer hears of every try and wait, never of content. What it
     *     throws is dropped.
     * @param LoggerInterface|null $logger a PSR-3 log for the same: tries as debug, waits as notice
     * @param Clock|null $clock time, to be replaced in tests
     * @param (callable(): float)|null $random draws jitter, 0 to 1, to be replaced in tests
     * @throws MisconfiguredException when key, address or an option cannot be right
     */
    public function __construct(
        #[\SensitiveParameter] ?string $key = null,
        #[\SensitiveParameter] ?string $baseUrl = null,
        float $deadline = 120.0,
        float $tryTimeout = 20.0,
        int $tries = 5,
        ?string $caFile = null,
        ?callable $observer = null,
        ?LoggerInterface $logger = null,
        ?Clock $clock = null,
        ?callable $random = null,
    ) {
        $this->key = ApiKey::check($key ?? self::fromEnvironment('LEADS_API_KEY', 'key'));
        $this->baseUrl = BaseUrl::check($baseUrl ?? self::fromEnvironment('LEADS_BASE_URL', 'base address'));
        if ($tries < 1) {
            throw new MisconfiguredException('A call needs at least one try');
        }
        $this->policy = new Policy(
            $tries,
            self::seconds($tryTimeout, 'time-out of a try'),
            self::seconds($deadline, 'deadline'),
            $clock ?? new SystemClock(),
            \Closure::fromCallable($random ?? static fn (): float => random_int(0, PHP_INT_MAX) / PHP_INT_MAX),
        );
        $this->transport = new Transport(self::authorities($caFile));
        $this->watch = new Watch($observer === null ? null : \Closure::fromCallable($observer), $logger);
    }

    /**
     * Posts a lead. It is stored once, however often it is posted with this idempotency key.
     *
     * @param Lead|array<string, mixed>|string $lead a Lead; or its fields by their names on the wire, written as
     *     `json_encode` would (use Decimal for numbers that a float would round); or JSON text, sent byte for byte
     * @param string $idempotencyKey your own stable id of the lead, with your namespace before it: see
     *     idempotencyKey(). Printable ASCII, at most 200 characters.
     * @param string|null $requestId for the logs of both sides, printable ASCII, at most 64 characters; null for one
     *     that is made
     * @param float|null $deadline seconds that this call may take, its waits included; null for the client's
     * @throws InvalidLeadException when fields are missing or out of bounds (422)
     * @throws UnauthorizedException when the key was not accepted (401)
     * @throws RefusedException when the answer must not be repeated
     * @throws UnavailableException when tries or deadline are spent
     * @throws CancelledException when the cancellation said so
     * @throws MisconfiguredException when an argument cannot be right; nothing was sent
     */
    public function postLead(
        #[\SensitiveParameter] Lead|array|string $lead,
        string $idempotencyKey,
        ?string $requestId = null,
        ?float $deadline = null,
        ?Cancellation $cancellation = null,
    ): Acknowledgement {
        self::checkText($idempotencyKey, self::IDEMPOTENCY_KEY_CHARACTERS_MAX, 'An idempotency key');
        $body = match (true) {
            is_string($lead) => $lead,
            $lead === [] => '{}', // PHP has one empty array for both, and a lead is an object
            default => Json::encode($lead),
        };
        $call = $this->post($body, ['Idempotency-Key' => $idempotencyKey], $requestId, $deadline, $cancellation);
        return $call->run(static function (Exchange $answer) use ($call): Acknowledgement|Again {
            $object = $answer->object();
            return match (true) {
                $answer->status === 200, $answer->status === 202 =>
                    self::acknowledgement($object, $call) ?? Again::Spent,
                $answer->status === 422 && self::isFields($object->fields ?? null) =>
                    throw $call->invalidLead((array) $object->fields),
                default => self::judgeOther($answer, $call),
            };
        }, $deadline);
    }

    /**
     * Asks whether the key is known and active. Nothing is stored.
     *
     * @param string|null $requestId as for postLead()
     * @param float|null $deadline as for postLead()
     * @throws LeadsException what kept it from finding out
     */
    public function checkKey(
        ?string $requestId = null,
        ?float $deadline = null,
        ?Cancellation $cancellation = null,
    ): KeyCheck {
        // Keys are looked at before leads: an empty lead is refused only when the key is good.
        $call = $this->post('{}', [], $requestId, $deadline, $cancellation);
        return $call->run(static function (Exchange $answer) use ($call): KeyCheck|Again {
            $verdict = match (true) {
                $answer->status === 401 => Verdict::Invalid,
                $answer->status === 422 && ($answer->object()->error ?? null) === 'validation_failed' => Verdict::Valid,
                default => null,
            };
            return $verdict === null
                ? self::judgeOther($answer, $call)
                : new KeyCheck($verdict, $call->request->requestId, $call->tries);
        }, $deadline);
    }

    /**
     * Reads the vocabulary. The client keeps it for as long as the service says, and answers from it meanwhile.
     *
     * @param string|null $requestId as for postLead()
     * @param float|null $deadline as for postLead()
     * @throws LeadsException as postLead(), except that it sends no key and no lead
     */
    public function vocabulary(
        ?string $requestId = null,
        ?float $deadline = null,
        ?Cancellation $cancellation = null,
    ): Vocabulary {
        self::checkCall($requestId, $deadline);
        $kept = $this->kept;
        if ($kept !== null && $kept->isFresh($this->policy->clock->monotonic())) {
            return $kept->vocabulary;
        }
        $etag = $kept?->etag;
        $call = $this->call(
            '/v1/vocabulary',
            $etag === null ? [] : ['If-None-Match' => $etag],
            null,
            $requestId,
            $cancellation,
        );
        $now = fn (): float => $this->policy->clock->monotonic();
        $this->kept = $call->run(static fn (Exchange $answer): Kept|Again => match (true) {
            $answer->status === 304 && $etag !== null => $kept->renewed($answer, $now()),
            $answer->status === 200 => Kept::read($answer, $now()) ?? Again::Spent,
            default => self::judgeOther($answer, $call),
        }, $deadline);
        return $this->kept->vocabulary;
    }

    /**
     * Makes an idempotency key. All keys of one customer share one space of them, so put a namespace of your own
     * before your id: `Client::idempotencyKey('acme', '1042')` is `acme:1042`.
     *
     * @param string $id stable: the same for every post of the same lead
     * @throws MisconfiguredException when a part is blank, or both together are over 200 characters or not printable
     *     ASCII
     */
    public static function idempotencyKey(string $namespace, string|int $id): string
    {
        if (trim($namespace) === '' || trim((string) $id) === '') {
            throw new MisconfiguredException('Both parts of an idempotency key must have characters other than space');
        }
        $key = "{$namespace}:{$id}";
        self::checkText($key, self::IDEMPOTENCY_KEY_CHARACTERS_MAX, 'An idempotency key');
        return $key;
    }

    /** @param array<string, string> $headers */
    private function post(
        #[\SensitiveParameter] string $body,
        array $headers,
        ?string $requestId,
        ?float $deadline,
        ?Cancellation $cancellation,
    ): Call {
        self::checkCall($requestId, $deadline);
        $headers += ['X-API-Key' => $this->key->reveal(), 'Content-Type' => 'application/json'];
        return $this->call('/v1/intake', $headers, $body, $requestId, $cancellation);
    }

    /** @param array<string, string> $headers */
    private function call(
        string $path,
        #[\SensitiveParameter] array $headers,
        #[\SensitiveParameter] ?string $body,
        ?string $requestId,
        ?Cancellation $cancellation,
    ): Call {
        $requestId ??= self::NAME . '-' . bin2hex(random_bytes(self::REQUEST_ID_RANDOM_BYTES));
        $headers += [
            'Accept' => 'application/json',
            'User-Agent' => self::NAME . '/' . self::VERSION,
            'X-Request-Id' => $requestId,
        ];
        return new Call(
            new Request($this->baseUrl . $path, $requestId, $headers, $body),
            $this->policy,
            $this->transport,
            $this->watch,
            $cancellation ?? new Cancellation(),
        );
    }

    private static function acknowledgement(?\stdClass $object, Call $call): ?Acknowledgement
    {
        $eventId = $object->event_id ?? null;
        $status = $object->status ?? null;
        $receivedAt = $object->received_at ?? null;
        $source = $object->source ?? null;
        $flags = $object->flags ?? null;
        $status = is_string($status) ? Status::tryFrom($status) : null;
        if (
            !is_string($eventId) || $eventId === '' || $status === null || !is_string($receivedAt)
            || !is_string($source) || !Json::isListOfStrings($flags)
        ) {
            return null;
        }
        return new Acknowledgement(
            $eventId,
            $status,
            $receivedAt,
            $source,
            $flags,
            $call->request->requestId,
            $call->tries,
        );
    }

    private static function isFields(mixed $fields): bool
    {
        return $fields instanceof \stdClass && Json::areStrings((array) $fields);
    }

    /** What an answer means that no call asks for. */
    private static function judgeOther(Exchange $answer, Call $call): Again
    {
        return match (true) {
            $answer->status < 300, $answer->status >= 500 && $answer->status < 600 => Again::Spent,
            $answer->status === 401 => throw $call->unauthorized(),
            default => throw $call->refused(),
        };
    }

    private static function checkCall(?string $requestId, ?float $deadline): void
    {
        if ($requestId !== null) {
            self::checkText($requestId, self::REQUEST_ID_CHARACTERS_MAX, 'A request id');
        }
        if ($deadline !== null) {
            self::seconds($deadline, 'deadline');
        }
    }

    private static function checkText(string $text, int $charactersMax, string $what): void
    {
        // HTTP cuts blanks off at both ends: "a:1 " would be the lead "a:1".
        if (strlen($text) > $charactersMax || preg_match('/^[!-~](?:[ -~]*[!-~])?$/D', $text) !== 1) {
            $rule = "1 to {$charactersMax} printable ASCII characters, without a blank at its ends";
            throw new MisconfiguredException("{$what} is {$rule}");
        }
    }

    private static function seconds(float $seconds, string $what): float
    {
        if (!is_finite($seconds) || $seconds <= 0) {
            throw new MisconfiguredException("The {$what} must be seconds, more than 0");
        }
        return $seconds;
    }

    private static function fromEnvironment(string $name, string $what): string
    {
        // Programs that read a .env file often put it in these arrays only.
        foreach ([getenv($name), $_ENV[$name] ?? null, $_SERVER[$name] ?? null] as $value) {
            if (is_string($value) && $value !== '') {
                return $value;
            }
        }
        throw new MisconfiguredException("There is no {$what}: give one, or set {$name}");
    }

    private static function authorities(?string $caFile): ?string
    {
        // The curl program heeds these two; the library leaves it to its callers.
        foreach ([$caFile, getenv('CURL_CA_BUNDLE'), getenv('SSL_CERT_FILE')] as $file) {
            if (is_string($file) && $file !== '') {
                if (!is_file($file) || !is_readable($file)) {
                    throw new MisconfiguredException('The file of certificate authorities cannot be read');
                }
                return $file;
            }
        }
        return null;
    }

    /** @return array<string, mixed> what `var_dump` and `print_r` show */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl, 'key' => '(hidden)'];
    }

    /** @return never */
    public function __serialize(): array
    {
        throw new \LogicException('A client cannot be serialized: make one where it is needed');
    }
}
