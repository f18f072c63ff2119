# SPDX-License-Identifier: MIT
"""Configuration beside botocore: for each environment and pair of files, the same place of a bucket,
the same region and service to sign for, the same credentials, attempts and proxy; or a refusal that
says what to set instead.  First cases by name, then random ones (random_settings.py).

Ours is what tests/resolve_s3.c prints; botocore's is the request that it would send. A service in
a thread stands for all that gives credentials, whose access keys say how they were asked for."""

import getpass
import hashlib
import http.server
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import random_settings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import seed           # pylint: disable=wrong-import-position

HOME = tempfile.mkdtemp(prefix="sheaf-home-")
os.environ["HOME"] = HOME
getpass.getpass = lambda *_: "123456"       # who types the code of a mfa_serial

try:
    import botocore.loaders
    import botocore.session
    from botocore.awsrequest import AWSResponse
    from botocore.utils import get_environ_proxies
except ImportError as error:
    raise unittest.SkipTest("no botocore: %s" % error)

RESOLVE = os.path.join(os.environ["BUILD"], "tests", "resolve_s3")
LOADER = botocore.loaders.create_loader()       # its tables are read once
RANDOM_CASES = 300          # of each kind
SESSION = (b"<CreateSessionResult><Credentials><AccessKeyId>E</AccessKeyId><SecretAccessKey>s"
           b"</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2096-01-01T00:00:00Z"
           b"</Expiration></Credentials></CreateSessionResult>")
FOREVER = "2096-01-01T00:00:00Z"


# ---- What gives credentials ----------------------------------------------------------------------

class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, body, status=200):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer("instance-token")

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        form = dict(urllib.parse.parse_qsl(self.rfile.read(size).decode()))
        by = self.headers.get("Authorization", "").split("Credential=")[-1].split("/")[0]
        key = "-".join([form["Action"], form["RoleArn"].split("/")[-1], form.get("ExternalId", ""),
                        form.get("DurationSeconds", ""), form.get("WebIdentityToken", by)])
        self.answer("<%sResponse><%sResult><Credentials><AccessKeyId>%s</AccessKeyId>"
                    "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>"
                    "%s</Expiration></Credentials></%sResult></%sResponse>" %
                    (form["Action"], form["Action"], key, FOREVER, form["Action"], form["Action"]))

    def do_GET(self):
        path, _, query = self.path.partition("?")
        keys = {"SecretAccessKey": "s", "Token": "t", "Expiration": FOREVER, "Code": "Success"}
        if path == "/container":
            self.answer(json.dumps(dict(keys, AccessKeyId="container-%s" %
                                        self.headers.get("Authorization"))))
        elif path.endswith("/security-credentials/"):
            self.answer("the-role")
        elif path.endswith("/the-role"):
            self.answer(json.dumps(dict(keys, AccessKeyId="instance")))
        elif path == "/federation/credentials":
            form = dict(urllib.parse.parse_qsl(query))
            token = self.headers.get("x-amz-sso_bearer_token")
            if token != "good":
                return self.answer('{"message": "no"}', 401)
            self.answer(json.dumps({"roleCredentials": {
                "accessKeyId": "sso-%s-%s" % (form["account_id"], form["role_name"]),
                "secretAccessKey": "s", "sessionToken": "t", "expiration": 3976214400000}}))
        else:
            self.answer("", 404)


# ---- Both sides ----------------------------------------------------------------------------------

class Raw(io.BytesIO):
    def stream(self, *_, **__):
        yield self.read()


def ours(environment, bucket):
    done = subprocess.run([RESOLVE, "s3://%s/k" % bucket], env=environment, timeout=60,
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def theirs(environment, bucket):
    """What ours() gives, from a request that is caught before it is sent."""
    kept, sent = dict(os.environ), []

    def send(request, **_):
        sent.append(request)
        return AWSResponse(request.url, 200, {}, Raw(SESSION if "?session" in request.url else b""))

    os.environ.clear()
    os.environ.update(environment)
    try:
        session = botocore.session.Session()
        session.register_component("data_loader", LOADER)
        keys = session.get_credentials()
        client = session.create_client("s3")
        client.meta.events.register("before-send.s3", send)
        client.get_object(Bucket=bucket, Key="k")
        request = sent[-1]
        signed = request.headers["Authorization"]
        signed = signed.decode() if isinstance(signed, bytes) else signed
        _, _, region, service, _ = signed.split("Credential=")[1].split(",")[0].split("/")
        scheme = request.url.split(":")[0]
        out = {"url": request.url.split("?")[0], "region": region, "service": service,
               "proxy": get_environ_proxies(request.url).get(scheme, ""), "session": len(sent) > 1}
        if "total_max_attempts" in client.meta.config.retries:      # the defaults are different
            out["attempts"] = client.meta.config.retries["total_max_attempts"]
        if not out["session"]:
            frozen = keys.get_frozen_credentials()
            out.update(access=frozen.access_key, token=frozen.token or "")
        return out
    except Exception as error:      # whatever botocore has against it
        return {"error": "%s: %s" % (type(error).__name__, error)}
    finally:
        os.environ.clear()
        os.environ.update(kept)


# ---- Cases ---------------------------------------------------------------------------------------

ZONAL = "data--usw2-az1--x-s3"
ARN = "arn:aws:s3:eu-west-1:123456789012:accesspoint/point"
FIPS = {"AWS_USE_FIPS_ENDPOINT": "true"}
DUAL = {"AWS_USE_DUALSTACK_ENDPOINT": "true"}
KEYS = "aws_access_key_id = %s\naws_secret_access_key = s\n"
REGIONS = ["", "us-east-1", "us-west-2", "eu-west-1", "cn-north-1", "us-gov-west-1",
           "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1",
           "eusc-de-east-1", "xx-new-9", "aws-global", "us-west-2-fips", "fips-us-east-1",
           "us_west_2", "-west"]


def config(text):
    return {"config": "[default]\n" + text}


def s3(text):
    return config("s3 =\n  " + text + "\n")


def places():
    """(what, environment, bucket, files)"""
    for region in REGIONS:
        for flags in ({}, FIPS, DUAL, dict(FIPS, **DUAL)):
            if region and region not in ("eu-west-1", "xx-new-9") or not flags:
                yield region, dict(flags, AWS_DEFAULT_REGION=region), "data", {}
    for flags in ({}, FIPS, DUAL, dict(FIPS, **DUAL)):
        for bucket in (ZONAL, "data--usw2-az1--xa-s3", ARN, "p-abc-s3alias", "Da.ta"):
            yield "kinds", dict(flags, AWS_DEFAULT_REGION="us-west-2"), bucket, {}
    for region in ("cn-north-1", "us-gov-west-1", "us-iso-east-1"):
        for bucket in (ZONAL, ARN):
            yield "kinds", {"AWS_DEFAULT_REGION": region}, bucket, {}
    for bucket in ("da_ta", "data-", "1.2.3.4", "da..ta", "x" * 63, "abc",
                   ARN.replace("point/", "point:"), "arn:aws:s3:::data", "arn:aws:s3",
                   "arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/point"):
        yield "names", {"AWS_DEFAULT_REGION": "us-west-2"}, bucket, {}
    for endpoint in ("http://127.0.0.1:9000", "http://localhost:9000", "http://minio.local",
                     "https://host/a/b/", "https://acct.r2.cloudflarestorage.com",
                     "https://storage.googleapis.com", "http://[::1]:9000"):
        for bucket in ("data", "Da_ta", ZONAL) + (() if ":9000" in endpoint else (ARN,)):
            yield "endpoint", {"AWS_ENDPOINT_URL_S3": endpoint}, bucket, {}
        yield "endpoint", {"AWS_ENDPOINT_URL_S3": endpoint}, "data", s3("addressing_style = virtual")
        yield "endpoint", {"AWS_ENDPOINT_URL_S3": endpoint}, "data", s3("addressing_style = path")
    yield "endpoint", {"AWS_ENDPOINT_URL_S3": "http://h"}, "da.ta", s3("addressing_style = virtual")
    yield "endpoint", {"AWS_ENDPOINT_URL_S3": "https://h"}, "da.ta", s3("addressing_style = virtual")
    for flags in (FIPS, DUAL):
        yield "endpoint", dict(flags, AWS_ENDPOINT_URL="http://h:1"), "data", {}
    for value in ("minio:9000", "http://h:9000?x=1"):
        yield "endpoint", {"AWS_ENDPOINT_URL": value}, "data", {}
    yield "ignored", {"AWS_ENDPOINT_URL": "http://h", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS":
                      "true"}, "data", {}
    yield "ignored", {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"}, "data", config(
        "endpoint_url = http://a\nignore_configured_endpoint_urls = true\n")
    yield "ignored", {}, "data", config(
        "endpoint_url = http://a\nignore_configured_endpoint_urls = true\n")
    yield "both", {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b"}, "data", {}
    yield "profile's", {}, "data", config("endpoint_url = http://a\n")
    yield "services", {}, "data", config("services = x\nendpoint_url = http://a\n"
                                         "[services x]\ns3 =\n  endpoint_url = http://b\n")
    yield "services", {"AWS_ENDPOINT_URL": "http://e"}, "data", config(
        "services = \"x y\"\n[services \"x y\"]\ns3 =\n  endpoint_url = http://b\n")
    for text in ("use_dualstack_endpoint = true", "use_accelerate_endpoint = true",
                 "addressing_style = path", "addressing_style = virtual", "addressing_style = other",
                 "us_east_1_regional_endpoint = regional", "use_arn_region = false"):
        for bucket in ("data", ZONAL, ARN, "Da.ta"):
            yield text, {"AWS_DEFAULT_REGION": "us-east-1"}, bucket, s3(text)
    yield "accelerated", dict(DUAL), "data", s3("use_accelerate_endpoint = true")
    yield "accelerated", dict(FIPS), "data", s3("use_accelerate_endpoint = true")
    yield "regional", {"AWS_S3_US_EAST_1_REGIONAL_ENDPOINT": "regional"}, "data", {}
    yield "own region", {"AWS_S3_USE_ARN_REGION": "false"}, ARN, {}
    yield "no sessions", {"AWS_S3_DISABLE_EXPRESS_SESSION_AUTH": "true"}, ZONAL, {}
    yield "profile's", {}, "data", config("use_fips_endpoint = true\nregion = eu-north-1\n"
                                          "use_dualstack_endpoint = TRUE\n")


def attempts():
    for variables, text in (({"AWS_MAX_ATTEMPTS": "1"}, ""), ({"AWS_MAX_ATTEMPTS": "1000"}, ""),
                            ({"AWS_MAX_ATTEMPTS": "many"}, ""),
                            ({"AWS_MAX_ATTEMPTS": "7"}, "max_attempts = 3\n"),
                            ({"AWS_MAX_ATTEMPTS": ""}, "max_attempts = 3\n"),
                            ({"AWS_MAX_ATTEMPTS": ""}, "max_attempts = x\n"),
                            ({"AWS_MAX_ATTEMPTS": ""}, ""), ({"AWS_RETRY_MODE": "legacy"}, ""),
                            ({"AWS_RETRY_MODE": "standard"}, ""), ({"AWS_RETRY_MODE": "adaptive"}, ""),
                            ({}, "retry_mode = standard\n")):
        yield "attempts", variables, "data", config(text)


def files():
    """How the files are read; the region shows what was found."""
    def named(name, text, **environment):
        return "files", dict(environment, AWS_PROFILE=name), "data", text
    yield named("a", {"config": "[profile a]\nregion = eu-west-1\n"})
    yield named("a b", {"config": "[profile \"a b\"]\nregion = eu-west-1\n"})
    yield named("a b", {"config": "[profile 'a b']\nregion = eu-west-1\n"})
    yield named("a", {"config": "[profile a]\nRegion: eu-west-1\n"})
    yield named("a", {"config": "# x\n; y\n[profile a]\n\nregion\t=\teu-west-1  \n"})
    yield named("a", {"credentials": "[a]\nregion = eu-west-2\n" + KEYS % "file",
                      "config": "[profile a]\nregion = eu-west-1\n"})
    yield named("a", {"credentials": "[a]\n" + KEYS % "file", "config": "[profile a]\ns3 =\n"
                      "  addressing_style = path\nregion = eu-west-1\n"})
    yield named("default", config("region = eu-west-1\n"))
    yield named("nobody", {"config": "[profile a]\nregion = eu-west-1\n"})
    yield "files", {"AWS_DEFAULT_PROFILE": "a"}, "data", {"config": "[profile a]\nregion = eu-west-1\n"}
    yield "files", {}, "data", config("region = eu-west-1\n")
    yield "files", {"AWS_DEFAULT_REGION": "eu-west-2"}, "data", config("region = eu-west-1\n")
    yield "files", {"~": "1"}, "data", config("region = eu-west-1\n")
    yield "files", {"~": "1"}, "data", {"credentials": "[default]\nregion = eu-west-1\n"}


SSO = "sso_region = us-east-1\nsso_start_url = https://company/start\n"
SSO_ROLE = "sso_account_id = 123456789012\nsso_role_name = Reader\n"
ROLE_ARN = "arn:aws:iam::123456789012:role/"
ROLE = "role_arn = role\nsource_profile = base\n"
PROCESS = "credential_process = echo '%s'\n" % json.dumps(
    {"Version": 1, "AccessKeyId": "process", "SecretAccessKey": "s", "SessionToken": "t"})
BASE = "[profile base]\n" + KEYS % "base"


def credentials(url, token):
    """Without keys in the environment, unless they are named; the files have short names of roles."""
    def case(text="", credentials_file="", **environment):
        return ("credentials", dict({"AWS_ACCESS_KEY_ID": "", "AWS_DEFAULT_REGION": "us-west-2"},
                                    **environment), "data",
                {"config": text.replace("role_arn = ", "role_arn = " + ROLE_ARN),
                 "credentials": credentials_file})
    environment = {"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"}
    web = {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": ROLE_ARN + "pod"}
    container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url + "/container"}
    instance = {"AWS_EC2_METADATA_DISABLED": "false"}
    file_keys, config_keys = "[default]\n" + KEYS % "file", "[default]\n" + KEYS % "config"
    yield case(**environment)
    yield case(**environment, AWS_SESSION_TOKEN="t")
    yield case(**environment, AWS_SECURITY_TOKEN="old", AWS_SESSION_TOKEN="t")
    yield case(config_keys, file_keys, **environment, **web)
    yield case(config_keys, file_keys)
    yield case(config_keys)
    yield case("", file_keys)
    yield case("", file_keys + "aws_session_token = t\n")
    yield case(config_keys + PROCESS)
    yield case("[default]\n" + PROCESS, file_keys)
    yield case("[default]\n" + PROCESS, **container)
    yield case(config_keys, file_keys, **web)
    yield case("", **web)
    yield case("", AWS_WEB_IDENTITY_TOKEN_FILE=token)
    yield case("[default]\n" + ROLE + BASE, **web)
    yield case("[default]\n" + ROLE + BASE)
    yield case("[default]\n" + ROLE + BASE + "[profile other]\n", file_keys)
    yield case("[default]\n" + ROLE + "external_id = ext\nduration_seconds = 900\n" + BASE)
    yield case("[default]\n" + ROLE, "[base]\n" + KEYS % "filed")
    yield case("[default]\n" + ROLE + "[profile base]\nrole_arn = second\nsource_profile = keys\n"
               "[profile keys]\n" + KEYS % "keys")
    yield case("[default]\n" + ROLE + BASE + "role_arn = second\nsource_profile = default\n")
    yield case("[default]\n" + ROLE + "[profile base]\n" + PROCESS)
    yield case("[default]\n" + ROLE + "[profile base]\nrole_arn = web\nweb_identity_token_file = %s\n"
               % token)
    yield case("[default]\n" + ROLE + "[profile base]\n" + SSO + SSO_ROLE)
    yield case("[default]\n" + ROLE + "[profile base]\nregion = x\n", **web)
    yield case("[default]\n" + ROLE + "credential_source = Environment\n" + BASE)
    yield case("[default]\nrole_arn = role\n")
    yield case("[default]\nrole_arn = self\nsource_profile = default\n" + KEYS % "own")
    yield case("[default]\nrole_arn = role\nsource_profile = nobody\n")
    yield case("[default]\nrole_arn = role\nsource_profile = b\n[profile b]\nrole_arn = r\n"
               "source_profile = default\n")
    yield case("[default]\nrole_arn = role\ncredential_source = EcsContainer\n", **container)
    yield case("[default]\nrole_arn = role\ncredential_source = Ec2InstanceMetadata\n", **instance)
    yield case("[default]\nrole_arn = role\ncredential_source = Elsewhere\n")
    yield case("[default]\nrole_arn = web\nweb_identity_token_file = %s\n" % token)
    yield case("[default]\nrole_arn = web\nweb_identity_token_file = %s\n" % token, file_keys)
    yield case("[default]\nrole_arn = web\nweb_identity_token_file = %s\n" % token,
               AWS_ROLE_ARN=ROLE_ARN + "other")
    yield case("[default]\n" + SSO + SSO_ROLE)
    yield case("[default]\n" + SSO + SSO_ROLE + KEYS % "config", file_keys)
    yield case("[default]\nsso_session = company\n" + SSO_ROLE + "[sso-session company]\n" + SSO)
    yield case("[default]\nsso_session = ended\n" + SSO_ROLE + "[sso-session ended]\n" + SSO)
    yield case("[default]\nsso_session = revoked\n" + SSO_ROLE + "[sso-session revoked]\n" + SSO)
    yield case("[default]\nsso_session = nobody\n" + SSO_ROLE)
    yield case("[default]\nsso_session = company\nsso_region = x\n" + SSO_ROLE +
               "[sso-session company]\n" + SSO)
    yield case("[default]\n" + SSO + KEYS % "config")
    yield case("", **container)
    yield case("", **container, AWS_CONTAINER_AUTHORIZATION_TOKEN="x")
    yield case("", **container, **instance)
    yield case("", **instance)
    yield case("[default]\naws_access_key_id = half\n")
    yield case("[default]\ncredential_process = echo '{\"AccessKeyId\": \"a\"}'\n")
    yield case("[default]\n" + PROCESS.replace('"Version": 1', '"Version": 2'))
    for expiration in (FOREVER, "2019-01-01T00:00:00Z"):
        yield case("[default]\n" + PROCESS.replace('"Version": 1', '"Version": 1, "Expiration": "%s"'
                                                   % expiration))
    yield case("[default]\ncredential_process = false\n")
    yield case("")


def proxies():
    for environment in ({"HTTP_PROXY": "http://p:1"}, {"http_proxy": "http://p:1"},
                        {"http_proxy": "http://p:1", "HTTP_PROXY": "http://q:2"},
                        {"http_proxy": "", "HTTP_PROXY": "http://q:2"},
                        {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"},
                        {"HTTPS_PROXY": "http://p:1"}, {"https_proxy": "p:1"},
                        {"HTTP_PROXY": "http://p:1", "NO_PROXY": "minio.local"},
                        {"HTTP_PROXY": "http://p:1", "NO_PROXY": ".local"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "x, local ,y"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "minio.local:9000"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "minio.local:9001"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "inio.local"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "*"},
                        {"HTTP_PROXY": "http://p:1", "no_proxy": "", "NO_PROXY": "minio.local"}):
        yield "proxies", dict(environment, AWS_ENDPOINT_URL_S3="http://minio.local:9000"), "data", {}
    yield "proxies", {"HTTPS_PROXY": "http://p:1"}, "data", {}
    yield "proxies", {"HTTPS_PROXY": "http://p:1", "no_proxy": "amazonaws.com"}, "data", {}


# What is done otherwise on purpose, as Amazon's own command and most of its libraries do it.
OTHERWISE = [
    ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"}, {}, "eu-west-1"),
    ({"AWS_REGION": "eu-west-1"}, config("region = us-west-2\n"), "eu-west-1"),
    ({"AWS_PROFILE": "a", "AWS_DEFAULT_PROFILE": "b"},
     {"config": "[profile a]\nregion = eu-west-1\n[profile b]\nregion = us-west-2\n"}, "eu-west-1"),
]

# What is refused, where botocore does something, or asks somebody for a code.
REFUSED = [
    ({"AWS_USE_FIPS_ENDPOINT": "1"}, "data", {}, "is neither true nor false"),
    ({"AWS_USE_DUALSTACK_ENDPOINT": "yes"}, "data", {}, "is neither true nor false"),
    ({"AWS_MAX_ATTEMPTS": "many"}, "data", {}, "is not a number of 1 to 1000"),
    ({"AWS_MAX_ATTEMPTS": "0"}, "data", {}, "is not a number of 1 to 1000"),
    ({"AWS_RETRY_MODE": "fast"}, "data", {}, "is not one of legacy, standard, adaptive"),
    ({"AWS_ENDPOINT_URL": "http://10.0.0.1"}, ARN, {}, "the endpoint must have a name"),
    ({}, "arn:aws:s3::123456789012:accesspoint/a.mrap", {}, "name a region's access point or bucket"),
    ({}, "arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-01234567890123456/accesspoint/a",
     {}, "ARNs of s3-outposts are not supported"),
    ({}, "arn:aws:s3-object-lambda:us-west-2:123456789012:accesspoint/a", {},
     "ARNs of s3-object-lambda are not supported"),
    ({}, "data--x-s3", {}, "a directory bucket's name ends in --ZONE--x-s3"),
    ({"AWS_DEFAULT_REGION": "aws-global"}, ZONAL, {}, "set AWS_REGION to its region"),
    ({"AWS_S3_US_EAST_1_REGIONAL_ENDPOINT": "regional"}, ZONAL, {},
     "set AWS_REGION to its region"),
    ({"AWS_ACCESS_KEY_ID": ""}, "data",
     {"credentials": "[default]\naws_secret_access_key = s\n", "config": "[default]\n" + KEYS % "c"},
     "an access key id or secret without the other"),
    ({"AWS_ACCESS_KEY_ID": ""}, "data",
     config(ROLE.replace("role\n", "role\nduration_seconds = 1h\n", 1) + BASE),
     "duration_seconds: \"1h\" is not a number"),
    (dict(DUAL, AWS_DEFAULT_REGION="aws-global"), "data", s3("use_accelerate_endpoint = true"),
     "no global dual-stack host"),
    ({"AWS_CONFIG_FILE": "$HOME/config"}, "data", {}, "only \"~/\" is expanded"),
    ({"AWS_ACCESS_KEY_ID": ""}, "data", config(ROLE + "mfa_serial = m\n" + BASE),
     "credential_process = aws configure export-credentials --profile default"),
    ({"AWS_ACCESS_KEY_ID": ""}, "data", config("login_session = x\n"),
     "credential_process = aws configure export-credentials --profile default"),
]


# Of these, what a random case may be refused with.
DELIBERATE = ("is not a number", "is not one of legacy, standard, adaptive",
              "the endpoint must have a name", "aws configure export-credentials --profile ",
              "a directory bucket's name ends in", "a directory bucket has no global endpoint",
              "an access key id or secret without the other", "no global dual-stack host")

# What botocore looks at though the case does not need it.
BESIDE_THE_POINT = "is configured to use the SSO token provider"


class BotocoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(RESOLVE):
            raise unittest.SkipTest("no %s: make interop builds it" % RESOLVE)
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        cls.server.daemon_threads = True
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.url = "http://127.0.0.1:%d" % cls.server.server_port
        cls.token = os.path.join(HOME, "token")
        with open(cls.token, "w") as f:
            f.write("web-token")
        os.makedirs(os.path.join(HOME, ".aws", "sso", "cache"))
        for name, token, ends in (("company", "good", FOREVER), ("revoked", "bad", FOREVER),
                                  ("ended", "good", "2019-01-01T00:00:00Z"),
                                  ("https://company/start", "good", FOREVER)):
            path = os.path.join(HOME, ".aws", "sso", "cache",
                                hashlib.sha1(name.encode()).hexdigest() + ".json")
            with open(path, "w") as f:
                json.dump({"accessToken": token, "expiresAt": ends}, f)
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        print("%d cases" % cls.count)
        cls.server.shutdown()
        cls.server.server_close()
        shutil.rmtree(HOME)

    def environment(self, variables, texts):
        """Of a process that knows nothing but the case."""
        out = {"PATH": os.environ["PATH"], "HOME": HOME, "AWS_ACCESS_KEY_ID": "env",
               "AWS_SECRET_ACCESS_KEY": "s", "AWS_EC2_METADATA_DISABLED": "true",
               "AWS_ENDPOINT_URL_STS": self.url, "AWS_ENDPOINT_URL_SSO": self.url,
               "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url + "/", "AWS_MAX_ATTEMPTS": "2",
               "AWS_CONFIG_FILE": os.path.join(HOME, "config"),
               "AWS_SHARED_CREDENTIALS_FILE": os.path.join(HOME, "credentials")}
        for name in ("config", "credentials"):
            with open(os.path.join(HOME, name), "w") as f:
                f.write(texts.get(name, ""))
        out.update(variables)
        if out.pop("~", None):
            out.update(AWS_CONFIG_FILE="~/config", AWS_SHARED_CREDENTIALS_FILE="~/credentials")
        return {name: value for name, value in out.items() if value or not name.startswith("AWS_")}

    def compare(self, cases, deliberate=()):
        """Returns how many cases botocore has nothing against."""
        count = 0
        for what, variables, bucket, texts in cases:
            with self.subTest(what, variables=variables, bucket=bucket, files=texts):
                environment = self.environment(variables, texts)
                one, other = ours(environment, bucket), theirs(environment, bucket)
                type(self).count += 1
                if BESIDE_THE_POINT in other.get("error", ""):
                    continue
                if "error" in other:
                    self.assertIn("error", one, other)
                elif not any(text in one.get("error", "") for text in deliberate):
                    if "attempts" not in other:
                        one.pop("attempts", None)
                    self.assertEqual(one, other)
                    count += 1
        return count

    def test_places(self):
        self.compare(places())

    def test_files(self):
        self.compare(files())

    def test_credentials(self):
        self.compare(credentials(self.url, self.token))

    def test_proxies(self):
        self.compare(proxies())

    def test_attempts(self):
        self.compare(attempts())

    def test_random_places(self):
        chance = random.Random(seed())
        same = self.compare(random_settings.places(chance, RANDOM_CASES), DELIBERATE)
        self.assertGreater(same, RANDOM_CASES // 3)

    def test_random_credentials(self):
        chance = random.Random(seed())
        same = self.compare(random_settings.credentials(chance, RANDOM_CASES, self.url, self.token),
                            DELIBERATE)
        self.assertGreater(same, RANDOM_CASES // 3)

    def test_otherwise(self):
        for variables, texts, region in OTHERWISE:
            with self.subTest(variables=variables, files=texts):
                one = ours(self.environment(variables, texts), "data")
                type(self).count += 1
                self.assertEqual(one.get("region"), region, one)

    def test_refused(self):
        for variables, bucket, texts, text in REFUSED:
            with self.subTest(variables=variables, bucket=bucket, files=texts):
                one = ours(self.environment(variables, texts), bucket)
                type(self).count += 1
                self.assertIn(text, one.get("error", one))
