# SPDX-License-Identifier: MIT
"""Random environments, pairs of AWS's files and buckets, for test_botocore: what decides where a
request goes (places), and what decides whose keys sign it (credentials).  No case makes a request
to anybody but the test's own service."""

import json

REGIONS = ["us-east-1", "us-west-2", "eu-west-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1",
           "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1", "eusc-de-east-1", "xx-new-9",
           "aws-global", "us-west-2-fips", "fips-us-east-1"]
BUCKETS = ["data", "data", "da.ta", "Da.ta", "da_ta", "x" * 63, "p-abc-s3alias", "data-s3alias",
           "data--usw2-az1--x-s3", "data--use1-az4--x-s3", "point--usw2-az1--xa-s3", "data--x-s3",
           "arn:aws:s3:eu-west-1:123456789012:accesspoint/point",
           "arn:aws:s3:us-east-1:123456789012:accesspoint:point",
           "arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/point",
           "arn:aws-us-gov:s3:us-gov-west-1:123456789012:accesspoint/point"]
ENDPOINTS = ["http://127.0.0.1:9000", "http://minio.local", "http://minio.local:9000/",
             "https://host/a/b/", "https://acct.r2.cloudflarestorage.com",
             "https://s3.eu-west-1.amazonaws.com", "minio:9000"]
SWITCH = ["true", "false", "True", "FALSE"]
PROXIES = ["http://p:1", "p:1", ""]
NO_PROXIES = ["*", "minio.local", ".local", "local, amazonaws.com", "127.0.0.1", "minio.local:9000"]
ATTEMPTS = ["1", "3", "1000", "0", "-1", "many"]
MODES = ["legacy", "standard", "adaptive", "fast"]
PROFILES = ["default", "work", "two words"]
SHARE = 0.2         # of the cases has each setting that is not more or less usual


class Pieces:
    """Random settings, as variables or as lines of a file."""

    def __init__(self, chance):
        self.chance = chance

    def choose(self, table):
        """Of {name: values, or (share, values)}, some names with a value."""
        out = {}
        for name, values in table.items():
            share, values = values if isinstance(values, tuple) else (SHARE, values)
            if self.chance.random() < share:
                out[name] = self.chance.choice(values)
        return out

    def lines(self, settings):
        """In any order and with any blanks; what has several lines is indented."""
        names = list(settings)
        self.chance.shuffle(names)
        return "".join(name + self.chance.choice([" = ", "=", "\t=  ", " : "]) + settings[name] +
                       self.chance.choice(["\n", "\n", "  \n", "\n\n", "\n# comment\n"])
                       for name in names)

    def nested(self, settings):
        return "".join("\n  %s = %s" % each for each in settings.items())

    def section(self, kind, name):
        """Its header in the file of this kind."""
        if kind == "credentials":
            return "[%s]\n" % name
        if kind == "profile" and name == "default":
            return self.chance.choice(["[default]\n", "[default]\n", "[profile default]\n"])
        quote = self.chance.choice(["'", '"'] + ([] if " " in name else ["", ""]))
        return "[%s %s%s%s]\n" % (kind, quote, name, quote)


# ---- Places --------------------------------------------------------------------------------------

VARIABLES = {
    "AWS_DEFAULT_REGION": (0.6, REGIONS), "AWS_PROFILE": (0.4, PROFILES),
    "AWS_USE_FIPS_ENDPOINT": SWITCH, "AWS_USE_DUALSTACK_ENDPOINT": SWITCH,
    "AWS_ENDPOINT_URL_S3": ENDPOINTS, "AWS_ENDPOINT_URL": (0.1, ENDPOINTS),
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": (0.1, SWITCH),
    "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT": ["regional", "regional", "legacy", "Regional"],
    "AWS_S3_USE_ARN_REGION": SWITCH, "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH": SWITCH,
    "AWS_MAX_ATTEMPTS": (0.1, ATTEMPTS), "AWS_RETRY_MODE": (0.1, MODES),
    "HTTP_PROXY": (0.1, PROXIES), "http_proxy": (0.1, PROXIES), "HTTPS_PROXY": (0.1, PROXIES),
    "https_proxy": (0.1, PROXIES), "NO_PROXY": (0.1, NO_PROXIES), "no_proxy": (0.1, NO_PROXIES),
    "~": (0.1, ["1"]),
}
SETTINGS = {
    "region": (0.4, REGIONS), "use_fips_endpoint": (0.1, SWITCH),
    "use_dualstack_endpoint": (0.1, SWITCH), "endpoint_url": (0.1, ENDPOINTS),
    "services": (0.15, ["local", "my services", "nobody's"]),
    "ignore_configured_endpoint_urls": (0.1, SWITCH), "max_attempts": (0.1, ATTEMPTS),
    "retry_mode": (0.1, MODES), "s3_use_arn_region": (0.1, SWITCH),
    "s3_us_east_1_regional_endpoint": (0.1, ["regional", "legacy"]),
    "s3_disable_express_session_auth": (0.1, SWITCH), "output": ["json"],
}
S3_SETTINGS = {
    "addressing_style": ["path", "virtual", "auto"], "use_accelerate_endpoint": (0.1, SWITCH),
    "use_dualstack_endpoint": (0.1, SWITCH[:3]),    # botocore passes over others here
    "use_arn_region": SWITCH,
    "us_east_1_regional_endpoint": ["regional", "legacy"], "max_concurrent_requests": ["20"],
}


def place_files(pieces):
    config, credentials = "", ""
    for name in pieces.chance.sample(PROFILES, len(PROFILES)):
        settings = pieces.choose(SETTINGS)
        nested = pieces.choose(S3_SETTINGS)
        if nested and pieces.chance.random() < 0.5:
            settings["s3"] = pieces.nested(nested)
        config += pieces.section("profile", name) + pieces.lines(settings)
        if pieces.chance.random() < SHARE:
            credentials += pieces.section("credentials", name) + pieces.lines(
                pieces.choose({"region": REGIONS, "endpoint_url": (0.1, ENDPOINTS)}))
    for name in ("local", "my services"):
        config += pieces.section("services", name) + pieces.lines(
            {service: pieces.nested({"max_attempts": "2", **pieces.choose(
                {"endpoint_url": (0.8, ENDPOINTS)})})
             for service in ("s3", "dynamodb")})
    return {"config": config, "credentials": credentials}


def places(chance, count):
    """count times (what, variables, bucket, files)"""
    pieces = Pieces(chance)
    for number in range(count):
        yield number, pieces.choose(VARIABLES), chance.choice(BUCKETS), place_files(pieces)


# ---- Credentials ---------------------------------------------------------------------------------

ROLE_ARN = "arn:aws:iam::123456789012:role/"
SOURCES = ["default", "work", "base", "far", "nobody"]
FOREVER, PAST = "2096-01-01T00:00:00Z", "2019-01-01T00:00:00Z"


def process(**more):
    answer = {"Version": 1, "AccessKeyId": "process", "SecretAccessKey": "s", **more}
    return "echo '%s'" % json.dumps(answer)


PROCESSES = [process(), process(SessionToken="t"), process(Expiration=FOREVER),
             process(Expiration=PAST), process(Version=2), process(AccessKeyId=None), "false"]


def key_settings(pieces, name, share):
    """Static keys, as a rule both."""
    out = {}
    if pieces.chance.random() < share:
        out = {"aws_access_key_id": name, "aws_secret_access_key": "s"}
        if pieces.chance.random() < 0.1:
            del out[pieces.chance.choice(list(out))]
        out.update(pieces.choose({"aws_session_token": ["t"],
                                  "aws_security_token": (0.1, ["old"])}))
    return out


def role_settings(pieces, token):
    out = {"role_arn": ROLE_ARN + pieces.chance.choice(["one", "two"])}
    how = pieces.chance.random()
    if how < 0.55:
        out["source_profile"] = pieces.chance.choice(SOURCES)
    if 0.5 < how < 0.75:
        out["credential_source"] = pieces.chance.choice(
            ["Environment", "EcsContainer", "Ec2InstanceMetadata", "Elsewhere"])
    if how > 0.7:
        out["web_identity_token_file"] = token
    out.update(pieces.choose({"external_id": ["ext"], "duration_seconds": ["900", "x"],
                              "role_session_name": ["me"], "mfa_serial": (0.05, ["m"])}))
    return out


def sso_settings(pieces):
    own = {"sso_region": "us-east-1", "sso_start_url": "https://company/start"}
    out = pieces.choose({"sso_account_id": (0.95, ["123456789012"]),
                         "sso_role_name": (0.95, ["Reader"])})
    if pieces.chance.random() < 0.7:
        out["sso_session"] = pieces.chance.choice(["company", "company", "ended", "revoked",
                                                   "half", "nobody"])
        out.update(pieces.choose({"sso_region": (0.1, ["us-east-1", "eu-west-1"]),
                                  "sso_start_url": (0.1, ["https://company/start"])}))
    else:
        out.update(own)
    return out


SESSIONS = ("[sso-session %s]\nsso_region = us-east-1\nsso_start_url = https://company/start\n"
            "sso_registration_scopes = sso:account:access\n")


def credential_files(pieces, token):
    config, credentials = "", ""
    chance = pieces.chance
    for name in chance.sample(SOURCES[:-1], 4):
        settings = key_settings(pieces, "config-" + name, 0.3)
        if chance.random() < 0.4:
            settings.update(role_settings(pieces, token))
        if chance.random() < 0.15:
            settings.update(sso_settings(pieces))
        settings.update(pieces.choose({"credential_process": PROCESSES,
                                       "login_session": (0.03, ["x"])}))
        if settings or chance.random() < 0.8:
            config += pieces.section("profile", name) + pieces.lines(settings)
        kept = key_settings(pieces, "file-" + name, 0.3)
        if kept or chance.random() < 0.1:
            credentials += pieces.section("credentials", name) + pieces.lines(kept)
    config += "".join(SESSIONS % name for name in ("company", "ended", "revoked"))
    return {"config": config + "[sso-session half]\nsso_region = us-east-1\n",
            "credentials": credentials}


def credentials(chance, count, url, token):
    """count times (what, variables, bucket, files)"""
    pieces = Pieces(chance)
    variables = {
        "AWS_PROFILE": SOURCES[:-1], "AWS_ACCESS_KEY_ID": (0.15, ["env"]),
        "AWS_SECRET_ACCESS_KEY": (0.15, ["s"]), "AWS_SESSION_TOKEN": (0.1, ["t"]),
        "AWS_SECURITY_TOKEN": (0.05, ["old"]), "AWS_WEB_IDENTITY_TOKEN_FILE": (0.15, [token]),
        "AWS_ROLE_ARN": (0.15, [ROLE_ARN + "pod"]), "AWS_ROLE_SESSION_NAME": (0.1, ["pod"]),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": (0.15, [url + "/container"]),
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": (0.1, ["x"]),
        "AWS_EC2_METADATA_DISABLED": (0.15, ["false"]), "~": (0.1, ["1"]),
    }
    for number in range(count):
        chosen = pieces.choose(variables)
        if chosen.get("AWS_ACCESS_KEY_ID") and chance.random() < 0.8:
            chosen["AWS_SECRET_ACCESS_KEY"] = "s"
        yield (number, {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
                        "AWS_DEFAULT_REGION": "us-west-2", **chosen}, "data",
               credential_files(pieces, token))
