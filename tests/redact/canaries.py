"""Secrets that must not survive redaction: fake values of the right shape, in the texts where they are met.

Nothing here was ever a credential. Every value is put together at import from a public prefix and a body drawn from a
random generator seeded with the canary's own name, so a value never changes when another canary is added, and no
literal in this file looks like a credential to a scanner.

In the texts written here the character ``§`` stands for the secret.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["CANARIES", "NAMED", "NOT_SECRET_NAMES", "Canary"]


@dataclass(frozen=True)
class Canary:
    """One secret in its surroundings: ``secret`` occurs in ``text`` and must be gone after redaction."""

    name: str
    text: str
    secret: str


MARK = "§"

DIGITS = string.digits
UPPER = string.ascii_uppercase
LETTERS = string.ascii_letters
LOWER_NUM = string.ascii_lowercase + DIGITS
UPPER_NUM = UPPER + DIGITS
ALNUM = LETTERS + DIGITS
WORD = ALNUM + "_"
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
BASE32 = UPPER + "234567"
HEX = DIGITS + "abcdef"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


def _body(seed: str, alphabet: str, length: int) -> str:
    """``length`` characters of ``alphabet``, always the same for the same seed.

    The ends are letters or digits, and a long body of a mixed alphabet holds each kind of character.
    """
    rng = random.Random(f"canary:{seed}")
    ends = "".join(c for c in alphabet if c.isalnum())
    kinds = [k for k in (DIGITS, UPPER, string.ascii_lowercase) if any(c in alphabet for c in k)]
    while True:
        drawn = [rng.choice(alphabet) for _ in range(length)]
        if length:
            drawn[0] = rng.choice(ends)
            drawn[-1] = rng.choice(ends)
        body = "".join(drawn)
        if length < 12 or all(any(c in k for c in body) for k in kinds):
            return body


def _uuid(seed: str) -> str:
    h = _body(seed, HEX, 32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def _b64(raw: str) -> str:
    return base64.b64encode(raw.encode()).decode()


def _b64url(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _jwt(seed: str, parts: int) -> str:
    header = _b64url(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")))
    claims = {"sub": _body(seed + ".sub", DIGITS, 10), "name": "Ada Example", "iat": 1700000000, "role": "admin"}
    payload = _b64url(json.dumps(claims, separators=(",", ":")))
    return ".".join([header, payload, _body(seed + ".sig", URLSAFE, 43)][:parts])


_SHAPES: list[tuple[str, str, str]] = [
    (
        "aws-access-key-id",
        "botocore.exceptions.ClientError: The AWS Access Key Id § you provided does not exist in our records.",
        "AKIA" + _body("aws-access-key-id", BASE32, 16),
    ),
    (
        "aws-temporary-access-key-id",
        "InvalidClientTokenId: security token for § is invalid",
        "ASIA" + _body("aws-temporary-access-key-id", BASE32, 16),
    ),
    ("github-personal", "remote: invalid credentials § for repository", "ghp" + "_" + _body("ghp", ALNUM, 36)),
    ("github-oauth", "401 Bad credentials (§)", "gho" + "_" + _body("gho", ALNUM, 36)),
    ("github-user-to-server", "octokit: could not authenticate with §", "ghu" + "_" + _body("ghu", ALNUM, 36)),
    ("github-server-to-server", "checkout failed using §, see the log", "ghs" + "_" + _body("ghs", ALNUM, 36)),
    ("github-refresh", "bad_refresh_token: §", "ghr" + "_" + _body("ghr", ALNUM, 76)),
    (
        "github-fine-grained",
        "fatal: could not read from https://api.github.com with §",
        "github" + "_pat_" + _body("pat1", ALNUM, 22) + "_" + _body("pat2", ALNUM, 59),
    ),
    ("gitlab-personal", "GitlabAuthenticationError: 401: § was revoked", "glpat" + "-" + _body("glpat", URLSAFE, 20)),
    (
        "gitlab-personal-routable",
        "GitlabAuthenticationError: 401: § is expired",
        "glpat" + "-" + _body("glpat2", URLSAFE, 27) + ".01." + _body("glpat3", LOWER_NUM, 9),
    ),
    ("gitlab-runner", "registering runner with § failed", "glrt" + "-" + _body("glrt", URLSAFE, 20)),
    ("gitlab-trigger", "trigger § not found", "glptt" + "-" + _body("glptt", HEX, 40)),
    ("gitlab-deploy", "docker login refused § for registry", "gldt" + "-" + _body("gldt", URLSAFE, 20)),
    (
        "slack-bot",
        "SlackApiError: invalid_auth for §",
        "xoxb" + f"-{_body('xb1', DIGITS, 12)}-{_body('xb2', DIGITS, 13)}-{_body('xb3', ALNUM, 24)}",
    ),
    (
        "slack-user",
        "slack_sdk: token_revoked: §",
        "xoxp"
        + f"-{_body('xp1', DIGITS, 12)}-{_body('xp2', DIGITS, 12)}-{_body('xp3', DIGITS, 13)}-{_body('xp4', HEX, 32)}",
    ),
    (
        "slack-app",
        "socket mode could not connect with §",
        "xapp" + f"-1-A{_body('xa1', UPPER_NUM, 10)}-{_body('xa2', DIGITS, 13)}-{_body('xa3', HEX, 64)}",
    ),
    ("stripe-secret", "Invalid API Key provided: §", "sk" + "_live_" + _body("skl", ALNUM, 24)),
    ("stripe-secret-long", "Expired API Key provided: §", "sk" + "_live_51" + _body("skl2", ALNUM, 97)),
    ("stripe-test", "No such customer for key §", "sk" + "_test_" + _body("skt", ALNUM, 24)),
    ("stripe-restricted", "The provided key § lacks the scope", "rk" + "_live_" + _body("rkl", ALNUM, 24)),
    (
        "stripe-webhook-secret",
        "SignatureVerificationError: no match using §",
        "whsec" + "_" + _body("whsec", ALNUM, 32),
    ),
    (
        "openai",
        "openai.AuthenticationError: Incorrect API key provided: §. You can find your key in the dashboard.",
        "sk" + "-" + _body("oai1", ALNUM, 20) + "T3Blbk" + "FJ" + _body("oai2", ALNUM, 20),
    ),
    (
        "openai-project",
        "Error code: 401 - {'error': {'message': 'Incorrect API key provided: §.', 'type': 'invalid_request_error'}}",
        "sk" + "-proj-" + _body("oap1", URLSAFE, 74) + "T3Blbk" + "FJ" + _body("oap2", URLSAFE, 74),
    ),
    (
        "openai-service-account",
        "quota exceeded for §",
        "sk" + "-svcacct-" + _body("oas1", URLSAFE, 58) + "T3Blbk" + "FJ" + _body("oas2", URLSAFE, 58),
    ),
    (
        "anthropic",
        "authentication_error: invalid x-api-key (§)",
        "sk" + "-ant-api03-" + _body("ant", URLSAFE, 93) + "AA",
    ),
    ("anthropic-admin", "permission_error for §", "sk" + "-ant-admin01-" + _body("anta", URLSAFE, 93) + "AA"),
    ("anthropic-oauth", "OAuth: § has expired", "sk" + "-ant-oat01-" + _body("anto", URLSAFE, 93) + "AA"),
    ("openrouter", "No auth credentials found for §", "sk" + "-or-v1-" + _body("openrouter", HEX, 64)),
    (
        "google-api-key",
        "HttpError 400 when requesting https://maps.example.com: API key not valid: §",
        "AI" + "za" + _body("aiza", URLSAFE, 35),
    ),
    ("google-oauth-access", "google.auth: § is not a valid access grant", "ya" + "29." + _body("ya29", URLSAFE, 140)),
    ("google-client-secret", "invalid_client: § does not match", "GOC" + "SPX-" + _body("gocspx", URLSAFE, 28)),
    (
        "azure-client-secret",
        "AADSTS7000215: Invalid client secret § for app '6f1e'.",
        _body("azc1", ALNUM, 3) + "8Q" + "~" + _body("azc2", ALNUM + "_.-~", 34),
    ),
    ("huggingface", "HfHubHTTPError: 401 for user with §", "hf" + "_" + _body("hf", LETTERS, 34)),
    ("replicate", "ReplicateError: § is not authorised", "r8" + "_" + _body("r8", ALNUM, 37)),
    ("npm", "npm ERR! code E401 npm ERR! unable to authenticate with §", "npm" + "_" + _body("npm", ALNUM, 36)),
    (
        "pypi",
        "HTTPError: 403 Forbidden: invalid upload credentials §",
        "pypi" + "-AgEIcHlwaS5vcmc" + _body("pypi", URLSAFE, 150),
    ),
    ("docker-pat", "unauthorized: incorrect username or § given", "dckr" + "_pat_" + _body("dckr", URLSAFE, 27)),
    ("docker-oat", "denied: organisation access § expired", "dckr" + "_oat_" + _body("dckro", URLSAFE, 32)),
    ("digitalocean-pat", "doctl: unable to use §: 401", "dop" + "_v1_" + _body("dop", HEX, 64)),
    ("digitalocean-oauth", "doctl: refused §", "doo" + "_v1_" + _body("doo", HEX, 64)),
    ("digitalocean-refresh", "doctl: cannot refresh §", "dor" + "_v1_" + _body("dor", HEX, 64)),
    (
        "sendgrid",
        "SendGrid: The provided authorization grant § is invalid",
        "SG" + "." + _body("sg1", URLSAFE, 22) + "." + _body("sg2", URLSAFE, 43),
    ),
    ("mailgun", "mailgun: Forbidden (§)", "key" + "-" + _body("mailgun", HEX, 32)),
    (
        "mailgun-new",
        "mailgun: api § rejected",
        _body("mg1", HEX, 32) + "-" + _body("mg2", HEX, 8) + "-" + _body("mg3", HEX, 8),
    ),
    ("mailchimp", "Mailchimp API Key Invalid: §", _body("mailchimp", HEX, 32) + "-us" + "12"),
    (
        "brevo",
        "brevo: Key not found §",
        "xkeysib" + "-" + _body("brevo1", HEX, 64) + "-" + _body("brevo2", ALNUM, 16),
    ),
    (
        "telegram-bot",
        "telegram.error.InvalidToken: The bot § was rejected by the server.",
        _body("tg1", "123456789", 10) + ":AA" + _body("tg2", URLSAFE, 33),
    ),
    (
        "discord-bot",
        "discord.errors.LoginFailure: Improper login § has been passed.",
        "MT" + _body("dc1", ALNUM, 24) + ".G" + _body("dc2", ALNUM, 5) + "." + _body("dc3", URLSAFE, 38),
    ),
    ("databricks", "databricks: Invalid access with §", "da" + "pi" + _body("dapi", HEX, 32)),
    ("databricks-suffix", "databricks: expired §", "da" + "pi" + _body("dapi2", HEX, 32) + "-2"),
    ("vault-service", "hvac.exceptions.Forbidden: permission denied for §", "hvs" + "." + _body("hvs", URLSAFE, 91)),
    ("vault-batch", "vault: batch § cannot be renewed", "hvb" + "." + _body("hvb", URLSAFE, 140)),
    (
        "terraform-cloud",
        "Error: Failed to request discovery document: § unauthorised",
        _body("tfe1", ALNUM, 14) + ".atlas" + "v1." + _body("tfe2", ALNUM, 67),
    ),
    ("linear", "LinearError: Authentication required for §", "lin" + "_api_" + _body("linear", ALNUM, 40)),
    ("notion", "APIResponseError: API § is invalid.", "secret" + "_" + _body("notion", ALNUM, 43)),
    (
        "notion-new",
        "APIResponseError: restricted § given",
        "ntn" + "_" + _body("ntn", DIGITS, 11) + _body("ntn2", ALNUM, 35),
    ),
    ("shopify-access", "ShopifyAPI 401 [§]", "shp" + "at_" + _body("shpat", HEX, 32)),
    ("shopify-shared", "hmac mismatch with §", "shp" + "ss_" + _body("shpss", HEX, 32)),
    ("shopify-custom-app", "custom app § was uninstalled", "shp" + "ca_" + _body("shpca", HEX, 32)),
    ("shopify-private-app", "private app § was uninstalled", "shp" + "pa_" + _body("shppa", HEX, 32)),
    ("square-access", "square: UNAUTHORIZED §", "EA" + "AA" + _body("square", URLSAFE, 60)),
    ("square-oauth-secret", "square: bad oauth § for app", "sq0" + "csp-" + _body("sq0csp", URLSAFE, 43)),
    ("square-legacy-access", "square: old § was refused", "sq0" + "atp-" + _body("sq0atp", URLSAFE, 22)),
    ("planetscale-service", "pscale: § has no access", "pscale" + "_tkn_" + _body("pstkn", URLSAFE, 43)),
    ("planetscale-password", "Access denied for user 'u' using §", "pscale" + "_pw_" + _body("pspw", URLSAFE, 43)),
    ("planetscale-oauth", "pscale: oauth § expired", "pscale" + "_oauth_" + _body("psoauth", URLSAFE, 43)),
    ("supabase-management", "supabase: invalid access § format", "sb" + "p_" + _body("sbp", HEX, 40)),
    ("supabase-secret", "supabase: forbidden use of § in browser", "sb" + "_secret_" + _body("sbs", URLSAFE, 31)),
    (
        "postman",
        "Postman: Invalid API Key §",
        "PM" + "AK-" + _body("pmak1", HEX, 24) + "-" + _body("pmak2", HEX, 34),
    ),
    ("newrelic-user", "NerdGraph: 401 for §", "NR" + "AK-" + _body("nrak", UPPER_NUM, 27)),
    ("newrelic-browser", "NREUM license § unknown", "NR" + "JS-" + _body("nrjs", HEX, 19)),
    (
        "sentry-org",
        "sentry-cli: API request failed with §",
        "sntry"
        + "s_"
        + _b64('{"iat":1700000000.0,"url":"https://sentry.io","org":"acme"}')
        + "_"
        + _body("snt", BASE64, 43),
    ),
    ("sentry-user", "sentry-cli: Invalid § (http status: 401)", "sntry" + "u_" + _body("sntryu", HEX, 64)),
    (
        "grafana-service-account",
        "grafana: Invalid API key §",
        "gl" + "sa_" + _body("glsa1", ALNUM, 32) + "_" + _body("glsa2", HEX, 8),
    ),
    (
        "grafana-cloud",
        "remote write failed with §: 401",
        "gl" + "c_" + _b64('{"o":"123456","n":"stack-1","k":"' + _body("glc", ALNUM, 24) + '","m":{"r":"eu"}}'),
    ),
    ("doppler-personal", "Doppler Error: Invalid Auth §", "dp" + ".pt." + _body("dppt", ALNUM, 43)),
    ("doppler-service", "Doppler Error: revoked §", "dp" + ".st.prd." + _body("dpst", ALNUM, 43)),
    ("airtable", "airtable: § cannot read base", "pat" + _body("at1", ALNUM, 14) + "." + _body("at2", HEX, 64)),
    ("figma", "Figma 403: § is not valid", "fig" + "d_" + _body("figd", URLSAFE, 40)),
    (
        "atlassian",
        "jira: Basic authentication with § failed",
        "ATA" + "TT3xFfGF0" + _body("atatt1", URLSAFE, 172) + "=" + _body("atatt2", HEX, 8).upper(),
    ),
    ("bitbucket-app-password", "bitbucket: § lacks repository:write", "AT" + "BB" + _body("atbb", ALNUM, 32)),
    ("dropbox-short-lived", "dropbox.exceptions.AuthError: expired §", "sl" + "." + _body("dropbox", URLSAFE, 136)),
    ("groq", "groq.AuthenticationError: Invalid API Key §", "gs" + "k_" + _body("groq", ALNUM, 52)),
    ("xai", "xAI: Incorrect API key provided: §", "xai" + "-" + _body("xai", ALNUM, 80)),
    ("perplexity", "perplexity: 401 for §", "pp" + "lx-" + _body("pplx", ALNUM, 48)),
    (
        "langsmith-personal",
        "LangSmithAuthError: Invalid key §",
        "ls" + "v2_pt_" + _body("lsv2a", HEX, 32) + "_" + _body("lsv2b", HEX, 10),
    ),
    (
        "langsmith-service",
        "LangSmithAuthError: service § disabled",
        "ls" + "v2_sk_" + _body("lsv2c", HEX, 32) + "_" + _body("lsv2d", HEX, 10),
    ),
    (
        "pinecone",
        "PineconeApiException: (401) Invalid API Key §",
        "pc" + "sk_" + _body("pcsk1", ALNUM, 6) + "_" + _body("pcsk2", ALNUM, 63),
    ),
    ("age", "age: error: malformed secret key §", "AGE-SECRET" + "-KEY-1" + _body("age", BECH32, 58)),
    (
        "tailscale",
        "tailscale up: invalid key §",
        "ts" + "key-auth-" + _body("ts1", ALNUM, 12) + "CNTRL-" + _body("ts2", ALNUM, 32),
    ),
    ("pulumi", "pulumi: § has been revoked", "pul" + "-" + _body("pulumi", HEX, 40)),
    ("rubygems", "gem push refused §", "rubygems" + "_" + _body("rubygems", HEX, 48)),
    ("netlify", "netlify: Access Denied for §", "nf" + "p_" + _body("netlify", ALNUM, 36)),
    ("buildkite", "buildkite: § lacks scope", "bk" + "ua_" + _body("bkua", HEX, 40)),
    ("artifactory", "jfrog: § is disabled", "AK" + "Cp" + _body("akcp", ALNUM, 69)),
    ("jwt-three-parts", "jwt.exceptions.InvalidSignatureError while decoding §", _jwt("jwt3", 3)),
    ("jwt-two-parts", "DecodeError: Not enough segments in §", _jwt("jwt2", 2)),
    ("jwt-unsigned", "refusing alg none: §", _jwt("jwtnone", 2) + "."),
]

# Surroundings without a hint: quotes, brackets, a sentence's end, a path, a line of its own.
_SURROUNDINGS: list[tuple[str, str]] = [
    ("quoted", "ValueError: unexpected value '§' in row 3"),
    ("listed", '["alpha", "§", 17, null]'),
    ("angle", "<Response [401]> for <§>"),
    ("line", "first line\n§\nlast line"),
    ("comma", "tried §, then gave up"),
]


def _shape_canaries() -> Iterator[Canary]:
    for name, text, secret in _SHAPES:
        yield Canary(name, text.replace(MARK, secret), secret)
    for name, _text, secret in _SHAPES:
        for where, surrounding in _SURROUNDINGS:
            yield Canary(f"{name}/{where}", surrounding.replace(MARK, secret), secret)


_AWS_SECRET = _body("aws-secret", BASE64, 40)
_AWS_SESSION = "IQoJb3JpZ2luX2Vj" + _body("aws-session", BASE64, 320) + "=="
_STORAGE_KEY = _body("azure-storage", BASE64, 86) + "=="
_SAS_SIG = _body("sas", ALNUM, 20) + "%2B" + _body("sas2", ALNUM, 21) + "%3D"
_BASIC = _b64("ada:" + _body("basic", ALNUM, 14))
_OPAQUE = _body("opaque", URLSAFE, 40)
_SESSION_ID = _body("session-id", LOWER_NUM, 32)
_SIGNED_SESSION = "s%3A" + _body("connect-sid", URLSAFE, 32) + "." + _body("connect-sid2", ALNUM, 43)
_PASSWORD = "Tr0ub" + _body("password", ALNUM, 9)
_SYMBOLS = "x9" + "!$^*" + _body("symbols", ALNUM, 7) + "~."
_HEX_TOKEN = _body("hex-token", HEX, 32)
_RANDOM_48 = _body("random-48", BASE64, 48)
_RANDOM_64 = _body("random-64", URLSAFE, 64)
_SLACK_HOOK = (
    "T" + _body("hook1", UPPER_NUM, 10) + "/B" + _body("hook2", UPPER_NUM, 10) + "/" + _body("hook3", ALNUM, 24)
)

_IN_CONTEXT: list[tuple[str, str, str]] = [
    # Vendors
    ("aws-secret-key-env", "AWS_SECRET_ACCESS_KEY=§", _AWS_SECRET),
    ("aws-secret-key-ini", "[default]\nregion = eu-north-1\naws_secret_access_key = §\noutput = json", _AWS_SECRET),
    (
        "aws-secret-key-json",
        '{"Credentials": {"SecretAccessKey": "§", "Expiration": "2026-01-01T00:00:00Z"}}',
        _AWS_SECRET,
    ),
    ("aws-session-token-env", "export AWS_SESSION_TOKEN=§", _AWS_SESSION),
    ("aws-session-token-repr", "Session(aws_session_token='§', region_name='us-east-1')", _AWS_SESSION),
    ("aws-security-token-header", "x-amz-security-token: §\r\nhost: s3.amazonaws.com", _AWS_SESSION),
    (
        "aws-sigv4-signature",
        "Authorization: AWS4-HMAC-SHA256 Credential=EXAMPLE/20260101/eu-north-1/s3/aws4_request, SignedHeaders=host, Signature=§",
        _body("sigv4", HEX, 64),
    ),
    ("slack-webhook", "POST https://hooks.slack.com/services/§ returned 404 no_service", _SLACK_HOOK),
    (
        "discord-webhook",
        "POST https://discord.com/api/webhooks/112233445566778899/§ failed with 429",
        _body("discord-hook", URLSAFE, 68),
    ),
    (
        "teams-webhook",
        "https://acme.webhook.office.com/webhookb2/"
        + _uuid("teams")
        + "@"
        + _uuid("teams2")
        + "/IncomingWebhook/§/"
        + _uuid("teams3"),
        _body("teams-hook", HEX, 32),
    ),
    (
        "telegram-bot-url",
        "HTTP error for https://api.telegram.org/bot§/sendMessage",
        _body("tgu1", "123456789", 10) + ":AA" + _body("tgu2", URLSAFE, 33),
    ),
    (
        "azure-storage-connection",
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=§;EndpointSuffix=core.windows.net",
        _STORAGE_KEY,
    ),
    (
        "azure-service-bus",
        "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§",
        _body("servicebus", BASE64, 43) + "=",
    ),
    (
        "azure-cosmos",
        "AccountEndpoint=https://acme.documents.azure.com:443/;AccountKey=§;",
        _body("cosmos", BASE64, 86) + "==",
    ),
    (
        "azure-sas",
        "https://acme.blob.core.windows.net/c/report.csv?sv=2022-11-02&se=2026-01-01T00%3A00%3A00Z&sr=b&sp=r&sig=§",
        _SAS_SIG,
    ),
    (
        "azure-client-secret-body",
        "grant_type=client_credentials&client_id=app&client_secret=§&scope=x",
        _body("azbody", ALNUM, 40),
    ),
    ("twilio-auth-token", "TWILIO_AUTH_TOKEN=§", _body("twilio", HEX, 32)),
    (
        "twilio-basic-url",
        "https://AC" + _body("twsid", HEX, 32) + ":§@api.twilio.com/2010-04-01/Accounts",
        _body("twilio2", HEX, 32),
    ),
    ("twilio-api-secret", "Client(account_sid='AC1', api_secret='§')", _body("twilio3", ALNUM, 32)),
    ("vault-legacy-header", "X-Vault-Token: §", "s." + _body("vault-legacy", ALNUM, 24)),
    ("heroku-api-key", "HEROKU_API_KEY=§", _uuid("heroku")),
    ("datadog-api-key", "DD_API_KEY=§ DD_SITE=datadoghq.eu", _body("datadog", HEX, 32)),
    ("datadog-header", "DD-APPLICATION-KEY: §", _body("datadog2", HEX, 40)),
    ("cloudflare-global", "X-Auth-Key: §\nX-Auth-Email: ada@example.com", _body("cloudflare", HEX, 37)),
    ("cloudflare-token", "CLOUDFLARE_API_TOKEN: §", _body("cloudflare2", URLSAFE, 40)),
    ("gitlab-header", "PRIVATE-TOKEN: §", _body("gitlab-legacy", URLSAFE, 20)),
    ("gitlab-job-token", "CI_JOB_TOKEN=§ make release", _body("gitlab-job", URLSAFE, 26)),
    ("okta-ssws", "Authorization: SSWS §", "00" + _body("okta", URLSAFE, 40)),
    ("airtable-legacy", "AIRTABLE_API_KEY=§", "key" + _body("airtable-legacy", ALNUM, 14)),
    ("pinecone-legacy", "Pinecone(api_key='§', environment='us-west1-gcp')", _uuid("pinecone-legacy")),
    ("npmrc", "//packages.example.com/:_authToken=§", _uuid("npmrc")),
    ("npmrc-legacy", "_auth=§\nemail=ada@example.com", _b64("ada:" + _body("npm-legacy", ALNUM, 12))),
    ("pypirc", "[pypi]\nusername = ada\npassword = §", _PASSWORD),
    ("netrc", "machine api.example.com login ada password §", _PASSWORD),
    (
        "docker-config",
        '{"auths": {"https://index.docker.io/v1/": {"auth": "§"}}}',
        _b64("ada:" + _body("docker-auth", ALNUM, 20)),
    ),
    (
        "sentry-dsn-legacy",
        "SENTRY_DSN=https://" + _body("dsn", HEX, 32) + ":§@sentry.example.com/42",
        _body("dsn2", HEX, 32),
    ),
    ("supabase-service-role", "SUPABASE_SERVICE_ROLE_KEY=§", _jwt("supabase", 3)),
    ("google-refresh-token", '{"refresh_token": "1//0§", "type": "authorized_user"}', _body("grefresh", URLSAFE, 100)),
    ("newrelic-license", "NEW_RELIC_LICENSE_KEY=§", _body("nrlicense", HEX, 36) + "NRAL"),
    ("django-secret-key", "SECRET_KEY = 'django-insecure-§'", _body("django", LOWER_NUM + "!@#$%^&*(-_=+)", 50)),
    # Headers
    ("bearer", "Authorization: Bearer §", _OPAQUE),
    ("bearer-lower-case", "authorization: bearer §", _OPAQUE),
    ("bearer-in-prose", "request sent with Bearer § was refused", _OPAQUE),
    ("bearer-repr", "headers={'Authorization': 'Bearer §', 'Accept': '*/*'}", _OPAQUE),
    ("bearer-json", '{"headers": {"authorization": "Bearer §", "accept": "*/*"}}', _OPAQUE),
    ("bearer-json-escaped", '{"log": "{\\"Authorization\\": \\"Bearer §\\"}"}', _OPAQUE),
    ("bearer-jwt", "Authorization: Bearer §", _jwt("bearer", 3)),
    ("bearer-httpx-tuple", "Headers([('host', 'api.example.com'), ('authorization', 'Bearer §')])", _OPAQUE),
    ("bearer-raw-bytes", "[(b'host', b'api.example.com'), (b'authorization', b'Bearer §')]", _OPAQUE),
    ("basic", "Authorization: Basic §", _BASIC),
    ("basic-repr", "{'Authorization': 'Basic §'}", _BASIC),
    (
        "digest",
        'Authorization: Digest username="ada", realm="api", nonce="f00", uri="/", response="§", opaque="0"',
        _body("digest", HEX, 32),
    ),
    ("token-scheme", "Authorization: Token §", _body("token-scheme", HEX, 40)),
    ("token-scheme-lower", "Authorization: token §", _body("token-scheme2", HEX, 40)),
    ("token-scheme-quoted", 'Authorization: Token token="§"', _body("token-scheme3", HEX, 40)),
    ("apikey-scheme", "Authorization: ApiKey §", _b64("id:" + _body("apikey-scheme", ALNUM, 22))),
    ("authorization-without-scheme", "Authorization: §", _OPAQUE),
    ("proxy-authorization", "Proxy-Authorization: Basic §", _BASIC),
    ("x-api-key", "X-Api-Key: §", _HEX_TOKEN),
    ("x-api-key-lower", "x-api-key: §\r\naccept: */*", _HEX_TOKEN),
    ("x-auth-token", "X-Auth-Token: §", _HEX_TOKEN),
    ("x-csrf-token", "X-CSRF-Token: §", _OPAQUE),
    ("ocp-subscription-key", "Ocp-Apim-Subscription-Key: §", _HEX_TOKEN),
    ("x-goog-api-key", "x-goog-api-key: §", _OPAQUE),
    ("cookie-session", "Cookie: theme=dark; sessionid=§; lang=fi", _SESSION_ID),
    ("cookie-php", "Cookie: PHPSESSID=§", _body("phpsessid", LOWER_NUM, 26)),
    ("cookie-java", "Cookie: JSESSIONID=§; Path=/app", _body("jsession", UPPER_NUM, 32)),
    ("cookie-connect", "Cookie: connect.sid=§", _SIGNED_SESSION),
    ("cookie-last", "Cookie: a=1; b=2; sid=§", _SESSION_ID),
    ("cookie-repr", "{'Cookie': 'csrftoken=abc; sessionid=§'}", _SESSION_ID),
    ("set-cookie", "Set-Cookie: session=§; HttpOnly; Secure; SameSite=Lax; Path=/", _SESSION_ID),
    ("set-cookie-host", "set-cookie: __Host-session=§; Path=/; Secure", _OPAQUE),
    ("set-cookie-repr", "{'set-cookie': 'sessionid=§; expires=Thu, 01 Jan 2026 00:00:00 GMT'}", _SESSION_ID),
    ("cookiejar", "<Cookie sessionid=§ for .example.com/>", _SESSION_ID),
    # URLs with user and password
    ("url-postgres", "could not connect to postgres://app:§@db.internal:5432/orders", _PASSWORD),
    ("url-postgresql-driver", "create_engine('postgresql+psycopg://app:§@db/orders?sslmode=require')", _PASSWORD),
    ("url-mysql", "OperationalError: mysql://root:§@10.0.0.5:3306/shop", _PASSWORD),
    ("url-redis", "redis.exceptions.AuthenticationError: redis://default:§@cache:6379/0", _PASSWORD),
    ("url-redis-without-user", "REDIS_URL=redis://:§@cache:6379/0", _PASSWORD),
    ("url-rediss", "rediss://:§@cache.example.com:6380", _OPAQUE),
    ("url-amqp", "AMQPConnectionError: amqp://guest2:§@rabbit:5672/%2Fvhost", _PASSWORD),
    ("url-amqps", "amqps://svc:§@rabbit.example.com", _PASSWORD),
    (
        "url-mongodb-srv",
        "ServerSelectionTimeoutError: mongodb+srv://app:§@cluster0.ab1cd.mongodb.net/?retryWrites=true",
        _PASSWORD,
    ),
    ("url-mongodb-hosts", "mongodb://app:§@h1:27017,h2:27017/?replicaSet=rs0", _PASSWORD),
    ("url-https", "fatal: unable to access 'https://ada:§@git.example.com/x.git/': 403", _PASSWORD),
    ("url-https-token-as-user", "https://§:x-oauth-basic@github.com/acme/x.git", _body("url-token-user", HEX, 40)),
    ("url-https-proxy", "HTTPS_PROXY=http://proxyuser:§@proxy.local:3128", _PASSWORD),
    ("url-ftp", "ftp://backup:§@files.example.com/daily", _PASSWORD),
    ("url-sftp", "sftp://backup:§@files.example.com:22/daily", _PASSWORD),
    ("url-smtp", "smtp://mailer:§@mail.example.com:587", _PASSWORD),
    ("url-ldap", "ldap://cn=admin:§@ldap.example.com:389", _PASSWORD),
    ("url-snowflake", "snowflake://ada:§@acme-eu/db/schema?warehouse=wh", _PASSWORD),
    ("url-clickhouse", "clickhouse+native://default:§@ch:9000/logs", _PASSWORD),
    ("url-short-password", "postgres://app:§@db/orders", "pw" + "9"),
    ("url-word-password", "postgres://app:§@db/orders", "sesame" + "street"),
    ("url-symbols", "postgres://app:§@db.internal/orders", _SYMBOLS),
    ("url-percent-encoded", "postgres://app:§@db.internal/orders", "p%40ss%2Fw%3Ard" + _body("percent", DIGITS, 3)),
    ("url-with-at", "postgres://app:§@db.internal:5432/orders", "pa@" + _body("at-inside", ALNUM, 8)),
    ("url-with-two-at", "mysql://root:§@db.internal/shop", "p@x@" + _body("two-at", ALNUM, 8)),
    ("url-with-colon", "redis://u:§@cache:6379/0", "ab:cd:" + _body("colon", ALNUM, 8)),
    ("url-with-hash", "amqp://svc:§@rabbit:5672/", "ab#" + _body("hash", ALNUM, 8)),
    ("url-with-slash", "postgres://app:§@db.internal:5432/orders", "ab/" + _body("slash", ALNUM, 8)),
    ("url-with-question-mark", "postgres://app:§@db.internal:5432/orders", "ab?" + _body("question", ALNUM, 8)),
    ("url-non-ascii", "postgres://app:§@db.internal/orders", "pässwörd" + _body("umlaut", DIGITS, 4)),
    (
        "url-in-traceback",
        '  File "/app/db.py", line 12, in <module>\n    connect("postgresql://app:§@db/orders")\n',
        _PASSWORD,
    ),
    ("url-in-json", '{"database_url":"postgres:\\/\\/app:§@db\\/orders"}', _PASSWORD),
    # JDBC, ODBC, ADO, libpq
    ("jdbc-query", "jdbc:postgresql://db:5432/orders?user=app&password=§&ssl=true", _PASSWORD),
    ("jdbc-mysql-userinfo", "jdbc:mysql://app:§@db:3306/shop", _PASSWORD),
    ("jdbc-sqlserver", "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password=§;encrypt=true", _PASSWORD),
    ("jdbc-oracle-thin", "jdbc:oracle:thin:scott/§@//db:1521/XE", _PASSWORD),
    ("ado-password", "Server=tcp:db,1433;Database=shop;User ID=sa;Password=§;Encrypt=True;", _PASSWORD),
    ("ado-password-quoted", 'Server=db;User ID=sa;Password="§";Encrypt=True;', "semi;colon " + _body("ado", ALNUM, 6)),
    ("odbc-pwd", "Driver={ODBC Driver 18 for SQL Server};Server=db;Uid=sa;Pwd=§;", _PASSWORD),
    ("odbc-pwd-braces", "DRIVER={PostgreSQL};SERVER=db;UID=app;PWD={§};", "br;ace" + _body("odbc", ALNUM, 6)),
    ("odbc-upper-last", "DSN=warehouse;UID=app;PWD=§", _PASSWORD),
    ("libpq", "host=db port=5432 dbname=orders user=app password=§ sslmode=require", _PASSWORD),
    ("libpq-quoted", "host=db user=app password='§' dbname=orders", "two words " + _body("libpq", ALNUM, 5)),
    ("sql-create-user", "ProgrammingError: CREATE USER app WITH PASSWORD '§'", _PASSWORD),
    ("sql-identified-by", "ALTER USER 'app'@'%' IDENTIFIED BY '§'", _PASSWORD),
    ("sql-set-password", "UPDATE users SET password = '§' WHERE id = 7", _PASSWORD),
    # Signed URLs and query parameters
    (
        "presigned-s3-v4",
        "403 for https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature=§",
        _body("s3v4", HEX, 64),
    ),
    (
        "presigned-s3-v4-credential",
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=§%2F20260101%2Feu-north-1%2Fs3%2Faws4_request&X-Amz-Expires=900",
        "AKIA" + _body("s3v4-credential", BASE32, 16),
    ),
    (
        "presigned-s3-security-token",
        "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=§&X-Amz-Expires=900",
        "IQoJb3JpZ2luX2Vj" + _body("s3-sec", ALNUM, 300) + "%3D%3D",
    ),
    (
        "presigned-s3-v2",
        "https://b.s3.amazonaws.com/k?Expires=1767225600&Signature=§",
        _body("s3v2", ALNUM, 25) + "%3D",
    ),
    (
        "presigned-gcs",
        "https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Expires=900&X-Goog-Signature=§",
        _body("gcs", HEX, 512),
    ),
    (
        "presigned-cloudfront",
        "https://d111.cloudfront.net/v.mp4?Expires=1767225600&Signature=§&Key-Pair-Id=K2J",
        _body("cf", URLSAFE + "~", 342),
    ),
    ("presigned-azure-middle", "https://a.blob.core.windows.net/c/b?sig=§&se=2026-01-01&sp=r", _SAS_SIG),
    ("query-access-token", "GET https://api.example.com/me?access_token=§ 401", _OPAQUE),
    ("query-api-key", "https://api.example.com/v1/weather?q=Oulu&api_key=§", _HEX_TOKEN),
    ("query-apikey", "https://api.example.com/v1/weather?apikey=§&q=Oulu", _HEX_TOKEN),
    ("query-token", "wss://stream.example.com/?token=§", _OPAQUE),
    ("query-short-token", "https://example.com/reset?token=§&lang=fi", _body("short-token", LOWER_NUM, 8)),
    ("query-sig", "https://example.com/dl?file=1&sig=§", _body("sig", ALNUM, 27)),
    ("query-password", "https://example.com/login?user=ada&password=§#top", _PASSWORD),
    ("query-client-secret", "POST /token?client_id=app&client_secret=§ HTTP/1.1", _OPAQUE),
    ("query-oauth-code-verifier", "POST /token?code_verifier=§", _body("verifier", URLSAFE, 43)),
    ("query-percent-encoded-name", "https://example.com/?access%5Ftoken=§", _OPAQUE),
    (
        "query-nested-url",
        "https://a.example/?next=https%3A%2F%2Fb.example%2F%3Faccess_token%3D§",
        _body("nested", ALNUM, 40),
    ),
    ("fragment-access-token", "https://app.example.com/cb#access_token=§&token_type=bearer", _OPAQUE),
    ("form-body", "username=ada&password=§&remember=1", _PASSWORD),
    ("magic-link", "https://example.com/invite?invite_token=§", _OPAQUE),
    # Assignments
    ("assign-password", "password=§", _PASSWORD),
    ("assign-password-spaces", "password = §", _PASSWORD),
    ("assign-password-word", "login failed: user=ada password=§ host=db", "sesame" + "street"),
    ("assign-password-upper", "PASSWORD=§", _PASSWORD),
    ("assign-passwd", "passwd=§", _PASSWORD),
    ("assign-pwd", "pwd: '§'", _PASSWORD),
    ("assign-symbols", "DB_PASSWORD='§'", _SYMBOLS),
    ("assign-pgpassword", "PGPASSWORD=§ psql -h db -U app", _PASSWORD),
    ("assign-mysql-pwd", "MYSQL_PWD=§ mysqldump shop", _PASSWORD),
    ("assign-two-words-single", "password: '§'", "correct " + "horse"),
    ("assign-two-words-double", 'passphrase: "§"', "open sesame " + "now"),
    ("assign-hash-rocket", 'secret_key => "§"', _OPAQUE),
    ("assign-ruby-symbol", ":api_key => '§', :region => 'eu'", _HEX_TOKEN),
    ("assign-walrus", "token := §", _OPAQUE),
    ("assign-json", '{"user": "ada", "password": "§", "remember": true}', _PASSWORD),
    ("assign-json-no-spaces", '{"user":"ada","password":"§"}', _PASSWORD),
    ("assign-json-two-words", '{"passphrase": "§"}', "open sesame " + "please"),
    ("assign-json-escaped-quote", '{"password": "§", "x": 1}', 'ab\\"' + _body("escaped-quote", ALNUM, 8)),
    ("assign-json-camel", '{"clientSecret": "§", "clientId": "app"}', _OPAQUE),
    ("assign-json-in-json", '{"body": "{\\"password\\": \\"§\\"}"}', _PASSWORD),
    ("assign-json-multi-line", '{\n  "user": "ada",\n  "api_key":\n    "§"\n}', _HEX_TOKEN),
    ("assign-json-number", '{"user": "ada", "password": §}', _body("number", "123456789", 10)),
    ("assign-yaml", "database:\n  host: db\n  password: §\n  port: 5432\n", _PASSWORD),
    ("assign-yaml-quoted", 'api_token: "§"\nregion: eu\n', _OPAQUE),
    ("assign-toml", '[service]\nsecret = "§"\n', _OPAQUE),
    ("assign-ini", "[client]\nuser=app\npassword=§\n", _PASSWORD),
    ("assign-properties", "spring.datasource.password=§", _PASSWORD),
    ("assign-xml-attribute", '<add key="db" password="§" />', _PASSWORD),
    ("assign-xml-element", "<password>§</password>", _PASSWORD),
    ("assign-repr", "{'api_key': '§', 'timeout': 30}", _HEX_TOKEN),
    ("assign-repr-nested", "Config(db={'host': 'db', 'password': '§'}, debug=False)", _PASSWORD),
    ("assign-repr-bytes", "{'secret': b'§'}", _OPAQUE),
    ("assign-repr-dataclass", "Settings(host='db', db_password='§', port=5432)", _PASSWORD),
    (
        "assign-pydantic",
        "1 validation error for Login\npassword\n  input_value={'user': 'ada', 'password': '§'}, input_type=dict",
        _PASSWORD,
    ),
    ("assign-call", "TypeError: connect(host='db', passwd='§') got an unexpected keyword argument", _PASSWORD),
    ("assign-export", "export FOO_TOKEN=§", _OPAQUE),
    ("assign-export-quoted", 'export FOO_SECRET="§"', _OPAQUE),
    ("assign-powershell", "$env:API_TOKEN = '§'", _OPAQUE),
    ("assign-windows-set", "set API_TOKEN=§", _OPAQUE),
    ("assign-dockerfile", "ENV API_TOKEN §", _OPAQUE),
    ("assign-env-dump", "HOME=/root\nLANG=C.UTF-8\nJWT_SECRET=§\nPATH=/usr/bin\n", _OPAQUE),
    ("assign-env-repr", "environ({'HOME': '/root', 'STRIPE_API_KEY': '§', 'PATH': '/usr/bin'})", _OPAQUE),
    ("assign-encryption-key", "ENCRYPTION_KEY=§", _body("encryption", BASE64, 43) + "="),
    ("assign-signing-key", "signing_key: §", _HEX_TOKEN),
    ("assign-private-key-hex", "PRIVATE_KEY=0x§", _body("eth", HEX, 64)),
    ("assign-client-secret", "client_secret: §", _OPAQUE),
    ("assign-refresh-token", '"refresh_token":"§"', _OPAQUE),
    ("assign-csrf", "csrfmiddlewaretoken=§", _body("csrf", ALNUM, 64)),
    ("assign-tfvars", 'db_password = "§"', _PASSWORD),
    ("assign-non-ascii", "password='§'", "пароль" + "надёжный"),
    ("assign-htpasswd", "password_hash=$2b$12$§", _body("bcrypt", ALNUM + "./", 53)),
    # Command lines
    ("flag-password", "mysql -u root --password § shop", _PASSWORD),
    ("flag-password-equals", "mysqldump --password=§ shop", _PASSWORD),
    ("flag-token-equals", "Command 'deploy --token=§ --region eu' returned non-zero exit status 1.", _OPAQUE),
    ("flag-token", "deploy --token § --region eu", _OPAQUE),
    ("flag-api-key", "tool --api-key § run", _HEX_TOKEN),
    ("flag-list", "CalledProcessError: Command '['deploy', '--token', '§', 'prod']' died", _OPAQUE),
    ("flag-list-json", '["deploy", "--password", "§", "prod"]', _PASSWORD),
    ("flag-quoted", "tool --password '§' run", "two " + "words"),
    ("flag-header", "curl -sS -H 'Authorization: Bearer §' https://api.example.com", _OPAQUE),
    ("flag-header-double", 'curl -H "Authorization: token §" https://api.github.com', _HEX_TOKEN),
    ("flag-header-api-key", "curl --header 'X-API-Key: §' https://api.example.com", _HEX_TOKEN),
    ("flag-curl-user", "curl -u ada:§ https://api.example.com", _PASSWORD),
    ("flag-curl-user-long", "curl --user ada:§ https://api.example.com", _PASSWORD),
    ("flag-java-property", "java -Djavax.net.ssl.keyStorePassword=§ -jar app.jar", _PASSWORD),
    ("flag-docker-env", "docker run -e POSTGRES_PASSWORD=§ postgres:16", _PASSWORD),
    ("flag-helm-set", "helm upgrade app ./chart --set auth.password=§", _PASSWORD),
    # Random values under harmless names
    ("entropy-equals", "config.value=§", _RANDOM_48),
    ("entropy-json", '{"blob": "§"}', _RANDOM_48),
    ("entropy-yaml", "setting: §", _RANDOM_64),
    ("entropy-env", "export MY_SERVICE=§", _RANDOM_64),
    ("entropy-repr", "Client(handle='§')", _RANDOM_64),
    ("entropy-query", "https://example.com/cb?x=§", _RANDOM_64),
    ("entropy-padded", "license = §", _body("padded", BASE64, 62) + "=="),
    # Unusual but seen
    (
        "multi-line-header-dump",
        "> GET /v1 HTTP/1.1\n> Host: api.example.com\n> Authorization: Bearer §\n> Accept: */*\n",
        _OPAQUE,
    ),
    ("http-client-send", "send: b'GET / HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer §\\r\\n\\r\\n'", _OPAQUE),
    ("exception-group-line", "  | RuntimeError: upstream said 401 for api_key=§\n  +------", _HEX_TOKEN),
    ("traceback-local", "  locals: user = 'ada'\n  locals: password = '§'\n", _PASSWORD),
    ("logfmt", 'level=error msg="login failed" token=§ user=ada', _OPAQUE),
    ("graphql", 'mutation { login(user: "ada", password: "§") { id } }', _PASSWORD),
    ("totp-uri", "otpauth://totp/Acme:ada?secret=§&issuer=Acme", _body("totp", BASE32, 32)),
    ("wifi-qr", "WIFI:T:WPA;S:office;P:§;;", _PASSWORD),
    ("saml-response", "SAMLResponse=§&RelayState=x", _b64("<samlp:Response>" + _body("saml", ALNUM, 80))),
    ("kubeconfig-client-key", "users:\n- user:\n    client-key-data: §\n", _body("kube", BASE64, 200)),
    ("kubernetes-secret", "kind: Secret\ndata:\n  password: §\n", _b64(_PASSWORD)),
    ("two-on-one-line", "password=firstOne99 token=§", _OPAQUE),
]

# A part of the secret that a rule which stops too early would leave behind: (name of the canary, the part).
_PARTS: list[tuple[str, str]] = [
    ("url-with-at", _body("at-inside", ALNUM, 8)),
    ("url-with-two-at", _body("two-at", ALNUM, 8)),
    ("url-with-colon", _body("colon", ALNUM, 8)),
    ("url-with-hash", _body("hash", ALNUM, 8)),
    ("url-with-slash", _body("slash", ALNUM, 8)),
    ("url-with-question-mark", _body("question", ALNUM, 8)),
    ("url-percent-encoded", _body("percent", DIGITS, 3)),
    ("url-non-ascii", _body("umlaut", DIGITS, 4)),
    ("ado-password-quoted", _body("ado", ALNUM, 6)),
    ("odbc-pwd-braces", _body("odbc", ALNUM, 6)),
    ("libpq-quoted", _body("libpq", ALNUM, 5)),
    ("assign-two-words-single", "horse"),
    ("assign-two-words-double", "sesame"),
    ("assign-json-two-words", "please"),
    ("assign-json-escaped-quote", _body("escaped-quote", ALNUM, 8)),
    ("flag-quoted", "words"),
    ("two-on-one-line", "firstOne99"),
    ("cookie-connect", _body("connect-sid2", ALNUM, 43)),
    ("slack-webhook", _body("hook3", ALNUM, 24)),
    ("jwt-three-parts", _body("jwt3.sig", URLSAFE, 43)),
    ("jwt-three-parts", _jwt("jwt3", 2).split(".")[1]),
    ("jwt-two-parts", _jwt("jwt2", 2).split(".")[1]),
    ("aws-session-token-env", _AWS_SESSION[-60:]),
    ("azure-storage-connection", _STORAGE_KEY[-30:]),
    ("azure-sas", _body("sas2", ALNUM, 21)),
    ("sendgrid", _body("sg2", URLSAFE, 43)),
    ("discord-bot", _body("dc3", URLSAFE, 38)),
    ("openai-project", _body("oap2", URLSAFE, 74)),
    ("gitlab-personal-routable", _body("glpat3", LOWER_NUM, 9)),
    ("terraform-cloud", _body("tfe2", ALNUM, 67)),
    ("telegram-bot", _body("tg2", URLSAFE, 33)),
    ("sentry-org", _body("snt", BASE64, 43)),
    ("airtable", _body("at2", HEX, 64)),
    ("atlassian", _body("atatt2", HEX, 8).upper()),
]


_PRIVATE = "PRIVATE" + " KEY"
_DASHES = "-" * 5


def _block(seed: str, label: str, lines: int, *, width: int = 64, closed: bool = True, head: str = "") -> list[str]:
    """The lines of an armoured block: the opening line, headers if any, the body, the closing line."""
    body = [_body(f"{seed}.{i}", BASE64, width) for i in range(lines - 1)]
    body.append(_body(f"{seed}.last", BASE64, 30) + "==")
    opening = [f"{_DASHES}BEGIN {label}{_DASHES}", *([*head.split("\n"), ""] if head else [])]
    return [*opening, *body, *([f"{_DASHES}END {label}{_DASHES}"] if closed else [])]


_BLOCKS: list[tuple[str, str, list[str]]] = [
    ("pem-rsa", "ValueError: could not deserialize key data:\n§\nsee above", _block("rsa", f"RSA {_PRIVATE}", 25)),
    ("pem-ec", "unsupported curve in\n§", _block("ec", f"EC {_PRIVATE}", 4)),
    ("pem-dsa", "weak key\n§", _block("dsa", f"DSA {_PRIVATE}", 9)),
    (
        "pem-openssh",
        'Load key "/root/.ssh/id": error in libcrypto\n§',
        _block("ssh", f"OPENSSH {_PRIVATE}", 6, width=70),
    ),
    ("pem-pkcs8", "§", _block("pkcs8", _PRIVATE, 26)),
    ("pem-encrypted", "Bad decrypt. Incorrect password?\n§", _block("enc", f"ENCRYPTED {_PRIVATE}", 28)),
    (
        "pem-encrypted-legacy",
        "bad password read\n§\n",
        _block("legacy", f"RSA {_PRIVATE}", 25, head="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF00FF00FF00FF"),
    ),
    ("pem-unterminated", "log line was cut off: §", _block("cut", f"RSA {_PRIVATE}", 8, closed=False)),
    ("pem-unterminated-pkcs8", "§", _block("cut8", _PRIVATE, 5, closed=False)),
    (
        "pgp-private",
        "gpg: import failed\n§\n",
        _block("pgp", f"PGP {_PRIVATE} BLOCK", 20, head="Version: GnuPG v2\nComment: test"),
    ),
    (
        "pgp-private-unterminated",
        "gpg: §",
        _block("pgpcut", f"PGP {_PRIVATE} BLOCK", 6, closed=False, head="Version: GnuPG v2"),
    ),
    ("ssh2-private", "§", _block("ssh2", f"SSH2 ENCRYPTED {_PRIVATE}", 6)),
]


def _block_canaries() -> Iterator[Canary]:
    """Each block as it is, indented, and on one line with ``\\n`` written out; first, middle and last line as secrets."""
    for name, text, lines in _BLOCKS:
        body = [x for x in lines if x and not x.startswith(_DASHES) and ":" not in x]
        picks = {"first": body[0], "middle": body[len(body) // 2], "last": body[-1]}
        for where, secret in picks.items():
            yield Canary(f"{name}/{where}", text.replace(MARK, "\n".join(lines)), secret)
            yield Canary(f"{name}/crlf-{where}", text.replace(MARK, "\r\n".join(lines)), secret)
            yield Canary(f"{name}/indented-{where}", "key: |\n  " + "\n  ".join(lines), secret)
            yield Canary(f"{name}/escaped-{where}", '{"pem": "' + "\\n".join(lines) + '"}', secret)


def _service_account_canaries() -> Iterator[Canary]:
    lines = _block("gcp", _PRIVATE, 26)
    document = {
        "type": "service_account",
        "project_id": "acme-prod",
        "private_key_id": _body("gcp-key-id", HEX, 40),
        "private_key": "\n".join(lines) + "\n",
        "client_email": "svc@acme-prod.iam.gserviceaccount.com",
    }
    for where, secret in {"first": lines[1], "middle": lines[13], "last": lines[-2]}.items():
        yield Canary(f"google-service-account/{where}", json.dumps(document), secret)
        yield Canary(f"google-service-account/indented-{where}", json.dumps(document, indent=2), secret)
        yield Canary(f"google-service-account/repr-{where}", repr(document), secret)


def _all() -> Iterator[Canary]:
    texts: dict[str, str] = {}
    for canary in _shape_canaries():
        texts[canary.name] = canary.text
        yield canary
    for name, text, secret in _IN_CONTEXT:
        texts[name] = text.replace(MARK, secret)
        yield Canary(name, texts[name], secret)
    for i, (name, part) in enumerate(_PARTS):
        yield Canary(f"{name}/part-{i}", texts[name], part)
    yield from _block_canaries()
    yield from _service_account_canaries()


CANARIES: list[Canary] = list(_all())
"""Every secret, in its text."""

NAMED: list[tuple[str, str]] = [
    ("password", "correct horse"),
    ("Password", "Sommer"),
    ("PASSWORD", "winter"),
    ("passwd", "abc"),
    ("pwd", "x"),
    ("passphrase", "open sesame"),
    ("dbPassword", "hunter2"),
    ("DB_PASSWORD", "postgres"),
    ("db.password", "root"),
    ("database-password", "admin"),
    ("user_password", "qwerty"),
    ("new_password", "tiger"),
    ("oldPassword", "scott"),
    ("password_confirmation", "tiger"),
    ("current password", "lion"),
    ("PGPASSWORD", "pg"),
    ("MYSQL_ROOT_PASSWORD", "toor"),
    ("keyStorePassword", "changeit"),
    ("API-Key", "letmein"),
    ("api_key", "k1"),
    ("apiKey", "k2"),
    ("apikey", "k3"),
    ("APIKey", "k4"),
    ("x-api-key", "k5"),
    ("X-API-KEY", "k6"),
    ("OPENAI_API_KEY", "none of your business"),
    ("client_secret", "abc"),
    ("clientSecret", "def"),
    ("secret", "s"),
    ("secret_key", "django"),
    ("SECRET_KEY_BASE", "rails"),
    ("aws_secret_access_key", "aws"),
    ("webhook_secret", "hook"),
    ("jwtSecret", "jot"),
    ("private_key", "k"),
    ("privateKey", "kk"),
    ("private-key", "kkk"),
    ("signing_key", "pen"),
    ("encryption_key", "enigma"),
    ("access_token", "t0"),
    ("accessToken", "t1"),
    ("refresh_token", "t2"),
    ("id_token", "t3"),
    ("auth_token", "t4"),
    ("bearer_token", "t5"),
    ("session_token", "t6"),
    ("csrf_token", "t7"),
    ("csrfToken", "t8"),
    ("token", "t9"),
    ("GITHUB_TOKEN", "octocat"),
    ("X-Auth-Token", "t10"),
    ("authorization", "Basic x"),
    ("Authorization", "Bearer y"),
    ("HTTP_AUTHORIZATION", "Token z"),
    ("Proxy-Authorization", "Basic p"),
    ("cookie", "sid=1"),
    ("Set-Cookie", "sid=2; Path=/"),
    ("sessionid", "3"),
    ("credentials", "ada:lovelace"),
    ("AccountKey", "a"),
    ("SharedAccessKey", "b"),
]
"""(field name, value) pairs: the value has no shape at all, only the name says that it must be masked."""

NOT_SECRET_NAMES: list[tuple[str, str]] = [
    ("credential_kind", "service account"),
    ("credential_type", "oauth2"),
    ("token_count", "1532"),
    ("tokenCount", "88"),
    ("token_type", "Bearer"),
    ("tokenType", "bearer"),
    ("tokens_used", "4096"),
    ("max_tokens", "1024"),
    ("prompt_tokens", "17"),
    ("completion_tokens", "230"),
    ("total_tokens", "247"),
    ("next_token", "eyJvZmZzZXQiOjUwfQ=="),
    ("nextPageToken", "CAUQAA"),
    ("next_page_token", "page-3"),
    ("continuation_token", "offset:200"),
    ("tokenizer", "cl100k_base"),
    ("tokenization", "whitespace"),
    ("token_limit", "8192"),
    ("unexpected_token", "'}'"),
    ("token_endpoint", "https://login.example.com/oauth2/token"),
    ("token_expires_at", "2026-01-01T00:00:00Z"),
    ("password_policy", "at least 12 characters"),
    ("password_min_length", "12"),
    ("password_changed_at", "2025-03-01T12:00:00Z"),
    ("password_reset_url", "https://example.com/reset"),
    ("has_password", "true"),
    ("secret_name", "orders/db"),
    ("secretName", "orders-tls"),
    ("secret_arn", "arn:aws:secretsmanager:eu-north-1:123456789012:secret:orders/db"),
    ("secretary", "Grace Hopper"),
    ("key", "colour"),
    ("keys", "id, name"),
    ("key_id", "2024-10"),
    ("primary_key", "id"),
    ("foreign_key", "customer_id"),
    ("partition_key", "tenant#42"),
    ("sort_key", "created_at"),
    ("sortKey", "name"),
    ("cache_key", "orders:42"),
    ("object_key", "reports/2025/q1.csv"),
    ("routing_key", "orders.created"),
    ("idempotency_key", "order-42-attempt-1"),
    ("public_key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ada@host"),
    ("keyboard", "fi-qwerty"),
    ("keyword", "banana"),
    ("monkey", "capuchin"),
    ("turkey", "Ankara"),
    ("hotkey", "ctrl+k"),
    ("author", "Ursula K. Le Guin"),
    ("authority", "City of Oulu"),
    ("authors", "Knuth, Lamport"),
    ("auth_method", "oidc"),
    ("authenticated", "false"),
    ("authorization_endpoint", "https://login.example.com/authorize"),
    ("passenger", "Jean Doe"),
    ("passed", "12"),
    ("pass_rate", "98.4 %"),
    ("compass", "north"),
    ("bypass", "disabled"),
    ("cookie_policy", "strict"),
    ("cookie_consent", "granted"),
    ("cookies_enabled", "true"),
    ("session_timeout", "1800"),
    ("signature_algorithm", "RS256"),
]
"""(field name, value) pairs that only look alike: the value must stay."""
