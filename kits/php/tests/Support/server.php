<?php

declare(strict_types=1);

/*
 * A server in a process of its own: reads a line of JSON that says what to answer, then tells on standard output, a
 * line of JSON each: its port, every request that has come in whole, and every connection that it has closed.
 *
 * Answers are given in order, whichever connection asks; the last one is given again and again. Each is an object:
 * `raw` bytes to send, `close` the connection then, `signal` to send to the parent first. Each further line of standard
 * input is such an object, too: it is done at once, on every connection.
 */

$plan = json_decode((string) fgets(STDIN), true, 16, JSON_THROW_ON_ERROR);
$context = stream_context_create(['ssl' => ['local_cert' => $plan['certificate'] ?? '']]);
$listener = stream_socket_server('tcp://127.0.0.1:0', context: $context);
$connections = [];
$buffers = [];
$numbers = [];
$count = 0;
$answers = $plan['answers'];

$tell = static function (array $event): void {
    fwrite(STDOUT, json_encode($event, JSON_THROW_ON_ERROR) . "\n");
    fflush(STDOUT);
};
$close = static function (int $id) use (&$connections, &$buffers, $tell, &$numbers): void {
    fclose($connections[$id]);
    unset($connections[$id], $buffers[$id]);
    $tell(['closed' => $numbers[$id]]);
};

$tell(['port' => (int) substr((string) strrchr((string) stream_socket_get_name($listener, false), ':'), 1)]);
while (true) {
    $read = [STDIN, $listener, ...$connections];
    $none = null;
    if (!@stream_select($read, $none, $none, null)) {
        continue;
    }
    foreach ($read as $stream) {
        if ($stream === STDIN) {
            $line = fgets(STDIN);
            if ($line === false) {
                exit(0); // the parent has closed it
            }
            $unasked = json_decode($line, true, 16, JSON_THROW_ON_ERROR);
            foreach ($connections as $id => $connection) {
                fwrite($connection, $unasked['raw']);
                if ($unasked['close']) {
                    $close($id);
                }
            }
            $tell(['said' => true]);
            continue 2; // what was ready to read may be closed now
        }
        if ($stream === $listener) {
            $connection = stream_socket_accept($listener, 10);
            if ($connection === false) {
                continue;
            }
            if (
                isset($plan['certificate'])
                && !@stream_socket_enable_crypto($connection, true, STREAM_CRYPTO_METHOD_TLS_SERVER)
            ) {
                fclose($connection);
                continue;
            }
            $connections[(int) $connection] = $connection;
            $buffers[(int) $connection] = '';
            $numbers[(int) $connection] = ++$count;
            continue;
        }
        $id = (int) $stream;
        $bytes = (string) fread($stream, 65536);
        if ($bytes === '') {
            if (feof($stream)) {
                $close($id);
            }
            continue;
        }
        $buffers[$id] .= $bytes;
        $end = strpos($buffers[$id], "\r\n\r\n");
        if ($end === false) {
            continue;
        }
        $head = substr($buffers[$id], 0, $end);
        $length = preg_match('/^content-length: *(\d+)/im', $head, $part) === 1 ? (int) $part[1] : 0;
        if (strlen($buffers[$id]) < $end + 4 + $length) {
            continue;
        }
        $tell(['connection' => $numbers[$id], 'head' => $head, 'body' => substr($buffers[$id], $end + 4, $length)]);
        $buffers[$id] = substr($buffers[$id], $end + 4 + $length);
        $answer = count($answers) > 1 ? array_shift($answers) : $answers[0];
        if (isset($answer['signal'])) {
            posix_kill(posix_getppid(), $answer['signal']);
        }
        fwrite($stream, $answer['raw'] ?? '');
        if ($answer['close'] ?? false) {
            $close($id);
        }
    }
}
