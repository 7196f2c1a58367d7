<?php

declare(strict_types=1);

/*
 * The driver. PHP has no threads, so each client lives in a process of its own (worker.php), which takes one line at
 * a time. This process hands out lines and passes on answers, and ends the processes that have been idle longest.
 */

const IDLE_WORKERS_MAX = 16;
const READ_BYTES = 65536;

/**
 * @return array{process: resource, in: resource, out: resource, buffer: string, busy: bool, queue: list<string>}
 */
function startWorker(): array
{
    // Stacks are searched for secrets, so they are to hold all that PHP can put into them.
    $settings = ['-d', 'zend.exception_ignore_args=0', '-d', 'zend.exception_string_param_max_len=200'];
    $process = proc_open(
        [PHP_BINARY, ...$settings, __DIR__ . '/worker.php'],
        [['pipe', 'r'], ['pipe', 'w']],
        $pipes,
    );
    if ($process === false) {
        throw new RuntimeException('No worker could be started');
    }
    stream_set_blocking($pipes[1], false);
    return [
        'process' => $process, 'in' => $pipes[0], 'out' => $pipes[1], 'buffer' => '', 'busy' => false, 'queue' => [],
    ];
}

/** @param array<string, mixed> $worker */
function endWorker(array $worker): void
{
    fclose($worker['in']);
    fclose($worker['out']);
    proc_close($worker['process']);
}

function writeAll(mixed $stream, string $text): void
{
    while ($text !== '') {
        $written = fwrite($stream, $text);
        if ($written === false) {
            throw new RuntimeException('A pipe was closed');
        }
        $text = substr($text, $written);
    }
    fflush($stream);
}

stream_set_blocking(STDIN, false);
$workers = []; // by client, the longest idle first
$input = '';
$open = true;

while ($open || array_filter($workers, static fn (array $worker): bool => $worker['busy']) !== []) {
    $read = array_map(static fn (array $worker): mixed => $worker['out'], $workers);
    if ($open) {
        $read['stdin'] = STDIN;
    }
    $none = null;
    if (stream_select($read, $none, $none, null) === false) {
        continue;
    }

    if (isset($read['stdin'])) {
        $chunk = (string) fread(STDIN, READ_BYTES);
        if ($chunk === '' && feof(STDIN)) {
            $open = false;
            $chunk = $input === '' ? '' : "\n";
        }
        $lines = explode("\n", $input . $chunk);
        $input = array_pop($lines);
        foreach ($lines as $line) {
            if (trim($line) !== '') {
                $client = 'client ' . (json_decode($line)->client ?? '');
                $workers[$client] ??= startWorker();
                $workers[$client]['queue'][] = $line;
            }
        }
    }

    foreach (array_diff_key($read, ['stdin' => null]) as $client => $stream) {
        $chunk = (string) fread($stream, READ_BYTES);
        if ($chunk === '' && feof($stream)) {
            throw new RuntimeException('A worker ended before its answer');
        }
        $workers[$client]['buffer'] .= $chunk;
        if (str_ends_with($workers[$client]['buffer'], "\n")) {
            writeAll(STDOUT, $workers[$client]['buffer']);
            $worker = ['buffer' => '', 'busy' => false] + $workers[$client];
            unset($workers[$client]);
            $workers[$client] = $worker;
        }
    }

    foreach ($workers as $client => $worker) {
        if (!$worker['busy'] && $worker['queue'] !== []) {
            $workers[$client]['busy'] = true;
            writeAll($worker['in'], array_shift($workers[$client]['queue']) . "\n");
        }
    }

    $idle = array_filter($workers, static fn (array $worker): bool => !$worker['busy']);
    foreach (array_slice($idle, 0, max(0, count($idle) - IDLE_WORKERS_MAX), true) as $client => $worker) {
        endWorker($worker);
        unset($workers[$client]);
    }
}
array_map('endWorker', $workers);
