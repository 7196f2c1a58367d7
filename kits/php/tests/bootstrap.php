<?php

declare(strict_types=1);

require __DIR__ . '/../conformance/autoload.php';

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Leads\\Tests\\')) {
        require __DIR__ . '/' . strtr(substr($class, 12), '\\', '/') . '.php';
    }
});

// Where the distribution or Composer put PSR-3; the kit itself does without.
foreach (['Psr/Log/autoload.php', __DIR__ . '/../vendor/autoload.php'] as $file) {
    $found = stream_resolve_include_path($file);
    if ($found !== false) {
        require_once $found;
    }
}

// What the machine has set must not come between the tests and their servers.
$settings = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'curl_ca_bundle', 'ssl_cert_file'];
foreach ([...$settings, ...array_map('strtoupper', $settings), 'LEADS_API_KEY', 'LEADS_BASE_URL'] as $name) {
    putenv($name);
    unset($_ENV[$name], $_SERVER[$name]);
}
