# SPDX-License-Identifier: MIT
"""first.py URL BYTES: makes three requests for one byte, one after another, and then one request for BYTES, on one
connection. A reader needs at least these requests before its first sample. Prints a line in the form of meter.h."""

import http.client
import json
import sys
import time
import urllib.parse

address = urllib.parse.urlsplit(sys.argv[1])
begin, begin_cpu = time.perf_counter(), time.process_time()
connection = http.client.HTTPConnection(address.netloc)
got = 0
for last in (0, 0, 0, int(sys.argv[2]) - 1):
    connection.request("GET", "%s?%s" % (address.path, address.query),
                       headers={"Range": "bytes=0-%d" % last})
    answer = connection.getresponse()
    got += len(answer.read())
    if answer.status != 206:
        sys.exit("status %d" % answer.status)
seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "cpu_seconds": time.process_time() - begin_cpu,
                  "first_seconds": seconds, "bytes": got, "items": 4, "peak_bytes": 0}))
