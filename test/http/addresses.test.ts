import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { forwardedClient, isPrivateOrLoopback, limiterKey, parseNetworks } from "#src/http/addresses.ts";
import { ask, get, parse, places, startApp } from "../support/http/echo.ts";

test("a list of networks contains the addresses of its prefixes, by family", () => {
  const networks = parseNetworks(
    "10.0.0.0/8, 192.0.2.7 2001:db8::/33\n172.16.5.4/12,::ffff:198.51.100.0/120",
  );
  const inside = "10.0.0.0 10.255.255.255 ::ffff:10.1.1.1 192.0.2.7 2001:db8:7fff::1 172.31.0.1 198.51.100.9";
  for (const address of inside.split(" ")) assert.ok(networks.contains(address), address);
  const outside = ["11.0.0.0", "192.0.2.8", "2001:db8:8000::", "172.32.0.0", "198.51.101.0", "::1", "x", ""];
  for (const address of outside) assert.ok(!networks.contains(address), address);
  assert.ok(parseNetworks("0.0.0.0/0").contains("203.0.113.1"));
  assert.ok(!parseNetworks("0.0.0.0/0").contains("2001:db8::1"));
  assert.ok(parseNetworks("::/0").contains("2001:db8::1"));
  assert.ok(!parseNetworks("::/0").contains("203.0.113.1"));
  assert.ok(!parseNetworks("").contains("203.0.113.1"));
});

test("an invalid entry in a list of networks is named in the error", () => {
  for (const entry of "10.0.0.0/33 ::1/129 x 10.0.0.0/ 10.0.0.0/8/8 10.0.0.0/-1 fe80::%eth0/10".split(" ")) {
    assert.throws(
      () => parseNetworks(`127.0.0.1, ${entry}`),
      (error: Error) => error.message.includes(entry),
    );
  }
});

test("0.0.0.0 and :: are public, and loopback, link-local and private addresses are not", () => {
  const local =
    "127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.0.1 169.254.1.1 ::1 fd00::1 fe80::1 ::ffff:127.0.0.1";
  for (const address of [...local.split(" "), "localhost"]) assert.ok(isPrivateOrLoopback(address), address);
  const others = "0.0.0.0 :: 203.0.113.1 172.32.0.1 100.64.0.1 2001:db8::1 example.com";
  for (const address of [...others.split(" "), ""]) {
    assert.ok(!isPrivateOrLoopback(address), address);
  }
});

test("a limit counts IPv6 by /64 and IPv4 by address", () => {
  assert.equal(limiterKey("192.0.2.1"), "192.0.2.1");
  assert.equal(limiterKey("2001:db8:1:2:3:4:5:6"), limiterKey("2001:db8:1:2::"));
  assert.notEqual(limiterKey("2001:db8:1:2::1"), limiterKey("2001:db8:1:3::1"));
  assert.equal(limiterKey("2001:db8:1:2::1"), "2001:db8:1:2::/64");
  assert.equal(limiterKey("-"), "-");
});

test("the client is the right-most address that is not a trusted proxy's", () => {
  const trusted = parseNetworks("10.0.0.0/8 ::1");
  const client = (header: string) => forwardedClient(header, { peer: "10.0.0.1", trusted });
  assert.equal(client("203.0.113.9"), "203.0.113.9");
  assert.equal(client("1.1.1.1, 203.0.113.9, 10.0.0.2"), "203.0.113.9");
  assert.equal(client("10.0.0.3, 10.0.0.2"), "10.0.0.3");
  assert.equal(client("203.0.113.9:4711"), "203.0.113.9");
  assert.equal(client("[2001:db8::1]:4711, [::1]"), "2001:db8::1");
  assert.equal(client("::ffff:203.0.113.9,10.0.0.2"), "203.0.113.9");
});

test("a malformed entry in X-Forwarded-For and everything left of it are ignored", () => {
  const trusted = parseNetworks("10.0.0.0/8");
  const client = (header: string) => forwardedClient(header, { peer: "10.0.0.1", trusted });
  for (const garbage of ["", "unknown", "_hidden", ", ,", "203.0.113.9;", "1.2.3", "\xff", "[10.0.0.9]"]) {
    assert.equal(client(garbage), "10.0.0.1", garbage);
    assert.equal(client(`203.0.113.9, ${garbage}, 10.0.0.7`), "10.0.0.7", garbage);
  }
});

for (const place of places) {
  describe(`on ${place}`, async () => {
    const app = await startApp(place, { trustedProxies: "127.0.0.0/8" });
    const strict = await startApp("node", { trustedProxies: "10.0.0.0/8" });
    after(() => Promise.all([app.close(), strict.close()]));

    test("X-Forwarded-For is used only from a trusted proxy", async () => {
      const request = get("/seen", "X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 203.0.113.9");
      assert.equal(parse(await ask(app.port, request))["clientAddress"], "203.0.113.9");
      assert.equal((await app.access()).clientAddress, "203.0.113.9");
      assert.equal(parse(await ask(strict.port, request))["clientAddress"], "127.0.0.1");
    });
  });
}
