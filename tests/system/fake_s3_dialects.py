# SPDX-License-Identifier: MIT
"""Dialects of S3 that other servers speak, for fake_s3.py.

A dialect is a function (request, status, headers, body) that returns the last three as that server would.
Server.dialects has the names of the dialects in use."""

import re
import typing

import fake_s3_rules


class Request(typing.NamedTuple):
    what: str           # "GetObject", ...
    method: str
    key: str
    headers: dict
    found: object       # the object with this key, or None
    uploads: int        # number of unfinished uploads in the bucket


DIALECTS = {}


def dialect(function):
    DIALECTS[function.__name__] = function
    return function


def speak(names, request, *answer):
    for name in sorted(names):
        answer = DIALECTS[name](request, *answer)
    return answer


def _error(code):
    return fake_s3_rules.STATUS[code], {}, ("<?xml version='1.0'?><Error><Code>%s</Code></Error>" % code).encode()


@dialect
def upload_root(request, status, headers, body):
    """rclone serve s3: the response to the beginning of an upload has another root element."""
    return status, headers, body.replace(b"InitiateMultipartUploadResult",
                                         b"InitiateMultipartUpload")


@dialect
def other_roots(request, status, headers, body):
    """Other responses may also have another root element."""
    for name in (b"InitiateMultipartUpload", b"CompleteMultipartUpload", b"ListMultipartUploads",
                 b"ListBucket"):
        body = body.replace(name + b"Result", name + b"Output")
    return status, headers, body


@dialect
def no_such_upload(request, status, headers, body):
    """gofakes3, rclone serve s3: if there is no upload, listing uploads is an error."""
    if request.what == "ListMultipartUploads" and not request.uploads:
        return _error("NoSuchUpload")
    return status, headers, body


@dialect
def no_upload_listing(request, status, headers, body):
    """Uploads cannot be listed."""
    if request.what == "ListMultipartUploads":
        return _error("NotImplemented")
    return status, headers, body


@dialect
def no_uploads_404(request, status, headers, body):
    """Uploads cannot be listed, and the response has no text."""
    return (404, {}, b"") if request.what == "ListMultipartUploads" else (status, headers, body)


@dialect
def no_uploads_400(request, status, headers, body):
    """The server does not know the subresource `uploads`."""
    return _error("InvalidRequest") if request.what == "ListMultipartUploads" else (status, headers, body)


@dialect
def no_uploads_empty(request, status, headers, body):
    """The server does not look at the subresource `uploads`, and answers with nothing."""
    return (200, {}, b"") if request.what == "ListMultipartUploads" else (status, headers, body)


@dialect
def no_uploads_204(request, status, headers, body):
    return (204, {}, b"") if request.what == "ListMultipartUploads" else (status, headers, body)


@dialect
def unknown_total(request, status, headers, body):
    """The server sends a range before it knows the size of the object."""
    return status, {name: re.sub("(?<=[0-9])/.*", "/*", value) if name == "content-range" else value
                    for name, value in headers.items()}, body


@dialect
def empty_206(request, status, headers, body):
    """Adobe S3Mock: the response to a range of an empty object has status 206."""
    if status == 416 and request.found is not None:
        return 206, {"content-range": "bytes 0--1/0", "etag": request.found.etag}, b""
    return status, headers, body


@dialect
def first_byte_is_whole(request, status, headers, body):
    """s3rver: a request for the range of the first byte returns the whole object."""
    if status == 206 and request.headers.get("range") == "bytes=0-0":
        data = request.found.data
        headers = dict(headers, **{"content-range": "bytes 0-%d/%d" % (len(data) - 1, len(data))})
        return 206, headers, data
    return status, headers, body


@dialect
def ranges_of_one_ignored(request, status, headers, body):
    """Like first_byte_is_whole, but with the status and the headers of a whole object."""
    if status == 206 and request.headers.get("range") == "bytes=0-0":
        return 200, {name: value for name, value in headers.items()
                     if name != "content-range"}, request.found.data
    return status, headers, body


@dialect
def whole_objects(request, status, headers, body):
    """Ranges are not supported: the response is the whole object."""
    if status == 206:
        return 200, {name: value for name, value in headers.items()
                     if name != "content-range"}, request.found.data
    return status, headers, body


@dialect
def range_unit_in_capitals(request, status, headers, body):
    """The name of a range unit does not depend on case."""
    return status, {name: value.replace("bytes ", "Bytes ") if name == "content-range" else value
                    for name, value in headers.items()}, body


@dialect
def no_head(request, status, headers, body):
    """HEAD is not supported."""
    return (405, {}, b"") if request.method == "HEAD" else (status, headers, body)


@dialect
def head_not_implemented(request, status, headers, body):
    return (501, {}, b"") if request.method == "HEAD" else (status, headers, body)


@dialect
def head_without_length(request, status, headers, body):
    """The response to HEAD has no Content-Length, as from a proxy that compresses."""
    return status, (dict(headers, **{"transfer-encoding": "chunked"}) if request.method == "HEAD" else headers), body


@dialect
def removals_404(request, status, headers, body):
    """The server looks for the object after it has removed it."""
    return (404, {}, b"") if request.what == "DeleteObject" and status == 204 else (status, headers, body)


@dialect
def no_conditions(request, status, headers, body):
    """Garage: conditions on writes are ignored (fake_s3.py checks for this dialect)."""
    return status, headers, body


@dialect
def no_if_match(request, status, headers, body):
    """Only If-Match is ignored."""
    return status, headers, body


@dialect
def bare_etags(request, status, headers, body):
    """radosgw: the ETag of If-Match is compared without its quotes (fake_s3.py checks for this dialect)."""
    return status, headers, body


@dialect
def no_etag(request, status, headers, body):
    """A proxy removes the ETag from responses that it may change, to GET and HEAD."""
    if request.method in ("GET", "HEAD"):
        headers = {name: value for name, value in headers.items() if name != "etag"}
    return status, headers, body


@dialect
def no_etag_at_all(request, status, headers, body):
    """No response tells an ETag, not even that to a write."""
    body = re.sub(rb"<ETag>.*?</ETag>", b"", body) if request.key == "" else body
    return status, {name: value for name, value in headers.items() if name != "etag"}, body


@dialect
def weak_etags(request, status, headers, body):
    """A proxy makes all ETags weak, because it may change bodies."""
    return status, {name: "W/" + value if name == "etag" else value
                    for name, value in headers.items()}, body


@dialect
def weak_etags_of_reads(request, status, headers, body):
    """A proxy that compresses makes the ETags in responses with a body weak."""
    return weak_etags(request, status, headers, body) if request.method == "GET" else (
        status, headers, body)
