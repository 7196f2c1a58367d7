<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\Cancellation;
use Leads\MisconfiguredException;

/**
 * Sends one request and reads its answer, over connections that are kept.
 *
 * @internal
 */
final class Transport
{
    /** How often a transfer looks whether it was cancelled. A signal wakes it at once. */
    private const SLICE_SECONDS = 0.05;

    /** @var list<\CurlMultiHandle> what a parent process opened: see connections() */
    private static array $inherited = [];

    /** Keeps the connections of all calls: curl_exec would keep them in a handle of one call alone. */
    private ?\CurlMultiHandle $connections = null;
    /** The one connection that they hold, when there is one. */
    private ?Socket $socket = null;
    private int $processId = 0;
    private bool $busy = false;
    private ?\CurlHandle $transfer = null;

    /** @param string|null $caFile authorities in PEM, in place of curl's own file */
    public function __construct(private readonly ?string $caFile)
    {
    }

    /** @param float $timeout seconds, from the first packet of connecting to the last byte of the answer */
    public function exchange(
        #[\SensitiveParameter] Request $request,
        float $timeout,
        Cancellation $cancellation,
    ): Exchange {
        if ($this->busy) {
            // Called from within a call: from an observer, a check, a signal handler, another fiber.
            return (new self($this->caFile))->exchange($request, $timeout, $cancellation);
        }
        $connections = $this->connections();
        $exchange = new Exchange();
        $transfer = $this->prepare($request, $timeout, $exchange);
        $this->busy = true;
        $socket = $this->socket;
        $this->socket = null;
        curl_multi_add_handle($connections, $transfer);
        try {
            $this->drive($connections, $transfer, $exchange, $timeout, $cancellation);
        } finally {
            // Closes the connection of a transfer that has not ended.
            curl_multi_remove_handle($connections, $transfer);
            $this->busy = false;
        }
        $this->keep($transfer, $exchange, $socket);
        return $exchange;
    }

    /**
     * A forked process has its parent's connections, and two that write on one would mix their requests. So it
     * opens its own, and keeps the parent's aside: to close them would end them for the parent, too.
     *
     * And bytes that came in since the last answer would be taken for the answer to the next request: a server that
     * says 408 to an idle connection, or says something twice. curl looks only whether the connection was closed (some
     * versions of it look closer), so one that is not known to be quiet is closed here.
     */
    private function connections(): \CurlMultiHandle
    {
        $processId = (int) getmypid();
        if ($this->connections !== null && $this->processId !== $processId) {
            self::$inherited[] = $this->connections;
            $this->connections = null;
            $this->socket = null;
            $this->transfer = null;
        }
        if ($this->socket?->isQuiet() !== true) {
            $this->connections = null;
        }
        $this->processId = $processId;
        return $this->connections ??= curl_multi_init();
    }

    private function prepare(
        #[\SensitiveParameter] Request $request,
        float $timeout,
        Exchange $exchange,
    ): \CurlHandle {
        $headers = ['Expect:'];
        foreach ($request->headers as $name => $value) {
            $headers[] = "{$name}: {$value}";
        }
        $milliseconds = (int) max(1, min(ceil($timeout * 1000), 2_147_483_647));
        $options = [
            CURLOPT_URL => $request->url,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_TIMEOUT_MS => $milliseconds,
            CURLOPT_CONNECTTIMEOUT_MS => $milliseconds,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_NOPROGRESS => false,
            CURLOPT_PROGRESSFUNCTION => $exchange->notice(...),
            CURLOPT_HEADERFUNCTION => $exchange->takeHeadLine(...),
            CURLOPT_WRITEFUNCTION => $exchange->takeBody(...),
        ];
        if (strncasecmp($request->url, 'http:', 5) === 0) {
            $options[CURLOPT_PROXY] = ''; // none, whatever the environment says: in clear, nothing leaves the machine
        }
        $options += $request->body === null ? [CURLOPT_HTTPGET => true] : [CURLOPT_POSTFIELDS => $request->body];
        $transfer = $this->transfer ?? $this->open();
        $this->transfer = null;
        if (!curl_setopt_array($transfer, $options)) {
            throw new MisconfiguredException('curl refuses the address or the lead');
        }
        return $transfer;
    }

    private function open(): \CurlHandle
    {
        $options = [
            CURLOPT_PATH_AS_IS => true,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_HTTP09_ALLOWED => false,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_SSL_VERIFYPEER => true,
            CURLOPT_SSL_VERIFYHOST => 2,
            CURLOPT_SSLVERSION => CURL_SSLVERSION_TLSv1_2,
            // Without it, curl's time-outs are whole seconds and come by a signal.
            CURLOPT_NOSIGNAL => true,
            // The heads of a proxy's answers are not the service's.
            CURLOPT_SUPPRESS_CONNECT_HEADERS => true,
        ];
        if ($this->caFile !== null) {
            $options[CURLOPT_CAINFO] = $this->caFile;
        }
        $transfer = curl_init();
        if (!curl_setopt_array($transfer, $options)) {
            throw new MisconfiguredException('curl refuses the file of certificate authorities');
        }
        return $transfer;
    }

    /**
     * Remembers the connection that the answer came over.
     *
     * Keeps the handle for the next request, which spares a good part of the work. A handle counts the connections that
     * died under it and, in its whole life, takes no more than five; so one that had to connect is not kept.
     */
    private function keep(\CurlHandle $transfer, Exchange $exchange, ?Socket $before): void
    {
        if ($exchange->ending !== Ending::Answered) {
            return;
        }
        if (curl_getinfo($transfer, CURLINFO_NUM_CONNECTS) === 0) {
            $this->socket = $before;
            $this->transfer = $transfer;
        } else {
            $this->socket = Socket::of($transfer);
        }
    }

    private function drive(
        \CurlMultiHandle $connections,
        \CurlHandle $transfer,
        Exchange $exchange,
        float $timeout,
        Cancellation $cancellation,
    ): void {
        $end = hrtime(true) + $timeout * 1e9;
        $idle = 0;
        do {
            curl_multi_exec($connections, $running);
            $done = curl_multi_info_read($connections);
            if ($done !== false) {
                $this->settle($transfer, $exchange, $done['result']);
                return;
            }
            if ($cancellation->isCancelled()) {
                $this->settle($transfer, $exchange, CURLE_ABORTED_BY_CALLBACK);
                $exchange->ending = Ending::Cancelled;
                return;
            }
            $left = ($end - hrtime(true)) / 1e9;
            // With nothing to wait for, as while a name is looked up, it returns at once.
            $idle = curl_multi_select($connections, max(0.0, min($left, self::SLICE_SECONDS))) > 0 ? 0 : $idle + 1;
            if ($idle > 3) {
                usleep(1000);
            }
        } while ($left > 0);
        $this->settle($transfer, $exchange, CURLE_OPERATION_TIMEDOUT);
    }

    private function settle(\CurlHandle $transfer, Exchange $exchange, int $result): void
    {
        if (!$exchange->sent) {
            $exchange->notice($transfer);
        }
        if ($exchange->ending === Ending::Unfit) {
            return;
        }
        if ($result === CURLE_OK && $exchange->status !== null) {
            $exchange->ending = Ending::Answered;
            return;
        }
        $exchange->forgetAnswer();
        // Not curl_error(): it may quote what came in.
        $exchange->reason = $exchange->sent && $result === CURLE_UNSUPPORTED_PROTOCOL
            ? 'the connection ended without an answer'
            : (string) curl_strerror($result);
    }
}
