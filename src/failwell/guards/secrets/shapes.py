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
    "discord_webhook": r"discord(?:app)?\.com/api/webhooks/[0-9]{10,25}/[\w-]{20,255}",
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
    # The beginnings of private keys in base64.
    "key_base64": r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFUR|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZB|BFTkNSWVBURUQg"
    r"|BEU0EgUFJJ|BQR1AgUFJJ)"
    r"[A-Za-z0-9+/=]{20,20000}",
    "openssh_base64": r"b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=]{40,20000}",
    "docker_config": r"eyJhdXRocyI6[A-Za-z0-9+/=]{20,8000}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,4000}\.(?:[A-Za-z0-9_-]{5,8000}|\.[A-Za-z0-9_-]{8,2000})(?:\."
    r"[A-Za-z0-9_-]{0,8000}){0,3}",
}

_SCHEME_LEFT: Final = r"(?:(?<![A-Za-z0-9+.-])|(?<=%[0-9A-F][0-9A-F])|(?<=%25[0-9A-F][0-9A-F]))"
# Places where a secret stands whatever it looks like. The group `keep` is what stays in front of it.
PLACED: Final[dict[str, str]] = {
    "private_key": r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]|-(?!----END )){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?",
    "url_password": rf"(?P<keep>{_SCHEME_LEFT}"
    r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}:(?:\\?/){2}[^\s/:@\"'<>]{0,200}:)"
    r"(?![0-9]{1,5}(?:[/?#\s]|$))(?:(?!://)[^\s\"<>]){1,20000}(?=@)",
    # The same inside a query, with all or some of its marks escaped, once or twice.
    "url_encoded": rf"(?P<keep>{_SCHEME_LEFT}"
    r"(?![a-zA-Z0-9+.-]{2,31}://[^\s/:@\"'<>&%]{0,200}:)"
    r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2}(?!\[|%(?:25)?5B)"
    r"(?:(?!%(?:25)?(?:3A|2F|40))[^\s/:@\"'<>&]){0,200}(?::|%(?:25)?3A))"
    r"(?![0-9]{1,5}(?:[/?#&\s\"']|%(?:25)?(?:2F|3F|23|26)|$))"
    r"(?:(?!(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2})[^\s\"'<>&@]){1,20000}(?=@|%(?:25)?40)",
    "dsn": r"(?P<keep>(?<![\w:/])[\w.-]{1,60}:)[^\s:@/\"'<>]{1,200}(?=@(?:tcp|unix)\()",
    "client_flag": r"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|sshpass)\b"
    r"(?:[ ]-{1,2}[A-Za-z][^\s-]{0,40}){0,6}[ ]-p[ ]?)[^\s-]\S{0,200}",
    "login_flag": r"(?P<keep>\b(?:(?:docker|podman|buildah|skopeo|nerdctl|helm|crane|oc|az|cf)\b"
    r"[^\r\n|;]{0,60}?\slogin\b"
    r"[^\r\n|;]{0,200}?\s-p|(?:twine|mongo(?:sh|dump|restore|import|export)?)\b[^\r\n|;]{0,200}?\s-p"
    r"|redis-cli\b[^\r\n|;]{0,200}?\s(?:-a|--pass)|ldap[a-z]{2,8}\b[^\r\n|;]{0,200}?\s-w"
    r"|gh\s{1,3}secret\s{1,3}set\b[^\r\n|;]{0,200}?\s(?:-b|--body)"
    # Here the flag is the port's, so a number stays.
    r"|snowsql\b[^\r\n|;]{0,200}?\s-p(?![ =]{1,3}[0-9]{1,5}(?:\s|$))"
    r"|(?:sqlcmd|bcp)\b[^\r\n|;]{0,200}?\s(?-i:-P))[ =]{1,3}[\"']?)[^\s\"'-][^\s\"']{0,200}",
    "login_pair": r"(?P<keep>\b(?:sqlplus|sqlldr|expdp|impdp)\s{1,3}(?:-\w{1,10}\s{1,3}){0,3}[^\s/@\"'-]{1,60}/)"
    r"[^\s@\"']{1,4000}"
    r"(?=[@\s\"']|$)",
    # The password stands behind the user or behind the share.
    "net_use": r"(?P<keep>\bnet\s{1,3}use\s[^\r\n|;]{0,200}?(?:\s/u(?:ser)?:\S{1,100}\s{1,3}"
    r"|\\{2,4}[^\s\\]{1,100}\\{1,2}\S{1,100}\s{1,3}(?=\S{1,200}\s{1,3}/u)))"
    r"(?!(?:fail(?:s|ed)|returned|exited|gave|with|and|on|is|was|in|at|error)\b)[^\s\"'/*][^\s\"']{0,200}",
    "samba": r"(?P<keep>(?<![\w-])-U[ =]?[\"']?[A-Za-z][\w.\\-]{0,60}%)[^\s\"']{1,200}",
    "piped": r"(?P<keep>\b(?:echo|printf)\s{1,3}(?:-n\s{1,3})?[\"']?)[^\s\"'|]{1,4000}"
    r"(?=[\"']?\s{0,3}\|[^\r\n]{0,200}(?:-stdin|--with-token|sudo\s{1,3}-S))",
    "registry": r"(?P<keep>:_(?:auth|authToken|password)\s{1,3})[^\s\"']{6,400}",
    "rabbit": r"(?P<keep>\brabbitmqctl\b[^\r\n|;]{0,60}\s(?:add_user|change_password"
    r"|authenticate_user)\s{1,3}\S{1,60}\s{1,3})"
    r"[^\s\"']{1,200}",
    "workflow": r"(?P<keep>::add-mask::|::(?:set-output|save-state) name=[\w-]{0,40}(?:token|secret|password|key)"
    r"[\w-]{0,20}::)"
    r"[^\s\"']{1,4000}",
    "environment": r"(?P<keep>(?:^|[\r\n])[ \t]{0,8}(?-i:[A-Z][A-Z0-9_]{0,60})(?<=PASSWORD|..PASSWD|..SECRET|...TOKEN"
    r"|...._KEY|....PASS)"
    r"(?:[ ]{2,60}|\t{1,4}))(?=\S{0,100}[0-9])[^\s|]{6,20000}(?=[ \t]{0,40}(?:[\r\n]|$))",
    "construct": r"(?P<keep>(?:__construct|(?:real_|mysqli_)?connect|ldap_bind|simple_bind_s?|login)\("
    r"(?:(?:'[^'\r\n]{0,200}'|\"[^\"\r\n]{0,200}\"|[^\s'\",()]{1,60}), ?){1,2}(?P<mark>[\"']))(?P<drawn>"
    r"[^\"'\r\n]{1,200})(?=[\"']\))",
    "pgpass": r"(?P<keep>(?<![\w.:/*-])(?=[\w.-]{0,60}[A-Za-z*])[\w.*-]{1,100}:(?:[0-9]{2,5}|\*):[\w.*-]{1,60}:"
    r"[\w.*-]{1,60}:)"
    r"(?P<drawn>[^\s:\"']{6,4000})(?=[\s\"']|$)",
    "cisco": r"(?P<keep>\b(?:password|secret|key)\s[045789]\s)(?:[0-9A-F]{6,200}(?![\w-])|\$\S{6,200})",
    "redis_auth": r"(?P<keep>[\"']AUTH[\"']\s{1,3}(?:[\"'][^\"'\r\n]{1,60}[\"']\s{1,3})?[\"'])[^\"'\r\n]{1,400}",
    "mail_auth": r"(?P<keep>(?-i:\bAUTH (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5) ))[A-Za-z0-9+/]{12,4000}={0,2}",
    "mail_login": r"(?P<keep>(?-i:\b[A-Z]{1,6}[0-9]{1,6} LOGIN )\S{1,100} )(?P<drawn>[^\s]{1,200})",
    "pass_command": r"(?P<keep>(?-i:(?:^|[\r\n'\">])[ ]{0,2}PASS ))(?P<drawn>[^\s'\"]{1,4000})(?=['\"]|\\r|\s{0,3}(?:"
    r"[\r\n]|$))",
    "told": r"(?P<keep>\b(?:password|passphrase|passcode|passwort|kennwort)\s(?:(?:is|was|to|set to|is set to):?\s)?"
    r"[\"'“]?)"
    r"(?P<drawn>[^\s\"'”]{5,4000}[^\s\"'”.,;:!?)])",
    # Only a word with a digit or a symbol inside: any other may be a word about it.
    "told_password": r"(?P<keep>\b(?:(?:temporary|initial|default|generated|one-time|new)\s(?:password|passcode|pin)\s"
    r"(?:is|:)\s|(?:password|passphrase|passcode|passwort|kennwort)(?:\s(?:is|was|ist):?\s"
    r"|\sfor\s(?:(?:key|user)\s)?(?:'[^'\r\n]{1,200}'|\"[^\"\r\n]{1,200}\"|[^\s:\"']{1,100}):[ ]{1,3}))[\"'“]?)"
    r"(?=[^\s\"'”]{0,60}(?:[0-9]|\w[@#$%^&!+~][\w@#$%^&!+~]))"
    r"(?![0-9+-]{1,7}\s[a-z]|[0-9]{1,3}-(?:char|digit|letter|bit|byte|day|month|year)|[<>=({$*]|[a-z_]{2,40}[<>=(]"
    r"|base64|(?:sha|utf|pbkdf|argon|md|ipv|rfc)[ _-]?[0-9])"
    r"[^\s\"'”]{3,4000}[^\s\"'”.,;:!?)]",
    "told_login": r"(?P<keep>\b(?:invalid|incorrect|bad|wrong|failed|rejected)\s(?:login|credentials)(?::|\sfor:?)\s"
    r"[\"'(]?[\w.@+\\-]{1,100}(?:\s?/\s?|:))(?P<drawn>[^\s\"')/\\][^\s\"')]{5,200})",
    "told_key": r"(?P<keep>(?:(?:api|access|secret|auth|license|subscription)[ _-]?key|token)[\"']?\s"
    r"(?:(?:is|was)\s)?"
    r"(?:(?:not\s)?(?:valid|invalid|rejected|expired|revoked|refused|unknown|wrong))?[:=]?\s{0,2}[\"'(]?)"
    r"(?P<drawn>[0-9A-Za-z_-]{16,4000})",
    "told_code": r"(?P<keep>\b(?:verification|security|login|sign-?in|one[- ]time|sms|auth(?:entication)?|access"
    r"|confirmation|2fa|mfa|otp)"
    r"\s(?:pass)?code\s{0,2}(?:is|:)\s{1,2})[0-9]{4,8}\b",
    "your_code": r"\b(?:[A-Z]-)?[0-9]{4,8}(?=\sis\syour\s[\w ]{0,40}\b(?:code|otp|pin|passcode)\b)",
    "phrase": r"(?P<keep>\b(?:mnemonic|seed phrase|recovery phrase|seed)[\"']?\s{0,3}(?:is|[:=])\s{0,3}[\"']?)(?:"
    r"[a-z]{3,8}\s){11,23}[a-z]{3,8}",
    "foreign": r"(?P<keep>(?:contraseña|lösenord|hasło|пароль|密码|密碼|パスワード|비밀번호|şifre)"
    r"[\"']?\s{0,3}[:=：]\s{0,3}[\"']?)(?=[^\s\"']{0,60}[0-9])(?=[^\s\"']{0,60}[A-Za-z])[^\s\"',]{5,200}",
    "putty": r"(?P<keep>Private-(?:Lines|MAC|Hash)[^\r\n]{0,20})(?:\s{1,2}[A-Za-z0-9+/=]{16,80}){1,200}",
    "crypt": r"\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2(?:i|d|id))\$[A-Za-z0-9./=,$+]{20,200}"
    r"|\bpbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$[A-Za-z0-9+/=$]{20,200}|\bSCRAM-SHA-[0-9]{1,3}\$[0-9]{1,9}:"
    r"[A-Za-z0-9+/=$:]{20,300}"
    r"|\b(?:scrypt|pbkdf2):[\w:]{1,40}\$[A-Za-z0-9]{1,64}\$[0-9a-f]{32,256}"
    r"|\{(?:SSHA|SHA|SMD5|MD5|CRYPT|PBKDF2)[\w-]{0,12}\}[A-Za-z0-9+/=$.]{16,300}",
    "okta": r"(?P<keep>\bSSWS\s{1,3})[A-Za-z0-9_-]{16,100}",
    "url_token": r"(?P<keep>(?<![A-Za-z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)[A-Za-z0-9_-]{24,400}(?=[:@])",
    "oracle": r"(?P<keep>jdbc:oracle:[a-z0-9]{2,8}:[^/\s@]{1,100}/)[^\s@]{1,4000}(?=@)",
    "header": r"(?P<keep>(?<![A-Za-z0-9])(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}+(?P<quote>[\"'])?+"
    r"(?:(?:bearer|basic|digest|token|negotiate|ntlm|apikey|aws4-hmac-sha256|key)\s{1,3}+)?+)"
    r"(?!(?:the|a|an|no|not|header|is|was|must|required|missing|failed|error|denied|invalid|expected)\b|[<{$\[*])"
    r"(?(quote)[^\r\n\"']{1,4000}|(?:[^\r\n\"']|\"[^\"\r\n]{0,400}\"|'[^'\r\n]{0,400}'){1,4000})",
    "cookie": r"(?P<keep>(?<![A-Za-z0-9])(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
    r"(?!(?:samesite|path|domain|expires|max-age|secure|httponly)\b)(?=[^\s=;\"']{1,100}=)[^\r\n\"']{1,4000}",
    "scheme": r"(?P<keep>(?<![A-Za-z0-9])(?:bearer|basic)\s{1,3})"
    r"(?=[A-Za-z0-9._~+/-]{0,60}[0-9=+/]|dXN|YWR|cm9|YXBp|Z3V)[A-Za-z0-9._~+/-]{8,4000}={0,2}(?![A-Za-z0-9=])",
    "scheme_token": r"(?P<keep>(?<![A-Za-z0-9])bearer\stoken\s[\"']?)(?P<drawn>[A-Za-z0-9._~+/-]{6,4000}={0,2})",
    "azure_account": r"(?P<keep>\bfs\.azure\.account\.key(?:\.[\w-]{1,60}){0,8}[\"']?\s{0,3}[=:,\s]\s{0,3}[\"']?)"
    r"[A-Za-z0-9+/]{16,200}={0,2}",
    "user_flag": r"(?P<keep>(?<![\w-])(?:-u|--user|--proxy-user|--cert)[ =][\"']?[^\s:\"'<]{1,100}:)"
    r"(?!\$[A-Z_{(]|[<{]|[0-9]{1,6}(?:[\s\"']|$))[^\s\"']{1,400}",
    "netrc": r"(?P<keep>\b(?:login|user)\s{1,3}\S{1,100}\s{1,3}password\s{1,3})\S{1,400}",
    "sql": r"(?P<keep>\b(?:(?:password|identified(?:\s{1,3}with\s{1,3}\S{1,60})?\s{1,3}by)\s{1,3}|(?-i:PASSWORD)\()"
    r"[\"'])[^\"'\r\n]{1,400}",
    "encoded": r"(?P<keep>(?:token|secret|password|passwd|pwd|key|signature|sig)(?:%22)?(?:%3D|%3A)(?:%22)?)"
    r"(?:[^&\s\"'%<>]|%(?!0[AD]|2[026C]|3[BCE]|5D|7[CD])[0-9A-F]{2}){1,4000}",
    "wifi": r"(?P<keep>\bWIFI:[^\r\n]{0,200};P:)[^;\r\n]{1,100}",
}

# A name that is set to something, as in code, JSON, YAML, headers and queries. Whether it stands for a secret is asked
# of `names`; the value is read from where the match ends. A control character inside the name does not part it.
_SET: Final = r"(?::=|={1,3}|->|::(?=\s)|:)[>›]?\s{0,20}(?:[|>][-+]?\s{1,20})?"
NAMED: Final = pattern(
    r"(?P<lead>[?&])?(?<![A-Za-z0-9_.%\ufffd])(?P<name>[A-Za-z0-9_][A-Za-z0-9_.%\ufffd-]{1,1000})"
    rf"(?P<op>\\{{0,7}}(?:[\"'\]]{{0,3}}|&quot;|\\?u002[27])\s{{0,20}}{_SET})"
)
# The same on a command line, in a list of arguments, and in a Dockerfile.
FLAG: Final = pattern(
    r"(?P<lead>)(?:(?<![\w-])--?|(?<!\w)(?:ENV|ARG|SETX?|setx?)[ ]{1,3})(?P<name>[A-Za-z][\w-]{1,60})"
    r"(?P<op>[ ]{1,3}|[\"'],\s{0,3})(?!\s|-(?![\w-]{15}))"
)
ELEMENT: Final = pattern(r"(?P<lead>)<(?P<name>[A-Za-z][\w.:-]{1,60})(?:\s[^<>]{0,200})?(?P<op>>)(?=[^<>]{1,4000}</)")
# A name and its value side by side, as in `define('DB_PASSWORD', '…')` and in lists of headers.
PAIR: Final = pattern(r"(?P<lead>)(?<=[\"'])(?P<name>[A-Za-z][\w.-]{1,80})(?P<op>[\"'],\s{0,3})(?=[bru]?[\"'])")
# A name given as the value of another: `{"name": "password", "value": "…"}`.
TITLED: Final = pattern(
    r"(?P<lead>)\b(?:name|key|field|header)[\"']?\s{0,3}[:=]\s{0,3}[\"'](?P<name>[A-Za-z][\w.:-]{1,100})"
    r"(?P<op>[\"'][^\"'{}<>\r\n]{0,60}[\"']?value[\"']?\s{0,3}[:=]\s{0,3})(?=[bru]?[\"'])",
    re.IGNORECASE,
)
# How validators tell about a value: the path on one line and the value in the next, or in two members of an object.
REPORTED: Final = pattern(
    r"(?P<lead>)(?:^|(?<=\n))(?:[\w-]{1,60}\.){0,8}(?P<name>[\w-]{1,60})\r?"
    r"(?P<op>\n[ ]{2,8}[^\r\n]{1,400}?\binput_value=)(?=[\"'])"
)
LOCATED: Final = pattern(
    r"(?P<lead>)[\"']loc[\"']\s{0,2}:\s{0,2}[\[(][^\]()\r\n]{0,200}?[\"'](?P<name>[\w.-]{1,60})[\"'](?:,\s{0,2}"
    r"[0-9]{1,6})?[\])]"
    r"(?P<op>[^{}\r\n]{0,400}?[\"']input[\"']\s{0,2}:\s{0,2})(?=[\"'])"
)
# Each with what a text must hold for it, in lower case.
ASSIGNED: Final = (
    (ELEMENT, "</"),
    (NAMED, ""),
    (FLAG, ""),
    (PAIR, ","),
    (TITLED, "value"),
    (REPORTED, "input_value="),
    (LOCATED, "input"),
)

# Words that follow "password:" in a sentence about passwords rather than in one that gives one away.
PROSE: Final = pattern(
    r"(?:(?:is|was|are|were|must|should|may|can|cannot|could|has|have|had|not|no|the|a|an|of|for|in|on|at|to|and|or"
    r"|too|"
    r"required|missing|invalid|expired|incorrect|wrong|empty|unknown|null|none|nil|undefined|true|false|string|str|int|"
    r"integer|number|object|array|boolean|optional|field|value|length|type|expected|please|use|enter|your|this|that|it|"
    r"bearer|basic|digest|token|password|secret|key|header|format|malformed|rejected|denied|failed|revoked|does|did|"
    r"never|already|used|shorter|longer|minimum|maximum|unset|blank|redacted|hidden|masked|input|"
    r"authentication|refresh|access|auth|yes|no|needs|takes|requires|option|flag|argument|with|from|by|if|when|"
    r"obbligatori[oa]|obligatori[oa]|requerid[oa]|obligatoire|requise?|erforderlich|pflichtfeld|vereist|krävs"
    r"|pakollinen|"
    r"wymagane|zorunlu|campo|ungültig|ongeldig|ogiltigt)(?![\w-])"
    r"|\[redacted|[*•x.]{3,80}(?!\w)|<|\$[{(A-Z]|\$\d{1,2}(?![\w$])|=|\{\{|%[s(]|\?(?!\w)|[:@]\w{1,30}$)",
    re.IGNORECASE,
)

# A long value with every sort of character in it, set to any name at all.
ENTROPIC: Final = pattern(
    r"(?P<keep>(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_.-]{0,60}[\"']?\s{0,2}[=:]\s{0,2}[\"']?)"
    r"(?P<value>[A-Za-z0-9+/_-]{32,200}={0,2})(?![A-Za-z0-9+/_=-]|(?<==)\[redacted)"
    r"(?:%(?:2[BFbf]|3[Dd])[A-Za-z0-9+/_-]{0,200}){0,20}"
)


_KEYS_OF: Final = ("api", "access", "secret", "auth", "license", "subscription")
# A row is tried only where one of its words stands, in lower case: asking for a word is far cheaper than a pattern.
WORDS_OF: Final[dict[str, tuple[str, ...]]] = {
    "private_key": ("private key",),
    "url_password": ("://", ":\\/\\/"),
    "url_encoded": ("%3a", "%2f", "%40", "%253a", "%252f", "%2540"),
    "url_token": ("://",),
    "oracle": ("jdbc:oracle",),
    "header": ("authorization",),
    "cookie": ("cookie",),
    "scheme": ("bearer", "basic"),
    "scheme_token": ("bearer",),
    "azure_account": ("account.key",),
    "user_flag": ("-u", "-user", "--cert"),
    "netrc": ("password",),
    "sql": ("password", "identified"),
    "encoded": ("%3d", "%3a"),
    "wifi": ("wifi:",),
    "dsn": ("@tcp(", "@unix("),
    "client_flag": ("mysql", "sshpass"),
    "login_flag": ("login", "twine", "mongo", "redis-cli", "ldap", "sqlcmd", "bcp ", "secret set", "snowsql"),
    "login_pair": ("sqlplus", "sqlldr", "expdp", "impdp"),
    "net_use": ("/user:", "/u:"),
    "samba": ("-u",),
    "piped": ("-stdin", "--with-token", "sudo -s"),
    "registry": (":_auth", ":_password"),
    "rabbit": ("rabbitmqctl",),
    "workflow": ("::add-mask", "::set-output", "::save-state"),
    "environment": ("pass", "secret", "token", "_key"),
    "construct": ("__construct(", "connect(", "bind", "login("),
    "pgpass": (":5432:", ":*:", ":5433:", ":6432:"),
    "cisco": ("password ", "secret ", "key "),
    "redis_auth": ('"auth"', "'auth'"),
    "mail_auth": ("auth ",),
    "mail_login": (" login ",),
    "pass_command": ("pass ",),
    "told": ("password", "passphrase", "passcode", "passwort", "kennwort"),
    "told_password": ("password", "passphrase", "passcode", "passwort", "kennwort", " pin "),
    "told_login": ("login:", "login for", "credentials:", "credentials for"),
    "told_key": ("token", *(f"{what}{apart}key" for what in _KEYS_OF for apart in ("", " ", "_", "-"))),
    "told_code": ("code is ", "code: "),
    "your_code": (" is your ",),
    "phrase": ("mnemonic", "seed", "recovery phrase"),
    "foreign": ("contraseña", "lösenord", "hasło", "пароль", "密码", "密碼", "パスワード", "비밀번호", "şifre"),
    "putty": ("private-",),
    "crypt": (
        "$1",
        "$2",
        "$5$",
        "$6$",
        "$7$",
        "$y$",
        "$apr1$",
        "$argon2",
        "pbkdf2",
        "scram-sha-",
        "scrypt:",
        "{s",
        "{md5}",
        "{c",
        "{p",
    ),
    "okta": ("ssws",),
}


@cache
def places() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """The places and the words that ask for them, compiled when the first suspicious text comes along."""
    return tuple((WORDS_OF[name], re.compile(row, re.IGNORECASE)) for name, row in PLACED.items())


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
    "airtable crates nuget mailgun launchdarkly firebase cloudflare_origin octopus resend firecrawl fireworks pulumi "
    "render infracost adafruit facebook square_access artifactory".split()
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


PLACEHOLDER: Final = pattern(
    r"(?:none|null|nil|undefined|same-origin|include|omit|true|false|yes|no|required|missing|empty|unset|redacted|hidden|string|[*•x.]{2,80}|<"
    r"[^<>]{0,80}>|"
    r"\$\{[^{}]{0,80}\}?|\$\([^()]{0,80}\)?|(?-i:\$[A-Z_][A-Z0-9_]{0,60})|\$[0-9]{1,2}|\{\{[^{}]{0,80}\}?\}?|%s"
    r"|%\(\w{1,60}\)?s?|\?|"
    r":[a-z_]\w{0,60}|(?-i:@[a-z_]{1,20})|[\[(]redacted[\])]|=|env\.\w{1,60}|process\.env\.\w{1,60})",
    re.IGNORECASE,
)

# What a text must hold before any of the rows can apply, by a character without which none of the words can be there.
PLACE_WORDS: Final = {
    ":": ("://", ":\\/\\/", "jdbc:oracle", "wifi:", "::add-mask", "::set-output", "::save-state", "code: ", "scrypt:",
          ":5432:", ":*:", ":5433:", ":6432:", "/user:", "/u:", "login:"),
    "%": ("%3a", "%3d", "%2f", "%40", "%253a", "%252f", "%2540"),
    "$": ("$1", "$2", "$5$", "$6$", "$7$", "$y$", "$apr1$", "$argon2"),
    "@": ("@tcp(", "@unix("),
    "(": ("__construct(", "connect(", "bind", "login("),
    "{": ("{s", "{md5}", "{c", "{p"),
    " -": ("-u", "-user", "--cert", "-stdin", "sudo -s", "sql", "login", "twine", "mongo", "redis-cli", "ldap", "bcp "),
    "-": ("-u", "private-", "scram-sha-"),
    "/": ("sqlplus", "sqlldr", "expdp", "impdp"),
    "": ("pass", "secret", "token", "key", "auth", "cookie", "bearer", "basic", "identified", " pin ", "code is ",
         " is your ", "mnemonic", "seed", "phrase", "kennwort", "pbkdf2", "ssws", "login ", "rabbitmqctl",
         "credentials"),
}  # fmt: skip
# Without one of these nothing is set to anything.
OPERATORS: Final = (
    "=", ":", " -", '"-', "'-", "->", "</", "ENV ", "ARG ", "SET", "set", "',", '",', "values", "VALUES", "└",
)  # fmt: skip
NAME_WORDS: Final = (
    "pass", "pwd", "secret", "token", "key", "auth", "credential", "cookie", "session", "sessid", "signature", "jwt",
    "hmac", "bearer", "mnemonic", "seed", "assertion", "verifier", "kennwort", "senha", "contrasena", "wachtwoord",
    "losenord", "salasana",
)  # fmt: skip
# Names too short to look for as words: only where they are set to something.
SHORT_NAMES: Final = pattern(
    r"(?:sid|sig|sas|otp|cv[vc]|pin|pat|pw|psk|mdp|has[lł]o|heslo|code)[0-9_.\w]{0,12}[\\\"'\])]{0,6}\s{0,20}(?:[:=]"
    r"|->|,)"
)

LONG_RUN: Final = pattern(r"[A-Za-z0-9_~.+/=:@…-]{16,}")
# What a random value consists of.
LONG_VALUE: Final = pattern(r"[A-Za-z0-9+/_-]{32}")
