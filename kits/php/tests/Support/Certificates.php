<?php

declare(strict_types=1);

namespace Leads\Tests\Support;

/** An authority, and a certificate that it gave to the name localhost: made anew, and gone with the object. */
final class Certificates
{
    /** The authority's certificate, a PEM file. */
    public readonly string $authority;

    /** Certificate and key of a server, a PEM file. */
    public readonly string $server;

    private readonly string $folder;

    public function __construct()
    {
        $this->folder = sys_get_temp_dir() . '/leads-php-' . bin2hex(random_bytes(8));
        mkdir($this->folder, 0700);
        $settings = [
            'config' => "{$this->folder}/openssl.cnf",
            'private_key_type' => OPENSSL_KEYTYPE_EC,
            'curve_name' => 'prime256v1',
            'private_key_bits' => 2048, // asked for, though a curve has its own
            'digest_alg' => 'sha256',
        ];
        file_put_contents($settings['config'], implode("\n", [
            '[req]',
            'distinguished_name = name',
            '[name]',
            '[authority]',
            'basicConstraints = critical, CA:true',
            'subjectKeyIdentifier = hash',
            '[server]',
            'basicConstraints = CA:false',
            'subjectAltName = DNS:localhost',
            '',
        ]));
        $authorityKey = openssl_pkey_new($settings);
        $request = openssl_csr_new(['commonName' => 'Test authority'], $authorityKey, $settings);
        $asAuthority = $settings + ['x509_extensions' => 'authority'];
        $authority = openssl_csr_sign($request, null, $authorityKey, 2, $asAuthority, 1);
        $key = openssl_pkey_new($settings);
        $request = openssl_csr_new(['commonName' => 'localhost'], $key, $settings);
        $asServer = $settings + ['x509_extensions' => 'server'];
        $server = openssl_csr_sign($request, $authority, $authorityKey, 2, $asServer, 2);
        openssl_x509_export($authority, $authorityText);
        openssl_x509_export($server, $serverText);
        openssl_pkey_export($key, $keyText, null, $settings);
        $this->authority = "{$this->folder}/authority.pem";
        $this->server = "{$this->folder}/server.pem";
        file_put_contents($this->authority, $authorityText);
        file_put_contents($this->server, $serverText . $keyText);
    }

    public function __destruct()
    {
        array_map('unlink', (array) glob("{$this->folder}/*"));
        rmdir($this->folder);
    }
}
