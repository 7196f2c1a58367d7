<?php

declare(strict_types=1);

namespace Leads\Internal;

use Leads\MisconfiguredException;

/**
 * The address of a service.
 *
 * @internal
 */
final class BaseUrl
{
    /** Scheme, host, port, path: all that an address may have. Looser parsers let curl read it otherwise. */
    private const FORM = '~^(https?)://(\[[0-9a-f:.]+\]|[^\x00-\x20\x7f/?#@:\\\\\[\]%]+)(:[0-9]{1,5})?'
        . '(/[^\x00-\x20\x7f?#\\\\]*)?$~iD';

    /**
     * @return string the address without its trailing slash
     * @throws MisconfiguredException saying what is wrong with it, and not showing it: it may hold a password
     */
    public static function check(#[\SensitiveParameter] string $address): string
    {
        if (preg_match('~^[a-z]+://[^/?#]*@~i', $address) === 1) {
            throw new MisconfiguredException('The base address must not have a user name or password in it');
        }
        if (strpbrk($address, '?#') !== false) {
            throw new MisconfiguredException('The base address must not have a query or a fragment');
        }
        if (preg_match(self::FORM, $address, $part) !== 1 || (int) substr($part[3] ?? '', 1) > 65535) {
            throw new MisconfiguredException('The base address must be a URL such as https://leads.example');
        }
        if (strtolower($part[1]) === 'http' && !self::isLoopback($part[2])) {
            throw new MisconfiguredException('The base address must be https://; http:// is for this machine only');
        }
        return str_ends_with($address, '/') ? substr($address, 0, -1) : $address;
    }

    private static function isLoopback(string $host): bool
    {
        if ($host[0] === '[') {
            return @inet_pton(substr($host, 1, -1)) === inet_pton('::1');
        }
        return strtolower($host) === 'localhost'
            || (str_starts_with($host, '127.') && filter_var($host, FILTER_VALIDATE_IP, FILTER_FLAG_IPV4) !== false);
    }
}
