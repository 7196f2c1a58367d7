<?php

declare(strict_types=1);

// Loads the kit's classes as Composer would, so that driver and tests need nothing built first.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Leads\\')) {
        $file = __DIR__ . '/../src/' . strtr(substr($class, 6), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
