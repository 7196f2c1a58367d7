<?php
// index.php: a contractor's website with a quote form, for PHP 8.1 or later with the curl extension.
ini_set('display_errors', '0'); // Errors belong in the log, not on the page.
require __DIR__ . '/submit_form.php';

const BODY_BYTES_MAX = 65_536;
const PAGES = ['/' => 'home.html', '/quote' => 'quote.html', '/thanks' => 'thanks.html', '/privacy' => 'privacy.html'];
const ASSETS = [
    '/style.css' => 'text/css',
    '/icon.svg' => 'image/svg+xml',
    '/first_touch.js' => 'text/javascript',
    '/send_once.js' => 'text/javascript',
];
const CONTENT_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

function read(string $file): string
{
    return file_get_contents(__DIR__ . "/pages/$file");
}

/** Returns the values of each name, which are several for a group of check boxes. `name[]` becomes `name`. */
function parse(string $encoded): array
{
    $values = []; // $_POST would keep only the last value of a repeated name.
    foreach (array_filter(explode('&', $encoded), 'strlen') as $pair) {
        [$name, $value] = array_map('urldecode', explode('=', $pair, 2)) + [1 => ''];
        $values[preg_replace('/\[\]\z/', '', $name)][] = $value;
    }
    return $values;
}

/** Replies with a page. `$shown` has the names of missing fields and of the notices to show. */
function reply(int $status, string $file, array $values = [], array $shown = []): never
{
    $known = $values + ['form_started_at' => [gmdate('c')]];
    $fill = fn (array $match): string => match ($match[1]) {
        'value' => htmlspecialchars(implode(', ', $known[$match[2]] ?? [])),
        'checked' => in_array($match[3], $known[$match[2]] ?? [], true) ? 'checked' : '',
        'show' => in_array($match[2], $shown, true) ? '' : 'hidden',
        'invalid' => in_array($match[2], $shown, true) ? "aria-invalid=\"true\" aria-describedby=\"$match[2]-error\"" : '',
    };
    preg_match('~^(<title>.*</title>)(.*)$~s', read($file), $parts);
    $html = strtr(read('layout.html'), ['{{ title }}' => $parts[1], '{{ content }}' => $parts[2]]);
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    header('Cache-Control: no-cache');
    header('Content-Security-Policy: ' . CONTENT_POLICY);
    exit(preg_replace_callback('/\{\{(\w+) (\w+) ?(.*?)\}\}/', $fill, $html));
}

/** Sends the form and redirects to the thanks page, so that a reload does not send it again. */
function submit(): never
{
    $length = $_SERVER['CONTENT_LENGTH'] ?? '';
    if (stripos($_SERVER['CONTENT_TYPE'] ?? '', 'application/x-www-form-urlencoded') !== 0) {
        reply(415, 'quote.html', shown: ['failed']);
    }
    if (!ctype_digit($length)) {
        reply(411, 'quote.html', shown: ['failed']);
    }
    if ((int) $length > BODY_BYTES_MAX) {
        reply(413, 'quote.html', shown: ['too_long']);
    }
    $body = file_get_contents('php://input');
    if (strlen($body) < (int) $length) {
        reply(400, 'quote.html', shown: ['failed']); // The visitor aborted the request.
    }
    $values = parse($body);
    $fields = array_map(fn (array $texts): string => implode(', ', array_filter($texts, 'strlen')), $values);
    // Without JavaScript, the page sends no page_url.
    $fields['page_url'] = ($fields['page_url'] ?? '') ?: $_SERVER['HTTP_REFERER'] ?? null;
    $sent = submit_form($fields);
    if ($sent['isSent']) {
        error_log("form sent: $sent[submissionId]");
        header('Location: /thanks?reference=' . rawurlencode($sent['submissionId'] ?? ''), true, 303);
        exit;
    }
    $missing = array_keys($sent['fields']);
    $on_page = array_filter($missing, fn ($name): bool => str_contains(read('quote.html'), "{{show $name}}"));
    $elsewhere = array_diff($missing, $on_page);
    if ($elsewhere !== []) {
        error_log('required, but not on the page: ' . implode(', ', $elsewhere));
    }
    $notices = $on_page !== [] ? ['missing'] : [];
    if ($on_page === [] || $elsewhere !== []) {
        $notices[] = 'failed';
    }
    reply($on_page !== [] ? 422 : 503, 'quote.html', $values, [...$on_page, ...$notices]);
}

header('X-Content-Type-Options: nosniff');
[$path, $query] = explode('?', $_SERVER['REQUEST_URI'], 2) + [1 => ''];
if ($_SERVER['REQUEST_METHOD'] === 'POST' && $path === '/quote') {
    submit();
}
if (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'HEAD'], true)) {
    header('Allow: GET, HEAD', true, 405);
    exit;
}
if (isset(ASSETS[$path])) {
    header('Content-Type: ' . ASSETS[$path]);
    header('Cache-Control: max-age=3600');
    exit(read(substr($path, 1)));
}
reply(isset(PAGES[$path]) ? 200 : 404, PAGES[$path] ?? '404.html', parse($query));
