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
