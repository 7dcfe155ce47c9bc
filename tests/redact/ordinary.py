"""Ordinary error sentences and data in which redaction must not touch a single character.

The first half is written by hand, the second half is generated in volume from a fixed seed: identifiers, digests and
images look random without being secret. The groups are kept apart only to be read more easily; use ``ORDINARY``.
"""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Iterator

__all__ = ["GENERATED", "HAND_WRITTEN", "ORDINARY"]

PROSE_ABOUT_SECRETS: list[str] = [
    "Your password must be at least 12 characters.",
    "The token has expired, log in again.",
    "API key is missing",
    "invalid bearer token",
    "basic authentication is required",
    "Cookie header is too large",
    "password: required",
    "secret not found",
    "token: must be a string",
    "password: String should have at least 8 characters",
    "password - This field may not be blank.",
    "api_key: field required",
    "client_secret is required for confidential clients",
    "The password and its confirmation do not match.",
    "Wrong user name or password.",
    "Passwords are case-sensitive; check that Caps Lock is off.",
    "The password reset link was already used.",
    "Set a new password to continue.",
    "Access token is missing the scope orders:write",
    "Refresh token reuse detected, all sessions were ended.",
    "Bearer token is malformed",
    "Bearer authentication failed: the signature does not match",
    "Basic auth is disabled for this tenant",
    "Digest authentication is not supported",
    "No Authorization header was sent.",
    "Authorization header must start with Bearer",
    "Authorization: the header is missing",
    "Missing cookie: session",
    "The session cookie expired 3 minutes ago.",
    "Cookies must be enabled in your browser.",
    "CSRF token missing or incorrect.",
    "The CSRF token from the 'X-Csrftoken' HTTP header has incorrect length.",
    "Secret 'orders/db' has no version in stage AWSCURRENT",
    'secrets "orders-tls" not found',
    "Secrets Manager can't find the specified secret.",
    "The secret key must be kept outside the repository.",
    "Private key file /etc/ssl/private/server.key is readable by others",
    "The private key does not match the certificate.",
    "Failed to load private key: file not found",
    "Public key algorithm ed25519 is not allowed here",
    "A key with the name 'deploy' already exists",
    "API key 'deploy' was revoked on 2025-11-03",
    "API keys can be created in the settings page.",
    "Invalid API key",
    "invalid_api_key",
    "Incorrect API key provided",
    "The API key has no access to this project.",
    "Too many tokens: the prompt has 131072 tokens, the limit is 128000",
    "max_tokens must be between 1 and 4096",
    "SyntaxError: Unexpected token < in JSON at position 0",
    "Unexpected token '}' at line 4, column 12",
    "yaml: line 3: found character that cannot start any token",
    "jwt expired",
    "jwt malformed",
    "jwt.exceptions.ExpiredSignatureError: Signature has expired",
    "JWT is missing the claim 'aud'",
    "Token type must be one of: access, refresh, id",
    "token_type=bearer expires_in=3600",
    "grant_type=client_credentials is not allowed for this client",
    "invalid_grant: authorization code was already redeemed",
    "invalid_client: client authentication failed",
    "unsupported_token_type",
    "Credentials are required but none were given.",
    "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
    "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.",
    "The security token included in the request is invalid",
    "The request signature we calculated does not match the signature you provided.",
    "SignatureDoesNotMatch",
    "FATAL: password authentication failed for user 'app'",
    'FATAL: no pg_hba.conf entry for host "10.0.3.7", user "app", database "orders"',
    "ERROR 1045 (28000): Access denied for user 'app'@'10.0.0.9' (using password: YES)",
    "Access denied for user 'app'@'localhost' (using password: NO)",
    "NOAUTH Authentication required.",
    "WRONGPASS invalid username-password pair or user is disabled.",
    "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN",
    "Permission denied (publickey,password).",
    "Host key verification failed.",
    "gpg: decryption failed: No secret key",
    "gpg: no default secret key: No secret key",
    "Enter passphrase for key '/home/ada/.ssh/id_ed25519':",
    "Bad passphrase, try again for /home/ada/.ssh/id_rsa:",
    "sudo: a password is required",
    "sudo: 3 incorrect password attempts",
    "fatal: could not read Password for 'https://git.example.com': terminal prompts disabled",
    "remote: Support for password authentication was removed on August 13, 2021.",
    "One-time code is wrong or too old.",
    "Your PIN was blocked after three wrong attempts.",
    "The passport number is not valid.",
    "The passenger list is locked by another author.",
    "Password policy: minimum length 12, one digit, one symbol",
    "Password strength: weak",
    "Two passwords were tried, both failed.",
    "Secret santa list could not be loaded",
    "The tokenizer has no entry for this word.",
    "KeyError: 'password'",
    "KeyError: 'api_key'",
    "AttributeError: 'NoneType' object has no attribute 'token'",
    "TypeError: login() missing 1 required positional argument: 'password'",
    "TypeError: Client.__init__() got an unexpected keyword argument 'api_key'",
    "openai.OpenAIError: The api_key client option must be set by setting the OPENAI_API_KEY environment variable",
    "Environment variable GITHUB_TOKEN is not set",
    "Neither PGPASSWORD nor PGPASSFILE is set.",
    "error: the following arguments are required: --token, --password",
    "usage: deploy [-h] [--token TOKEN] [--password PASSWORD] target",
    "Use --password-stdin instead of --password.",
    "Option --token needs a value",
    "Send the header X-Api-Key with every request.",
    "Expected header: Authorization: Bearer <token>",
    'WWW-Authenticate: Bearer realm="api", error="invalid_token", error_description="The access token expired"',
    'WWW-Authenticate: Basic realm="Restricted area"',
    '{"password": ["This field is required."]}',
    '{"error": "invalid_token", "error_description": "The access token is invalid"}',
    '{"loc": ["body", "password"], "msg": "Field required", "type": "missing"}',
    '{"field": "password", "code": "too_short", "min_length": 12}',
    '{"token_type": "Bearer", "expires_in": 3599, "scope": "read write"}',
    '{"usage": {"prompt_tokens": 12, "completion_tokens": 80, "total_tokens": 92}}',
    '{"password": null}',
    "{'password': None, 'token': None}",
    "password=None",
]

CODE_AND_TRACES: list[str] = [
    'Traceback (most recent call last):\n  File "/app/main.py", line 10, in <module>\n    main()\n',
    '  File "/usr/lib/python3.11/site-packages/httpx/_client.py", line 1027, in _send_single_request',
    '  File "C:\\Users\\ada\\project\\app.py", line 3, in handler',
    "    at com.example.orders.OrderService.findById(OrderService.java:118)",
    "    at Object.<anonymous> (/srv/app/node_modules/express/lib/router/layer.js:95:5)",
    "    at async PasswordResetController.resetPassword (/srv/app/src/controllers/passwordReset.ts:41:7)",
    "goroutine 1 [running]:\nmain.main()\n\t/tmp/sandbox/prog.go:8 +0x1d",
    "thread 'main' panicked at 'index out of bounds: the len is 3 but the index is 7', src/main.rs:4:5",
    "    def login(username: str, password: str) -> Session:",
    "    token: str | None = None",
    "    if not password:\n        raise ValueError('password must not be empty')",
    '    raise AuthError("token must not be empty")',
    "    return check_password(user, password)",
    "    verify_token(request.headers)",
    "ModuleNotFoundError: No module named 'tokenizers'",
    "ImportError: cannot import name 'SecretStr' from 'pydantic'",
    "NameError: name 'access_token' is not defined",
    "passwordEncoderFactoryBean",
    "org.springframework.security.authentication.UsernamePasswordAuthenticationToken",
    "AbstractAuthenticationTargetUrlRequestHandler",
    "getAccessTokenSilentlyWithRefreshFallback is not a function",
    "isPasswordResetRequiredForCurrentUser",
    "validateIdempotencyKeyAndPersistOrderTransactionally",
    "HTTP_422_UNPROCESSABLE_ENTITY",
    "ERR_CERT_AUTHORITY_INVALID",
    "ERR_TOO_MANY_REDIRECTS",
    "ECONNREFUSED 127.0.0.1:5432",
    "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>",
    "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
    "<bound method OrderService.find_by_id of <orders.OrderService object at 0x7f3c9a1b2d50>>",
    "Segmentation fault at address 0x00007ffee3b4a9c8",
    "0xdeadbeef",
    "assert response.status_code == 200, response.text",
    "E       AssertionError: assert 'abc' == 'abd'",
    "npm ERR! code ERESOLVE",
    "SELECT id, email, password FROM users WHERE id = $1",
    "SELECT * FROM tokens WHERE token = ? AND revoked_at IS NULL",
    "UPDATE users SET password = %(password)s WHERE id = %(id)s",
    "INSERT INTO api_keys (name, key_hash, created_at) VALUES ($1, $2, now())",
    'psycopg.errors.UniqueViolation: duplicate key value violates unique constraint "users_email_key"',
    "DETAIL:  Key (email)=(ada@example.com) already exists.",
    'ERROR:  column "passwd" does not exist at character 8',
    'ERROR:  relation "refresh_tokens" does not exist',
    "ALTER TABLE users ADD COLUMN password_changed_at timestamptz",
    "CREATE UNIQUE INDEX api_keys_name_key ON api_keys (name)",
    "SELECT count(*) FROM orders WHERE created_at >= '2025-01-01' AND status IN ('open', 'paid')",
    "FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE",
    "Deadlock found when trying to get lock; try restarting transaction",
]

PATHS_AND_URLS: list[str] = [
    "/etc/passwd",
    "/etc/shadow: Permission denied",
    "/run/secrets/db_password: no such file or directory",
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "/home/ada/.ssh/authorized_keys",
    "/home/ada/.aws/credentials is missing the profile 'prod'",
    "~/.config/gcloud/application_default_credentials.json",
    "C:\\Program Files\\Example\\bin\\tokenizer.dll",
    "\\\\fileserver\\share\\reports\\2025\\Q3\\summary.xlsx",
    "src/components/forms/PasswordStrengthIndicator/PasswordStrengthIndicator.stories.tsx",
    "/usr/local/lib/python3.11/site-packages/cryptography/hazmat/primitives/asymmetric/ed25519.py",
    "s3://acme-data-lake/raw/orders/year=2025/month=03/day=01/part-00017.snappy.parquet",
    "gs://acme-exports/2025/03/01/customers.csv.gz",
    "uploads/2025/03/01/IMG_20250301_121314_HDR.jpg",
    "https://example.com/docs/authentication#api-keys",
    "https://docs.example.com/errors/invalid-token",
    "https://example.com/search?q=password+reset&lang=en&page=2",
    "https://example.com/orders?status=open&sort=-created_at&limit=50",
    "https://example.com/list?page_token=page-3&page_size=100",
    "https://example.com/a?utm_source=newsletter&utm_medium=email&utm_campaign=spring_2025",
    "https://example.com/map?lat=65.0121&lng=25.4651&zoom=12",
    "https://example.com/oauth/authorize?response_type=code&scope=openid+profile",
    "https://example.com/items?key=colour&value=blue",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s",
    "https://en.wikipedia.org/wiki/Key_derivation_function",
    "https://host.example.com:8443/path?email=ada@example.com",
    "http://localhost:8080/users/@me",
    "https://medium.example.com:443/@ada/how-we-rotate-tokens",
    "https://cdn.jsdelivr.net/npm/@scope/package@1.2.3/dist/index.min.js",
    "https://packages.example.com/@types%2fnode",
    "git@github.com:acme/orders.git",
    "ssh://git@github.com/acme/orders.git",
    "postgresql://db.internal:5432/orders?sslmode=require",
    "postgresql://app@db.internal:5432/orders",
    "redis://cache:6379/0",
    "mongodb://h1:27017,h2:27017/?replicaSet=rs0",
    "amqp://rabbit:5672/%2F",
    "jdbc:postgresql://db:5432/orders?ssl=true&currentSchema=public",
    "Server=tcp:db,1433;Database=shop;Encrypt=True;Connection Timeout=30;",
    "host=db port=5432 dbname=orders user=app sslmode=verify-full",
    "mailto:support@example.com?subject=Lost%20password",
    "urn:isbn:9780131103627",
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "file:///srv/app/config/settings.toml",
    "data:,Hello%2C%20World%21",
    "data:text/plain;charset=utf-8,key%20not%20found",
]

IDS_AND_VALUES: list[str] = [
    "inv_123",
    "proj_xyz",
    "usr_01HZX3K9V7Q2W8R5T6Y4N1M0PB was not found",
    "No such customer: 'cus_NffrFeUfNV2Hib'",
    "No such payment_intent: 'pi_3MtwBwLkdIwHu7ix28a3tqPa'",
    "Charge ch_3MmlLrLkdIwHu7ix0snN0B15 has already been refunded.",
    "evt_1NG8Du2eZvKYlo2CUI79vXWy was delivered twice",
    "sub_1MowQVLkdIwHu7ixeRlqHVzs is past due",
    "price_1MoBy5LkdIwHu7ixZhnattbh",
    "Error executing request: req_8f3kLmQz2Xw9",
    "x-request-id: 4f9d1c2e-7b6a-4e0f-9a3d-5c8b2e1f0a67",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7",
    "orders-api-7d9c5b8f6d-x2x4z: CrashLoopBackOff",
    "pod/checkout-worker-6c7f8d9b54-qk8rt evicted",
    "ip-10-0-3-7.eu-north-1.compute.internal",
    "arn:aws:iam::123456789012:role/orders-api-task",
    "arn:aws:lambda:eu-north-1:123456789012:function:reset-password:42",
    "arn:aws:secretsmanager:eu-north-1:123456789012:secret:orders/db-AbCdEf",
    "arn:aws:kms:eu-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "User: arn:aws:sts::123456789012:assumed-role/ci/build-42 is not authorized to perform: s3:GetObject",
    "i-0abcd1234efgh5678 is not running",
    "vol-049df61146c4d7901",
    "subnet-0bb1c79de3EXAMPLE",
    "ami-0c55b159cbfafe1f0 does not exist",
    "sg-903004f8",
    "projects/acme-prod/locations/europe-north1/keyRings/main/cryptoKeys/orders",
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-1/providers/Microsoft.KeyVault/vaults/kv1",
    "ghcr.io/acme/orders-api:v2.14.3-rc.1+build.77",
    "python==3.11.7",
    "pydantic-core 2.23.4 requires typing-extensions!=4.7.0,>=4.6.0",
    "1.0.0-alpha.beta+exp.sha.5114f85",
    "v0.0.0-20210921155107-089bfa567519",
    "node v22.11.0 (npm 10.9.0)",
    "Linux 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC x86_64",
    "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0",
    "2025-03-01T12:34:56.789012+02:00",
    "2025-W09-6",
    "P3Y6M4DT12H30M5S",
    "Sat, 01 Mar 2025 12:34:56 GMT",
    "1740832496",
    "ada@example.com",
    "first.last+tag@sub.example.co.uk is not a member",
    "192.168.0.1",
    "10.0.0.0/8",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "fe80::1ff:fe23:4567:890a%eth2",
    "[::1]:8080",
    "00:1B:44:11:3A:B7",
    "00-1b-44-11-3a-b7",
    "001b.4411.3ab7",
    "+358 40 123 4567",
    "+1 (555) 010-9999",
    "0800-123456",
    "ISBN 978-3-16-148410-0",
    "ISBN-10: 0-306-40615-2",
    "ISSN 2049-3630",
    "doi:10.1000/182",
    "#ff8800 #00ccff #123456 #abcdef #0f0f0f #c0ffee #bada55 #deface",
    "colors: 1f77b4, ff7f0e, 2ca02c, d62728, 9467bd, 8c564b, e377c2, 7f7f7f, bcbd22, 17becf",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "HEAD is now at 5114f85 Rotate the signing keys",
    "index 83db48f..bf2a1c0 100644",
    'etag: W/"33a64df551425fcc55e4d42a148795d9f25f89d4"',
    'ETag: "d41d8cd98f00b204e9800998ecf8427e"',
    "md5: d41d8cd98f00b204e9800998ecf8427e",
    "checksum: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "ghcr.io/acme/orders@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "SHA256:uNiVztksCsDhcc0u9e8BrQXVUpqRyHlmAbsB9PcU2aY",
    "crc32=0x1c291ca3",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}",
    "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "507f1f77bcf86cd799439011",
    "ObjectId('507f1f77bcf86cd799439011')",
    "V1StGXR8_Z5jdHi6B-myT",
    "1srOrx2ZWZBpBUvZwXKQmoEYga2",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "ckopqwooh000001la8mbi2im9",
    "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
    "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
    "Transaction 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 was dropped",
    "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudckg9sq4ct4qk",
    "2,3,7,8-tetrachlorodibenzo-p-dioxin",
    "N-(4-hydroxyphenyl)acetamide",
    "(2R,3S,4R,5R)-2,3,4,5,6-pentahydroxyhexanal",
    "methionylthreonylthreonylglutaminylarginyltyrosylglutamylserine",
    "InChI=1S/C9H8O4/c1-6(10)13-8-5-3-2-4-7(8)9(11)12/h2-5H,1H3,(H,11,12)",
    "CC(=O)OC1=CC=CC=C1C(=O)O",
    "ATGGCCATTGTAATGGGCCGCTGAAAGGGTGCCCGATAGATGGCCATTGTAATGGGCCGC",
    "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVV",
    "60.1699° N, 24.9384° E",
    "[1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987]",
    "3.14159265358979323846264338327950288419716939937510",
    "100000000000000000000000000000000000000000000000000001",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "Kraftfahrzeughaftpflichtversicherungsnummer fehlt",
    "lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas",
    "epäjärjestelmällistyttämättömyydellänsäkäänköhän",
    "Supercalifragilisticexpialidocious",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
    "The quick brown fox jumps over the lazy dog.",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "----------------------------------------------------------------",
    "========================= short test summary =========================",
    "",
    " ",
    "\n",
    "🔑",
    "🔐 Locked",
]

VALIDATION_AND_STATE: list[str] = [
    "Input should be 'open', 'paid', 'shipped' or 'cancelled'",
    "status must be one of: draft, pending_review, approved, rejected",
    "auth_method must be one of: password, token, oauth2, saml",
    "credential_kind must be one of [api_key, password, certificate]",
    "1 validation error for Order\nquantity\n  Input should be greater than 0",
    "body -> items -> 0 -> price: value is not a valid decimal",
    "Expected a value of type str, got int",
    "'email' is not a valid e-mail address",
    "name: may not be longer than 80 characters",
    "date: 2025-02-30 is not a day",
    "Additional properties are not allowed ('pasword' was unexpected)",
    "Did you mean 'password' instead of 'pasword'?",
    "Unknown field 'secret_sauce'; known fields: name, price, recipe",
    "The order has already been shipped and cannot be changed.",
    "The invoice inv_123 is locked by another user until 14:05.",
    "Quota exceeded: 1000 of 1000 requests used, resets in 42 seconds",
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29800, Requested 450.",
    "Connection timed out after 30000 ms",
    "Name or service not known",
    "certificate verify failed: unable to get local issuer certificate (_ssl.c:1006)",
    "No space left on device",
    "The file is 12.4 MB, at most 10 MB are allowed.",
    "Content-Type: application/json; charset=utf-8",
    "Cache-Control: no-cache, no-store, must-revalidate",
    "Content-Security-Policy: default-src 'self'; img-src *; script-src 'self'",
    "HTTP/1.1 401 Unauthorized",
    "HTTP/1.1 407 Proxy Authentication Required",
    "Retry-After: 120",
    '{"id": "inv_123", "amount": 4200, "currency": "EUR", "paid": false}',
    '{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "No such order"}',
    '{"key": "colour", "value": "blue"}',
    '{"primary_key": "id", "sort_key": "created_at"}',
    '{"author": "Ursula K. Le Guin", "title": "The Dispossessed", "year": 1974}',
    '{"next_token": "page-3", "items": []}',
    '{"keyboard": "fi", "monkey": "capuchin", "passenger": 4}',
    "key=value; other=thing",
    'level=info msg="user logged in" user=ada method=password',
    "foo: bar\nbaz:\n  - one\n  - two\n",
    "name=orders-api replicas=3 ready=2 image=orders:2.14.3",
    "LANG=C.UTF-8 HOME=/root SHELL=/bin/bash TERM=xterm-256color",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "git push --force-with-lease origin main",
    "docker run --rm -it -p 8080:80 nginx:1.27",
    "kubectl create secret generic orders-tls",
    "curl -sS https://api.example.com/v1/orders",
    "ssh-keygen -t ed25519 -C ada@example.com",
    "openssl rand -base64 32",
    "vault kv get secret/orders",
    "retry 3/5 in 1.5s",
    "Elapsed: 00:01:02.345",
]

LANGUAGES: list[str] = [
    # German
    "Das Passwort muss mindestens 12 Zeichen lang sein.",
    "Passwort: erforderlich",
    "Der Schlüssel wurde nicht gefunden.",
    "Das Token ist abgelaufen, bitte melden Sie sich erneut an.",
    "Benutzername oder Kennwort ist falsch.",
    "Der geheime Schlüssel darf nicht im Repository liegen.",
    # French
    "Le mot de passe doit contenir au moins 12 caractères.",
    "Mot de passe : obligatoire",
    "Le jeton a expiré, reconnectez-vous.",
    "La clé d'API est manquante.",
    "Clé privée introuvable dans le répertoire indiqué.",
    # Spanish
    "La contraseña debe tener al menos 12 caracteres.",
    "Contraseña: obligatoria",
    "El token ha caducado, vuelva a iniciar sesión.",
    "Falta la clave de API.",
    "La clave primaria ya existe en la tabla.",
    # Portuguese
    "A senha deve ter pelo menos 12 caracteres.",
    "O token expirou, entre novamente.",
    "A chave de API não foi informada.",
    "Palavra-passe: obrigatória",
    # Italian
    "La password deve contenere almeno 12 caratteri.",
    "Il token è scaduto, effettua di nuovo l'accesso.",
    "Chiave API mancante",
    # Finnish
    "Salasanan on oltava vähintään 12 merkkiä pitkä.",
    "Salasana: pakollinen",
    "Avain puuttuu tai se on vanhentunut.",
    "Tunniste on vanhentunut, kirjaudu uudelleen.",
    # Swedish, Dutch, Polish, Czech
    "Lösenordet måste innehålla minst 12 tecken.",
    "Het wachtwoord moet minstens 12 tekens lang zijn.",
    "Hasło musi mieć co najmniej 12 znaków.",
    "Heslo musí mít alespoň 12 znaků.",
    "Klucz API jest nieprawidłowy.",
    # Russian, Ukrainian
    "Пароль должен содержать не менее 12 символов.",
    "Пароль: обязательное поле",
    "Срок действия токена истёк, войдите снова.",
    "Ключ API не указан.",
    "Секрет не найден.",
    "Пароль має містити щонайменше 12 символів.",
    # Arabic
    "يجب أن تتكون كلمة المرور من 12 حرفًا على الأقل.",
    "كلمة المرور: مطلوبة",
    "انتهت صلاحية الرمز المميز، سجّل الدخول مرة أخرى.",
    "مفتاح واجهة برمجة التطبيقات مفقود.",
    # Hebrew
    "הסיסמה חייבת להכיל לפחות 12 תווים.",
    "סיסמה: שדה חובה",
    "תוקף האסימון פג, יש להתחבר שוב.",
    "המפתח לא נמצא.",
    # Hindi, Bengali
    "पासवर्ड कम से कम 12 अक्षरों का होना चाहिए।",
    "पासवर्ड: आवश्यक",
    "टोकन की अवधि समाप्त हो गई है, फिर से लॉग इन करें।",
    "एपीआई कुंजी नहीं मिली।",
    "পাসওয়ার্ড কমপক্ষে ১২ অক্ষরের হতে হবে।",
    # Chinese
    "密码长度至少为12个字符。",
    "密码：必填",
    "令牌已过期，请重新登录。",
    "缺少API密钥。",
    "找不到私钥文件。",
    "密碼錯誤，請再試一次。",
    # Japanese
    "パスワードは12文字以上で入力してください。",
    "パスワード：必須",
    "トークンの有効期限が切れました。もう一度ログインしてください。",
    "APIキーが見つかりません。",
    "秘密鍵を読み込めませんでした。",
    # Korean
    "비밀번호는 12자 이상이어야 합니다.",
    "비밀번호: 필수",
    "토큰이 만료되었습니다. 다시 로그인하세요.",
    "API 키가 없습니다.",
    # Turkish
    "Parola en az 12 karakter olmalıdır.",
    "Şifre: zorunlu",
    "Belirtecin süresi doldu, yeniden oturum açın.",
    "API anahtarı eksik.",
    # Greek
    "Ο κωδικός πρόσβασης πρέπει να έχει τουλάχιστον 12 χαρακτήρες.",
    "Κωδικός πρόσβασης: υποχρεωτικό",
    "Το διακριτικό έληξε, συνδεθείτε ξανά.",
    "Λείπει το κλειδί API.",
    # Thai, Vietnamese, Indonesian, Swahili
    "รหัสผ่านต้องมีความยาวอย่างน้อย 12 ตัวอักษร",
    "Mật khẩu phải có ít nhất 12 ký tự.",
    "Kata sandi harus terdiri dari minimal 12 karakter.",
    "Nenosiri lazima liwe na angalau herufi 12.",
]

HAND_WRITTEN: list[str] = [
    *PROSE_ABOUT_SECRETS,
    *CODE_AND_TRACES,
    *PATHS_AND_URLS,
    *IDS_AND_VALUES,
    *VALIDATION_AND_STATE,
    *LANGUAGES,
]
"""The strings written by hand, all distinct."""


_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_NANOID = string.ascii_letters + string.digits + "_-"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_POD = "bcdfghjklmnpqrstvwxz2456789"
_DASHES = "-" * 5


def _pick(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def _hex(rng: random.Random, length: int) -> str:
    return _pick(rng, "0123456789abcdef", length)


def _uuid(rng: random.Random, version: int) -> str:
    value = rng.getrandbits(128)
    value = value & ~(0xF << 76) | version << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def _ulid(rng: random.Random) -> str:
    return "01" + rng.choice("HJK") + _pick(rng, _CROCKFORD, 23)


def _ksuid(rng: random.Random) -> str:
    return "2" + _pick(rng, _BASE62, 26)


def _nanoid(rng: random.Random) -> str:
    return rng.choice(_BASE62) + _pick(rng, _NANOID, 19) + rng.choice(_BASE62)


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _image(rng: random.Random, kind: str, size: int) -> str:
    """Base64 of bytes that begin as a picture of that kind begins."""
    heads = {
        "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x06\x00\x00\x00\x1f\xf3\xffa",
        "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00C\x00",
        "gif": b"GIF89a\x10\x00\x10\x00\xf0\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04",
        "webp": b"RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a",
    }
    return _b64(heads[kind] + rng.randbytes(size))


def _identifiers(rng: random.Random) -> Iterator[str]:
    for version in (1, 2, 3, 4, 5, 6, 7, 8):
        yield _uuid(rng, version)
        yield f"Order {_uuid(rng, version)} was not found."
        yield f'{{"id": "{_uuid(rng, version)}", "status": "open"}}'
        yield f"request_id={_uuid(rng, version)}"
        yield f"/v1/orders/{_uuid(rng, version).upper()}/items"
        yield _uuid(rng, version).replace("-", "")
    for _ in range(8):
        yield _ulid(rng)
        yield f"usr_{_ulid(rng)} is not a member of org_{_ulid(rng)}"
        yield _ksuid(rng)
        yield f"event {_ksuid(rng)} was already processed"
        yield _nanoid(rng)
        yield f'{{"id": "{_nanoid(rng)}"}}'
        yield f"No such customer: 'cus_{_pick(rng, _BASE62, 14)}'"
        yield f"PaymentIntent pi_3{_pick(rng, _BASE62, 23)} requires action"
        yield f"ch_3{_pick(rng, _BASE62, 23)}"
        yield f"orders-api-{_pick(rng, _POD, 10)}-{_pick(rng, _POD, 5)}"
        yield f"i-0{_hex(rng, 16)} is in state stopping"
        yield f"arn:aws:ecs:eu-north-1:{_pick(rng, '123456789', 12)}:task/main/{_hex(rng, 32)}"
        yield f"exports/{_uuid(rng, 4)}/part-{rng.randrange(10**5):05d}-{_uuid(rng, 4)}-c000.snappy.parquet"
        yield f"ObjectId('{_hex(rng, 24)}')"
        yield f"traceparent: 00-{_hex(rng, 32)}-{_hex(rng, 16)}-01"
        yield f"SM{_hex(rng, 32)} could not be delivered"
    yield ", ".join(_ulid(rng) for _ in range(12))
    yield ", ".join(_uuid(rng, 4) for _ in range(12))
    yield "\n".join(_ksuid(rng) for _ in range(12))
    yield str([_nanoid(rng) for _ in range(12)])


def _digests(rng: random.Random) -> Iterator[str]:
    for _ in range(6):
        raw = rng.randbytes(64)
        sha1 = hashlib.sha1(raw).hexdigest()
        sha256 = hashlib.sha256(raw).hexdigest()
        sha512 = hashlib.sha512(raw)
        md5 = hashlib.md5(raw).hexdigest()
        yield sha1
        yield sha256
        yield md5
        yield f"commit {sha1}"
        yield f"fatal: bad object {sha1}"
        yield f"Merge {sha1[:7]} {sha1[7:14]} into main"
        yield f"sha256: {sha256}"
        yield f"sha256={sha256}"
        yield f'{{"sha256": "{sha256}", "size": {rng.randrange(10**6)}}}'
        yield f"etag: {md5}"
        yield f'ETag: "{md5}-3"'
        yield f"checksum: {sha256}"
        yield f"checksum mismatch: expected {sha256}, got {sha256[::-1]}"
        yield f"md5sum {md5}  archive.tar.gz"
        yield f"sha512: {sha512.hexdigest()}"
        yield f"ghcr.io/acme/orders@sha256:{sha256}"
        yield f"docker.io/library/python:3.11-slim@sha256:{sha256}"
        yield f"integrity: sha512-{_b64(sha512.digest())}"
        yield f"--hash=sha256:{sha256}"
        yield f"https://github.com/acme/orders/commit/{sha1}"
        yield f"https://github.com/acme/orders/compare/{sha1[:12]}...{sha1[12:24]}"
        yield f"Content-MD5: {_b64(bytes.fromhex(md5))}"


def _images(rng: random.Random) -> Iterator[str]:
    for kind in ("png", "jpeg", "gif", "webp"):
        for size in (24, 90, 300, 1500):
            yield f"data:image/{kind};base64,{_image(rng, kind, size)}"
            yield _image(rng, kind, size)
        yield f'<img src="data:image/{kind};base64,{_image(rng, kind, 120)}" alt="logo">'
        yield f'{{"thumbnail": "data:image/{kind};base64,{_image(rng, kind, 200)}"}}'
        yield f'{{"thumbnail": "{_image(rng, kind, 200)}"}}'
        yield f"background: url(data:image/{kind};base64,{_image(rng, kind, 60)})"
        yield f"cannot identify image file starting with {_image(rng, kind, 15)}"


def _public_keys(rng: random.Random) -> Iterator[str]:
    def block(label: str, head: str, lines: int) -> str:
        first = head + _b64(rng.randbytes(48))[len(head) :]
        body = [first, *(_b64(rng.randbytes(48)) for _ in range(lines - 1)), _b64(rng.randbytes(22))]
        return "\n".join([f"{_DASHES}BEGIN {label}{_DASHES}", *body, f"{_DASHES}END {label}{_DASHES}"])

    for i in range(3):
        ed25519 = _b64(b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + rng.randbytes(32))
        rsa = _b64(b"\x00\x00\x00\x07ssh-rsa\x00\x00\x00\x03\x01\x00\x01\x00\x00\x01\x81\x00" + rng.randbytes(384))
        ecdsa = _b64(
            b"\x00\x00\x00\x13ecdsa-sha2-nistp256\x00\x00\x00\x08nistp256\x00\x00\x00\x41\x04" + rng.randbytes(64)
        )
        yield f"ssh-ed25519 {ed25519} ada@host{i}"
        yield f"ssh-rsa {rsa} ada@host{i}"
        yield f"ecdsa-sha2-nistp256 {ecdsa} ada@host{i}"
        yield f"host{i}.example.com ssh-ed25519 {ed25519}"
        yield block("PUBLIC KEY", "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A", 6)
        yield block("RSA PUBLIC KEY", "MIIBCgKCAQEA", 5)
        yield block("CERTIFICATE", "MIID", 18)
        yield block("CERTIFICATE REQUEST", "MIIC", 12)
        yield block("PGP PUBLIC KEY BLOCK", "mQGN", 10)
        yield "1" + _pick(rng, _BASE58, 33)
        yield "bc1q" + _pick(rng, "qpzry9x8gf2tvdw0s3jn54khce6mua7l", 38)
        yield "0x" + _hex(rng, 40)
        yield f"Transaction 0x{_hex(rng, 64)} was replaced"
        yield f"SHA256:{_b64(rng.randbytes(32)).rstrip('=')} ada@host{i} (ED25519)"


def _numbers_and_addresses(rng: random.Random) -> Iterator[str]:
    nouns = ["order", "invoice", "shipment", "document", "job", "report", "account", "device"]
    for noun in nouns:
        ipv4 = ".".join(str(rng.randrange(256)) for _ in range(4))
        ipv6 = ":".join(_hex(rng, 4) for _ in range(8))
        mac = ":".join(_hex(rng, 2) for _ in range(6))
        date = f"20{rng.randrange(10, 30)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
        version = f"{rng.randrange(20)}.{rng.randrange(40)}.{rng.randrange(90)}"
        yield f"The {noun} {rng.randrange(10**6)} does not exist."
        yield f"{noun}_id={rng.randrange(10**9)} version={version} date={date}"
        yield f"{noun} could not be saved: connection to {ipv4}:{rng.randrange(1024, 65536)} refused"
        yield f"no route from {ipv6} to {ipv4}"
        yield f"device {mac.upper()} left the network at {date}T{rng.randrange(24):02d}:00:00Z"
        yield f"{noun}-service=={version}.post{rng.randrange(9)} conflicts with {noun}-client<{version}"
        yield f"https://api.example.com/v2/{noun}s/{rng.randrange(10**6)}?expand=lines&from={date}&limit=100"
        yield f"+358 40 {rng.randrange(10**7):07d} is not the phone number of this {noun}"
        yield f"ISBN 978-{rng.randrange(10)}-{rng.randrange(10**5):05d}-{rng.randrange(10**3):03d}-{rng.randrange(10)}"
        yield f"{noun}.{rng.choice(['ada', 'grace', 'linus'])}+{rng.randrange(99)}@mail.example.com bounced"
        yield " ".join("#" + _hex(rng, 6) for _ in range(24))
        yield f'  File "/srv/app/{noun}s/views.py", line {rng.randrange(1, 999)}, in get_{noun}_by_primary_key'


def _generated() -> Iterator[str]:
    for part in (_identifiers, _digests, _images, _public_keys, _numbers_and_addresses):
        yield from part(random.Random(f"ordinary:{part.__name__}"))


GENERATED: list[str] = list(_generated())
"""The strings drawn from a fixed seed."""

ORDINARY: list[str] = [*HAND_WRITTEN, *GENERATED]
"""Every string that must come out of redaction as it went in."""
