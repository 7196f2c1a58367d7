import assert from "node:assert/strict";
import { test } from "node:test";
import { isPermittedAddress } from "../../src/actions/checked_post.ts";
import { parseNetworks } from "../../src/http/addresses.ts";

const none = parseNetworks("");

const refused = `
  0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.0.1
  169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1
  198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::1 64:ff9b::808:808
  64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 4000::1 5f00::1
  fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 2606:4700::1%1 fec0::1 ff02::1 ff0e::1`;
const allowed = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
  169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
  ::ffff:8.8.8.8 2001:200::1 2003::1 2400:cb00::1 2606:4700:4700::1111 2a00:1450::1`;

test("only public addresses are allowed by default", () => {
  for (const address of refused.trim().split(/\s+/)) {
    assert.equal(isPermittedAddress(address, none), false, address);
  }
  for (const address of allowed.trim().split(/\s+/)) {
    assert.equal(isPermittedAddress(address, none), true, address);
  }
});

test("a text that is not an address is refused", () => {
  for (const text of ["", "localhost", "127.1", "0x7f000001", "1.2.3.4.5", "[::1]"]) {
    assert.equal(isPermittedAddress(text, none), false, text);
    assert.equal(isPermittedAddress(text, parseNetworks("0.0.0.0/0, ::/0")), false, text);
  }
});

test("addresses in the operator's networks are allowed in either spelling", () => {
  const allowed = parseNetworks("10.1.0.0/16, fd00:1::/32, ::1");
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5", "::1", "8.8.8.8"]) {
    assert.equal(isPermittedAddress(address, allowed), true, address);
  }
  for (const address of ["10.2.0.1", "127.0.0.1", "fd00:2::5", "fe80::1", "fd00:1::5%eth0"]) {
    assert.equal(isPermittedAddress(address, allowed), false, address);
  }
});
