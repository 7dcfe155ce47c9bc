"""What secrets look like: one row per shape.

Every repetition is bounded, or runs over characters that what follows cannot begin with, so that a search takes time
in proportion to the text. A row's group `keep` stays; without one the whole match goes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from failwell.model import pattern

_W = r"[A-Za-z0-9_-]"
# Not inside a word; but an escape in front of it ends in a letter or a digit without being one.
_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[ntrbf])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u[0-9a-fA-F]{4})|(?<=/bot))"

# Tokens that carry their vendor's mark.
MARKED: Final[dict[str, str]] = {
    "aws_access_key": r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "github": r"gh[pousr]_[A-Za-z0-9]{20,255}",
    "github_fine": r"github_pat_[A-Za-z0-9_]{20,255}",
    "gitlab": rf"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|sct)-{_W}{{16,255}}(?:\.{_W}{{2,64}}){{0,3}}",
    "slack": r"xox[abcdeoprs]-[A-Za-z0-9-]{8,255}",
    "slack_app": r"xapp-[0-9A-Za-z-]{10,255}",
    "slack_webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,255}",
    "discord_webhook": r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{10,25}/[\w-]{20,255}",
    "stripe": r"(?:sk|rk|ak)_(?:live|test|prod)_[A-Za-z0-9]{8,255}",
    "stripe_webhook": r"whsec_[A-Za-z0-9+/=]{16,255}",
    "sk_style": rf"sk-(?:ant-|proj-|svcacct-|admin-|or-v1-|None-|lf-)?(?=[A-Za-z_-]{{0,60}}[0-9]){_W}{{16,255}}",
    "sk_named": rf"sk-(?:ant|proj|svcacct|admin|or-v1)-{_W}{{16,255}}",
    "elevenlabs": r"sk_(?=[A-Za-z_]{0,40}[0-9])(?:[a-z]{2,8}_(?:live|test)_)?[A-Za-z0-9]{32,128}",
    "heroku": r"HRKU-[A-Za-z0-9_-]{30,100}",
    "circleci": r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{30,128}",
    "contentful": r"CFPAT-[A-Za-z0-9_-]{30,64}",
    "dynatrace": r"dt0[a-z][0-9]{2}\.[A-Z0-9]{20,30}\.[A-Z0-9]{40,80}",
    "hubspot": r"pat-(?:na|eu)[0-9]-[0-9a-f-]{30,40}",
    "prefect": r"pn[ub]_[A-Za-z0-9]{30,64}",
    "shippo": r"shippo_(?:live|test)_[a-f0-9]{30,64}",
    "sourcegraph": r"sgp_[A-Za-z0-9_]{30,100}",
    "resend": r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,40}",
    "neon": r"napi_[A-Za-z0-9]{40,80}",
    "bedrock": r"ABSK[A-Za-z0-9+/=]{60,200}",
    "nvidia": r"nvapi-[A-Za-z0-9_-]{40,100}",
    "apify": r"apify_api_[A-Za-z0-9]{30,64}",
    "duffel": r"duffel_(?:live|test)_[A-Za-z0-9_-]{30,64}",
    "flutterwave": r"FLWSECK(?:_TEST|_PROD)?-[A-Za-z0-9-]{16,80}",
    "atlas": r"mdb_sa_sk_[A-Za-z0-9_-]{30,64}",
    "plaid": r"access-(?:sandbox|development|production)-[0-9a-f-]{30,40}",
    "typeform": r"tfp_[A-Za-z0-9_-]{30,80}",
    "bip32": r"[xyz]prv[A-Za-z0-9]{100,112}",
    "google_api": r"AIza[0-9A-Za-z_-]{30,45}",
    "google_oauth": r"ya29\.[0-9A-Za-z_.-]{10,2000}",
    "google_client": r"GOCSPX-[0-9A-Za-z_-]{16,64}",
    "google_refresh": r"1//0[0-9A-Za-z_-]{20,512}",
    "azure_client": r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{28,40}",
    "hugging_face": r"(?:hf|api_org)_[A-Za-z0-9]{20,255}",
    "replicate": r"r8_[A-Za-z0-9]{20,255}",
    "npm": r"npm_[A-Za-z0-9]{20,255}",
    "pypi": r"pypi-[A-Za-z0-9_-]{16,1000}",
    "docker": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,255}",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{32,128}",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}",
    "mailgun": r"key-[0-9a-f]{32}(?![0-9a-f])",
    "mailgun_new": r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f])",
    "mailchimp": r"[0-9a-f]{32}-us[0-9]{1,3}(?![0-9])",
    "twilio": r"SK[0-9a-f]{32}(?![0-9a-f])",
    "telegram": r"[0-9]{8,11}:AA[A-Za-z0-9_-]{30,40}",
    "discord": r"[MNO](?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,45}",
    "databricks": r"dapi[0-9a-f]{32}(?:-[0-9])?",
    "vault": r"hv[sbr]\.[A-Za-z0-9_-]{16,255}",
    "vault_old": r"(?<![\w.])s\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9])",
    "terraform": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,100}",
    "linear": r"lin_(?:api|oauth)_[A-Za-z0-9]{20,128}",
    "notion": r"(?:secret_[A-Za-z0-9]{40,50}|ntn_[A-Za-z0-9]{30,64})",
    "shopify": r"shp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{20,64}",
    "square": r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,64}",
    "square_access": r"EAAA[A-Za-z0-9_-]{40,128}",
    "facebook": r"EAA[A-Za-z0-9]{60,400}",
    "planetscale": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{16,128}",
    "supabase": r"sb(?:p|_secret|_publishable)_[A-Za-z0-9_]{16,128}",
    "postman": r"PMAK-[A-Za-z0-9-]{20,128}",
    "new_relic": r"NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{16,64}",
    "sentry": r"sntry[su]_[A-Za-z0-9_=+/-]{20,512}",
    "grafana": r"(?:glsa|glc|glb)_[A-Za-z0-9+/=_-]{16,400}",
    "doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,128}",
    "airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{40,80}",
    "figma": r"fig[dou]_[A-Za-z0-9_-]{16,128}",
    "atlassian": r"AT(?:ATT|CTT|BB)3?[A-Za-z0-9_=+/-]{16,400}",
    "dropbox": r"sl\.(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{60,2000}",
    "groq": r"gsk_[A-Za-z0-9]{20,128}",
    "xai": r"xai-[A-Za-z0-9]{20,128}",
    "perplexity": r"pplx-[A-Za-z0-9]{20,128}",
    "langsmith": r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,128}",
    "pinecone": r"pcsk_[A-Za-z0-9_]{20,128}",
    "brevo": r"xkeysib-[a-f0-9]{32,80}-[A-Za-z0-9]{8,32}",
    "tailscale": r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,128}",
    "pulumi": r"pul-[a-f0-9]{32,64}",
    "rubygems": r"rubygems_[a-f0-9]{32,64}",
    "netlify": r"nf[pcu]_[A-Za-z0-9]{20,64}",
    "buildkite": r"bk[a-z]{2}_[a-f0-9]{32,64}",
    "artifactory": r"AKC[a-z][A-Za-z0-9]{40,128}",
    "teams_webhook": r"[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{20,400}",
    "outlook_webhook": r"outlook\.office(?:365)?\.com/webhook/[A-Za-z0-9@/-]{20,400}",
    "tavily": r"tvly-[A-Za-z0-9-]{16,64}",
    "fireworks": r"fw_[A-Za-z0-9]{22,64}",
    "cerebras": r"csk-[A-Za-z0-9]{20,128}",
    "mapbox": r"sk\.eyJ[A-Za-z0-9_.-]{20,400}",
    "age": r"AGE-SECRET-KEY-1[A-Z0-9]{20,100}",
    "onepassword": r"ops_eyJ[A-Za-z0-9_-]{20,2000}",
    "flyio": r"(?:fm[12]|fo1)_[A-Za-z0-9+/=_-]{20,2000}",
    "firebase": r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,200}",
    "sonar": r"sq[apu]_[0-9a-f]{40}",
    "openshift": r"sha256~[A-Za-z0-9_-]{40,46}",
    "octopus": r"API-(?=[A-Z]{0,24}[0-9])[A-Z0-9]{25,32}(?![A-Za-z0-9])",
    "launchdarkly": r"(?:sdk|mob|api)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "nuget": r"oy2[a-z0-9]{43}(?![A-Za-z0-9])",
    "crates": r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "clojars": r"CLOJARS_[0-9a-f]{60}",
    "easypost": r"EZ[AT]K[A-Za-z0-9]{54}",
    "posthog": r"phx_[A-Za-z0-9_]{30,64}",
    "render": r"rnd_(?=[A-Za-z]{0,30}[0-9])[A-Za-z0-9]{24,64}",
    "firecrawl": r"fc-[0-9a-f]{32}(?![0-9a-f])",
    "e2b": r"e2b_[0-9a-f]{40}",
    "browserbase": r"bb_(?:live|test)_[A-Za-z0-9_-]{20,64}",
    "mailersend": r"mlsn\.[0-9a-f]{64}",
    "aiven": r"AVNS_[A-Za-z0-9_-]{16,24}",
    "alibaba": r"LTAI(?=[A-Za-z]{0,20}[0-9])[A-Za-z0-9]{12,24}(?![A-Za-z0-9])",
    "adafruit": r"aio_(?=[A-Za-z]{0,26}[0-9])[A-Za-z0-9]{28}",
    "asana": r"[12]/[0-9]{13,20}(?:/[0-9]{13,20})?:[0-9a-f]{32}",
    "cloudflare_origin": r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
    "jfrog_reference": r"cmVmdGtuOjAx[A-Za-z0-9+/=_-]{30,80}",
    "readme": r"rdme_[a-z0-9]{60,80}",
    "vercel": r"vc[apirk]_(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{24,80}",
    "azure_key": r"[A-Za-z0-9]{52}(?:JQQJ9[0-9]|AAAA)[A-Za-z0-9]{6,22}A(?:COG|ZDO|AAA)[A-Za-z0-9]{4,6}",
    "polar": r"polar_(?:pat|oat)_[A-Za-z0-9]{30,80}",
    "deno": r"dd[pow]_[A-Za-z0-9]{36,50}",
    "infracost": r"ico-(?=[A-Za-z]{0,30}[0-9])[A-Za-z0-9]{32}",
    "settlemint": r"sm_(?:pat|sat|aat)_[A-Za-z0-9]{16,64}",
    "defined": r"dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}",
    "yandex": r"AQVN[A-Za-z0-9_-]{35,38}",
    "zapier_webhook": r"hooks\.zapier\.com/hooks/catch/[0-9]{4,12}/[A-Za-z0-9]{5,40}",
    "make_webhook": r"hook\.(?:[a-z0-9]{2,6}\.)?make\.com/[a-z0-9]{20,64}",
    "ifttt_webhook": r"maker\.ifttt\.com/(?:use|trigger/[\w-]{1,60}/(?:json/)?with/key)/[\w-]{20,80}",
    "jina": r"jina_[A-Za-z0-9_-]{40,80}",
    "voyage": r"pa-(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{40,60}",
    "honeycomb": r"hc(?:[abcx]?ik|xmk)_[a-z0-9]{40,70}",
    "google_auth": r"AQ\.Ab[A-Za-z0-9_-]{30,80}",
    "bitcoin": r"[5KL](?=[A-Za-z]{0,40}[0-9])[1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])",
    "nostr": r"nsec1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{50,60}",
    "cal": r"cal_(?:live|test)_[0-9a-f]{32}",
    "infisical": r"st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}",
    "fal": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9a-f]{32}(?![0-9a-f])",
    "snyk": r"snyk_(?:uat|sat)\.[A-Za-z0-9]{6,12}\.[A-Za-z0-9_-]{40,400}",
    "cloudflare": r"cf(?:ut|at|k)_(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9_-]{36,60}",
    "tencent": r"AKID(?=[A-Za-z]{0,30}[0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    "volcengine": r"AKLT(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{36,50}",
    "intercom": r"dG9rOj[A-Za-z0-9+/]{40,60}={0,2}",
    "statsig": r"secret-(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{40,60}",
    "product_key": r"(?=[A-Z-]{0,29}[0-9])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![A-Za-z0-9-])",
    "calendar": r"private-[0-9a-f]{32}/basic",
    "twitch_chat": r"oauth:[a-z0-9]{30}(?![A-Za-z0-9])",
    "twitch": r"live_[0-9]{6,12}_[A-Za-z0-9]{24,40}",
    "razorpay": r"rzp_(?:live|test)_[A-Za-z0-9]{14,24}",
    "lob": r"(?:live|test)_(?:pub_)?[0-9a-f]{31,35}(?![0-9a-f])",
    "mollie": r"(?:live|test)_(?=[A-Za-z]{0,28}[0-9])[A-Za-z0-9]{30}(?![A-Za-z0-9])",
    "onepassword_key": r"A3-[A-Z0-9]{6}(?:-?[A-Z0-9]{5,11}){4,5}(?![A-Za-z0-9])",
    "adobe": r"p8e-(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{32}",
    "clickhouse": r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])",
    "authress": r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}"
    r"\.[A-Za-z0-9+/_=-]{30,120}",
    "frameio": r"fio-u-[A-Za-z0-9=_-]{50,80}",
    "harness": r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}",
    "intra42": r"s-s4t2(?:ud|af)-[0-9a-f]{60,70}",
    "maxmind": r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
    "scalingo": r"tk-us-[A-Za-z0-9_-]{40,60}",
    "yandex_cloud": r"(?:YC[A-Za-z0-9_-]{38}|t1\.[A-Za-z0-9_-]{20,400}={0,2}\.[A-Za-z0-9_-]{86}={0,2})",
    "gitlab_runner": r"GR1348941[A-Za-z0-9_-]{20}",
    "grafana_old": r"eyJrIjoi[A-Za-z0-9+/=_-]{40,400}",
    "runpod": r"rpa_[A-Z0-9]{40,60}",
    "inngest": r"signkey-(?:prod|test|branch)-[0-9a-f]{32,80}",
    "axiom": r"xa[ap]t-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "logfire": r"pylf_v[0-9]_[a-z]{2}_[A-Za-z0-9]{30,60}",
    "together": r"tgp_v1_[A-Za-z0-9_-]{30,60}",
    "trigger": r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{16,60}",
    "paddle": r"pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,80}",
    "mercury": r"secret-token:[A-Za-z0-9_.~%-]{16,400}",
    "onesignal": r"os_v2_(?:app|org)_[a-z0-9]{40,140}",
    "nylas": r"nyk_v[0-9]_[A-Za-z0-9]{40,80}",
    "twitter": r"A{19,22}[A-Za-z0-9%]{60,120}",
    "linkedin": r"WPL_AP[0-9]\.[A-Za-z0-9+/=._-]{16,100}",
    "pinterest": r"pin[ar]_[A-Z0-9]{40,120}",
    "matrix": r"syt_[A-Za-z0-9+/=]{2,80}_[A-Za-z]{20}_[A-Za-z0-9]{6}",
    "ghost": r"[0-9a-f]{24}:[0-9a-f]{64}(?![0-9a-f])",
    "ably": r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{40,44}(?![A-Za-z0-9])",
    "backblaze": r"K00[0-9][A-Za-z0-9/+]{27}(?![A-Za-z0-9])",
    "tigris": r"tsec_[A-Za-z0-9_-]{40,100}",
    "exoscale": r"EXO[0-9a-f]{24}(?![0-9a-f])",
    "upcloud": r"ucat_[A-Z0-9]{20,40}",
    "wakatime": r"waka_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "unkey": r"unkey_[A-Za-z0-9]{16,60}",
    "liveblocks": r"sk_(?:dev|prod)_[A-Za-z0-9_-]{30,100}",
    "cursor": r"crsr_[0-9a-f]{40,80}",
    "alchemy": r"alcht_[A-Za-z0-9]{24,40}",
    "ngrok": r"(?:ak_|ngrok_)?2[A-Za-z0-9]{26}_[A-Za-z0-9]{20,24}(?![A-Za-z0-9])",
    "fernet": r"gAAAAAB[A-Za-z0-9_-]{60,4000}",
    # The beginnings of private keys in base64.
    "key_base64": r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZB|BFTkNSWVBURUQg"
    r"|BEU0EgUFJJ|BQR1AgUFJJ)"
    r"[A-Za-z0-9+/=]{20,20000}",
    "openssh_base64": r"b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=]{40,20000}",
    "docker_config": r"eyJhdXRocyI6[A-Za-z0-9+/=]{20,8000}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,4000}\.(?:[A-Za-z0-9_-]{5,8000}|\.[A-Za-z0-9_-]{8,2000})(?:\."
    r"[A-Za-z0-9_-]{0,8000}){0,3}",
}

# A long value with every sort of character in it, set to any name at all.
ENTROPIC: Final = pattern(
    r"(?P<keep>(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_.-]{0,60}[\"']?\s{0,2}[=:]\s{0,2}[\"']?)"
    r"(?P<value>[A-Za-z0-9+/_-]{32,200}={0,2})(?![A-Za-z0-9+/_=-]|(?<==)\[redacted)"
    r"(?:%(?:2[BFbf]|3[Dd])[A-Za-z0-9+/_-]{0,200}){0,20}"
)


# Marks that nothing else has, so that not even a letter in front of them makes them part of a word.
_UNMISTAKABLE: Final = frozenset(
    "github github_fine gitlab slack stripe sk_named npm google_api sendgrid digitalocean shopify pypi".split()
)


@cache
def marked() -> re.Pattern[str]:
    """All tokens that carry their vendor's mark."""
    plain = "|".join(MARKED[name] for name in sorted(_UNMISTAKABLE))
    others = "|".join(row for name, row in MARKED.items() if name not in _UNMISTAKABLE)
    return re.compile(f"{plain}|{_LEFT}(?:{others})")


# How the marks of a row begin: all that stands before the first long repetition.
_BODY: Final = pattern(r"(?:\(\?[=!][^()]*\))?(?:\[[^\]]*\]|\\w)\{(?:[5-9]|[1-9][0-9])")
# Much in base64 begins like a JWT; only a header of one begins with these names.
_HEADS: Final = {
    "jwt": r"eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki|4NXQ|qa3Ui|6aXAi|(?=[\w-]{8,400}\.[\w-]))",
    "notion": "ntn_",
    "bip32": "[xyz]prv",
}
# Rows that begin like many a word does.
_NO_HEAD: Final = frozenset(
    "lob mollie onepassword_key clickhouse maxmind harness yandex_cloud twitter ghost ably backblaze exoscale ngrok "
    "trigger authress matrix adobe scalingo "
    "airtable crates nuget mailgun launchdarkly firebase cloudflare_origin octopus resend firecrawl fireworks pulumi "
    "render infracost adafruit facebook square_access artifactory bitcoin fal voyage infisical cal statsig "
    "google_auth product_key calendar".split()
)


def head(name: str) -> str:
    """The mark that the tokens of a row begin with, or nothing if it is too short to tell them by."""
    if name in _NO_HEAD:
        return ""
    mark = _HEADS.get(name) or _BODY.split(MARKED[name], maxsplit=1)[0]
    return mark if len(re.sub(r"\(\?<?[=!][^()]*\)|\[[^\]]*\]|\{[^}]*\}|[\\()?:]", "", mark)) >= 3 else ""


@cache
def cut() -> re.Pattern[str]:
    """The tokens whose middle was left out to shorten them; whether they look drawn is left to ask."""
    heads = "|".join(filter(None, map(head, MARKED)))
    return re.compile(
        rf"{_LEFT}(?:{heads})(?:[A-Za-z0-9_~+/=-]|\.(?!\.\.)){{6,400}}+(?:\.{{3}}|…)"
        r"(?:[A-Za-z0-9_~+/=.%-]{0,400}[A-Za-z0-9_~+/=-])?"
    )


LONG_RUN: Final = pattern(r"[A-Za-z0-9_~.+/=:@…-]{16,}")
# What a random value consists of.
LONG_VALUE: Final = pattern(r"[A-Za-z0-9+/_-]{32}")
