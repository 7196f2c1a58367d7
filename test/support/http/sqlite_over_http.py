"""Queries a SQLite database that lies behind HTTP, with range requests, as any reader of site.data can.

Arguments: the address of the file, then SQL texts. Prints one JSON document: the rows of each text, and what it
took. Waits for a line on standard input before each text but the first, when the first argument is --stepwise.
"""

import http.client
import json
import sys
import urllib.parse

import apsw


class RemoteFile:
    """A file of which only what is asked for is fetched, and always the same state of it."""

    def __init__(self, url):
        self.path = url.path
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        self.requests = 0
        self.bytes = 0
        self.refused = None
        head = self.request("HEAD", {})
        self.size = int(head.headers["Content-Length"])
        self.tag = head.headers["ETag"]
        self.media_type = head.headers["Content-Type"]
        assert head.headers["Accept-Ranges"] == "bytes"

    def request(self, method, headers):
        self.requests += 1
        self.connection.request(method, self.path, headers={"Accept-Encoding": "identity", **headers})
        response = self.connection.getresponse()
        response.content = response.read()
        self.bytes += len(response.content)
        return response

    def read(self, amount, offset):
        last = offset + amount - 1
        response = self.request("GET", {"Range": f"bytes={offset}-{last}", "If-Match": self.tag})
        if response.status != 206:
            self.refused = response.status
            raise apsw.IOError()
        return response.content


class HttpVfs(apsw.VFS):
    def __init__(self, remote):
        self.remote = remote
        super().__init__("http", base="")

    def xOpen(self, name, flags):
        return HttpFile(self.remote, flags)

    def xAccess(self, path, flags):
        return False

    def xFullPathname(self, name):
        return name


class HttpFile:
    def __init__(self, remote, flags):
        self.remote = remote
        flags[1] = apsw.SQLITE_OPEN_READONLY

    def xRead(self, amount, offset):
        return self.remote.read(amount, offset)

    def xFileSize(self):
        return self.remote.size

    def xLock(self, level):
        pass

    def xUnlock(self, level):
        pass

    def xCheckReservedLock(self):
        return False

    def xFileControl(self, operation, pointer):
        return False

    def xSectorSize(self):
        return 4096

    def xDeviceCharacteristics(self):
        return apsw.SQLITE_IOCAP_IMMUTABLE

    def xClose(self):
        pass


def main():
    arguments = sys.argv[1:]
    stepwise = arguments[0] == "--stepwise"
    address, *queries = arguments[1:] if stepwise else arguments
    remote = RemoteFile(urllib.parse.urlsplit(address))
    vfs = HttpVfs(remote)
    # apsw prints what a callback raises before it passes it on.
    sys.excepthook = lambda *_: None
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    database = apsw.Connection("file:site.data?immutable=1", flags=flags, vfs="http")
    for number, query in enumerate(queries):
        if stepwise and number > 0:
            sys.stdin.readline()
        try:
            outcome = {"rows": list(database.cursor().execute(query))}
        except (apsw.Error, OSError) as error:
            outcome = {"error": f"{error}, status {remote.refused}"}
        told = {"size": remote.size, "requests": remote.requests, "bytes": remote.bytes, "type": remote.media_type}
        print(json.dumps({**outcome, **told}), flush=True)


main()
