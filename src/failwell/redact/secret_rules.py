"""The rules by which secrets are found in a text, as data: tokens by their marks, and places where a secret stands.

A rule is tried only where one of its words stands, in lower case: asking for a word is far cheaper than a pattern, and
each pattern is compiled when the first text asks for it. Every repetition is bounded, or runs over characters that what
follows cannot begin with, so that a search takes time in proportion to the text.

The group `keep` stays in front of the secret. What stands under `name` must be the name of a secret. The other groups say what the
secret must look like (see `looks`): `drawn` at random, `scrambled` even where names and tags stand more often, `plausible` like something that somebody thought of, `likely` like any word but those about secrets.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from failwell.model import pattern

from .secret_names import FOREIGN


class Place(NamedTuple):
    words: tuple[str, ...]
    source: str
    # Tokens know their capitals; places do not.
    flags: int = re.IGNORECASE


# What stands in front of tokens. The first ones mean nothing else, even in the middle of a word.
UNMISTAKABLE: Final = (
    "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs- sk_live_ sk_test_ rk_live_ "
    "rk_test_ sk-ant- sk-proj- sk-svcacct- sk-admin- sk-or-v1- npm_ AIza SG. dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ "
    "shptka_ pypi-"
).split()  # fmt: skip
_MARKS: Final = (
    "gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glsct- GR1348941 xapp- xoxo- sk_prod_ sk_org_ ak_live_ "
    "whsec_ sk- sk_ HRKU- CCIPAT_ CCIPRJ_ CFPAT- pat-na1- pat-na2- pat-eu1- pnu_ pnb_ shippo_live_ shippo_test_ sgp_ re_ napi_ ABSK "
    "nvapi- apify_api_ duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST- FLWSECK_PROD- mdb_sa_sk_ access-sandbox- "
    "access-development- access-production- tfp_ xprv yprv zprv ya29. GOCSPX- 1//0 hf_ api_org_ r8_ dckr_pat_ dckr_oat_ hvs. hvb. "
    "hvr. lin_api_ lin_oauth_ secret_ ntn_ sq0atp- sq0csp- sq0idp- EAAA pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ PMAK- "
    "NRAK- NRII- NRJS- NRRA- sntrys_ sntryu_ glsa_ glc_ glb_ dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. figd_ figo_ figu_ ATATT "
    "ATCTT ATBB gsk_ xai- pplx- lsv2_pt_ lsv2_sk_ pcsk_ xkeysib- tskey- pul- rubygems_ nfp_ nfc_ nfu_ bkua_ bkct_ AKC tvly- fw_ csk- "
    "sk.eyJ AGE-SECRET-KEY-1 mlsn. AVNS_ LTAI aio_ rdme_ vcp_ vck_ vci_ polar_pat_ polar_oat_ ddp_ ddo_ ddw_ ico- sm_pat_ sm_sat_ "
    "sm_aat_ dnkey- AQVN jina_ pa- hcaik_ hcbik_ hcxmk_ nsec1 cal_live_ snyk_uat. snyk_sat. cfut_ cfat_ AKID AKLT dG9rOj live_ "
    "rzp_live_ rzp_test_ A3- p8e- 4b1d s-s4t2ud- s-s4t2af- t1. eyJrIjoi rpa_ signkey- xaat- xapt- pylf_v1_ tgp_v1_ tr_dev_ tr_prod_ "
    "tr_stg_ tr_pat_ pdl_live_ pdl_sdbx_ secret-token: os_v2_app_ os_v2_org_ nyk_v0_ WPL_AP1. pina_ syt_ tsec_ EXO ucat_ waka_ unkey_ "
    "crsr_ alcht_ ops_ fm1_ fm2_ fo1_ sqa_ sqp_ squ_ sha256~ CLOJARS_ EZAK EZTK phx_ rnd_ fc- e2b_ bb_live_ bb_test_ sdk- mob- oy2 "
    "cio gAAAAAB LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBSU0EgUFJJVkFUR LS0tLS1CRUdJTiBFQyBQUklWQVRF "
    "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZB b3BlbnNzaC1rZXktdjEA eyJhdXRocyI6 cmVmdGtuOjAx"
).split()  # fmt: skip
# Not inside a word; but an escape in front of it ends in a letter or a digit without being one.
_LEFT: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[ntrbf])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u[0-9a-fA-F]{4})|(?<=/bot))"
_TAIL: Final = r"(?=[\w=+/.~-]{14})[\w=+/~-]+(?:\.[\w=+/~-]+)*(?:%(?:2[BbFf]|3[Dd])[\w=+/-]*)*"
# A token of which the middle was left out.
_CUT: Final = r"[\w~+/=-]{6,400}(?:\.{3}|…)(?:[\w~+/=.%-]{0,400}[\w~+/=-])?"
MARKS: Final = {mark.lower(): mark for mark in (*_MARKS, *UNMISTAKABLE)}


@cache
def token(mark: str) -> re.Pattern[str]:
    """The tokens that begin with a mark."""
    left = "" if mark in UNMISTAKABLE else _LEFT
    return re.compile(rf"{left}{re.escape(mark)}(?:{_CUT}|{_TAIL})", re.ASCII)


_H: Final = "[0-9a-f]"
_END: Final = "(?![A-Za-z0-9])"
# Tokens whose shape says more than their mark.
SHAPES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("akia", "asia", "abia", "acca", "agpa", "aida", "aipa", "anpa", "anva", "aroa"),
     rf"A(?:KIA|SIA|BIA|CCA|GPA|IDA|IPA|NPA|NVA|ROA)(?:[A-Z0-9]{{16}}{_END}|[A-Z0-9]{{2,16}}(?:\.{{3}}|…)\w{{0,16}})"),
    (("eyj",), r"eyJ[\w-]{8,}(?:\.{1,3}|…)[\w-]{5,}(?:\.[\w-]*)*"),
    (("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{10,255}"),
    (("/webhooks/",), r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{10,25}/[\w-]{20,255}"),
    (("webhook.office.com", "outlook.office"),
     r"(?:[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook)/[\w@/-]{20,400}"),
    (("hooks.zapier.com", ".make.com/", "maker.ifttt.com"),
     r"(?:hooks\.zapier\.com/hooks/catch/[0-9]{4,12}|hook\.(?:[a-z0-9]{2,6}\.)?make\.com|maker\.ifttt\.com/use)/[\w-]{5,80}"),
    (("dt0",), r"dt0[a-z][0-9]{2}\.[A-Z0-9]{20,30}\.[A-Z0-9]{40,80}"),
    (("q~",), r"[\w~.-]{3}[0-9]Q~[\w~.-]{28,40}"),
    (("key-",), rf"key-{_H}{{32}}(?!{_H})"),
    (("-us",), rf"{_H}{{32}}-us[0-9]{{1,3}}(?![0-9])"),
    (("-",), rf"{_H}{{32}}-{_H}{{8}}-{_H}{{8}}(?!{_H})"),
    (("sk",), rf"SK{_H}{{32}}(?!{_H})"),
    ((":aa",), r"[0-9]{8,11}:AA[\w-]{30,40}"),
    ((".",), r"[MNO](?=[A-Za-z_-]{0,30}[0-9])[\w-]{22,30}\.[\w-]{6}\.[\w-]{25,45}"),
    (("dapi",), rf"dapi{_H}{{32}}(?:-[0-9])?"),
    ((".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,100}"),
    (("pat",), rf"pat[A-Za-z0-9]{{14}}\.{_H}{{40,80}}"),
    (("eaa",), r"EAA[A-Za-z0-9]{60,400}"),
    (("s.",), rf"(?<![\w.])s\.(?=[A-Za-z]{{0,23}}[0-9])[A-Za-z0-9]{{24}}{_END}"),
    (("sl.",), r"sl\.(?=[A-Za-z_-]{0,60}[0-9])[\w-]{60,2000}"),
    (("jqqj9", "aaaa"), r"[A-Za-z0-9]{52}(?:JQQJ9[0-9]|AAAA)[A-Za-z0-9]{6,22}A(?:COG|ZDO|AAA)[A-Za-z0-9]{4,6}"),
    (("oauth:",), rf"oauth:[a-z0-9]{{30}}{_END}"),
    (("k00",), rf"K00[0-9][A-Za-z0-9/+]{{27}}{_END}"),
    (("private-",), rf"private-{_H}{{32}}/basic"),
    (("00d",), r"\b00D[A-Za-z0-9]{9,15}![\w.]{40,200}"),
    (("access_token$",), rf"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_H}{{32}}"),
    (("-",), r"(?=[A-Z-]{0,29}[0-9])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![A-Za-z0-9-])"),
)  # fmt: skip

_SCHEME_LEFT: Final = r"(?:(?<![A-Za-z0-9+.-])|(?<=%[0-9A-F][0-9A-F])|(?<=%25[0-9A-F][0-9A-F]))"
# What stands between a flag and its value, on a command line and in a list of arguments.
_NEXT: Final = r"(?:[ =]{1,3}[\"']?|[\"'],?\s{0,3}[\"'])"
# What is said of a flag, rather than given to it.
_NO_WORD: Final = (
    r"(?!(?:requires?|needs?|options?|arguments?|takes|expects?|flags?|switch|is|was|must|and|or|not|without|with|to|but"
    r"|if|cannot|can)\b)"
)
_Q: Final = r"[\"'\\]{0,8}"
_OPENING: Final = "「«„『“"
PLACES: Final[dict[str, Place]] = {
    "private_key": Place(
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]|-(?!----END )){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?",
    ),
    # A private key whose first line is gone.
    "key_end": Place(
        ("private key",),
        r"(?:^|(?<=\n))(?:[\w+/=]{16,200}\s{1,4}){1,400}(?=-----END [A-Z0-9 ]{0,40}PRIVATE KEY)",
    ),
    # The values that SQLAlchemy says a statement was given: which of them stands for which column is not in the text.
    "sql_parameters": Place(("[parameters:",), r"(?P<keep>\[parameters: )[^\r\n]{1,8000}(?=\](?:\s|$|\\n))"),
    # A column and its value, as PostgreSQL says which key is there already.
    "sql_key": Place((")=(",), r"(?P<keep>\((?P<name>[\w.]{1,80})\)=\()[^()\r\n]{1,4000}(?=\))"),
    # A name whose beginning was left out may be that of a secret.
    "cut_name": Place(
        ("...", "…"), r"(?P<keep>(?:\.{3}|…)\w{0,40}[\"']\s{0,2}:\s{0,2}[\"'])[^\"'\r\n]{1,400}(?=[\"']|$)"
    ),
    "url_password": Place(
        ("://", ":\\/\\/"),
        rf"(?P<keep>{_SCHEME_LEFT}[a-zA-Z][a-zA-Z0-9+.-]{{1,30}}:(?:\\?/){{2}}[^\s/:@\"'<>]{{0,200}}:)"
        r"(?![0-9]{1,5}(?:[/?#\s]|$))(?:(?!://)[^\s\"<>]){1,20000}(?=@)",
    ),
    "url_encoded": Place(
        ("%3a", "%2f", "%40", "%253a", "%252f", "%2540"),
        rf"(?P<keep>{_SCHEME_LEFT}(?![a-zA-Z0-9+.-]{{2,31}}://[^\s/:@\"'<>&%]{{0,200}}:)"
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2}(?!\[|%(?:25)?5B)"
        r"(?:(?!%(?:25)?(?:3A|2F|40))[^\s/:@\"'<>&]){0,200}(?::|%(?:25)?3A))"
        r"(?![0-9]{1,5}(?:[/?#&\s\"']|%(?:25)?(?:2F|3F|23|26)|$))"
        r"(?:(?!(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2})[^\s\"'<>&@]){1,20000}(?=@|%(?:25)?40)",
    ),
    # Who asks for no password lets in by the name alone.
    "url_token": Place(
        ("://",), r"(?P<keep>(?<![A-Za-z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)[A-Za-z0-9_-]{24,400}(?=[:@])"
    ),
    "dsn": Place(("@tcp(", "@unix("), r"(?P<keep>(?<![\w:/])[\w.-]{1,60}:)[^\s:@/\"'<>]{1,200}(?=@(?:tcp|unix)\()"),
    "oracle": Place(
        ("jdbc:oracle", "@//", "@(desc", "ora-", "cx_oracle", "oracledb", "ezconnect", "dpy-", "tns:", "userid="),
        r"(?P<keep>jdbc:oracle:[a-z0-9]{2,8}:[^/\s@]{1,100}/|(?<![\w./@:-])[A-Za-z][\w$#.-]{0,60}/)"
        r"(?:[^\s@\"'/]{1,200}(?=@//)|(?<=oracle:thin:)[^\s@]{1,400}(?=@)|(?P<likely>[^\s@\"'/()]{5,200})"
        r"(?=@(?!sha256)(?:\(|[A-Za-z][\w.-]{0,100}(?:[:/\s,;\"').]|$))))",
    ),
    "login_pair": Place(
        ("sqlplus", "sqlldr", "expdp", "impdp", "rman ", "imp ", "sqlcl"),
        r"(?P<keep>\b(?:sqlplus|sqlcl|sqlldr|expdp|impdp|rman|exp|imp)\s{1,3}(?:-\w{1,10}\s{1,3}|target\s{1,3}){0,3}"
        r"[^\s/@\"'-]{1,60}/)(?:\"[^\"\r\n]{1,200}\"|[^\s@\"']{1,4000})(?=[@\s\"']|$)",
    ),
    "pgpass": Place(
        (":5432:", ":*:", ":5433:", ":6432:"),
        r"(?P<keep>(?<![\w.:/*-])(?=[\w.-]{0,60}[A-Za-z*])[\w.*-]{1,100}:(?:[0-9]{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:)"
        r"(?P<likely>[^\s:\"']{3,4000})(?=[\s\"']|$)",
    ),
    # Command lines.
    "client_flag": Place(
        ("mysql", "mariadb", "sshpass"),
        r"(?P<keep>\b(?:(?:mysql|mariadb)(?:-?[a-z]{1,10})?|sshpass)\b(?:[\"',\s]{1,4}(?!(?-i:-p))[^\s\"',|;]{1,60}){0,8}"
        r"[\"',\s]{1,4}(?-i:-p)(?:[ ]?[\"']?|[\"'],\s?[\"']))[^\s\"',-][^\s\"',]{0,200}",
    ),
    "archive_flag": Place(
        ("zip", "7z", "rar ", "ssh-keygen", "mosquitto_", "psexec", "winrm", "freerdp", "rdesktop"),
        r"(?P<keep>\b(?:(?:zip|unzip|zipcloak)\b[^\r\n|;]{0,100}?\s(?-i:-P)\s{1,3}"
        r"|7z[a-z]{0,2}\b(?:(?!switch|option|unknown|usage)[^\r\n|;]){0,100}?\s(?-i:-p)"
        r"|(?:un)?rar\s[^\r\n|;]{0,100}?\s(?-i:-h?p)|ssh-keygen\b[^\r\n|;]{0,100}?\s(?-i:-[NP])\s{1,3}"
        r"|(?:psexec|(?:evil-)?winrm|rdesktop)\b[^\r\n|;]{0,100}?\s(?-i:-p)\s{1,3}|[xw]?l?freerdp\b[^\r\n|;]{0,100}?\s/p:"
        rf"|mosquitto_[a-z]{{2,8}}\b[^\r\n|;]{{0,100}}?\s(?-i:-P)\s{{1,3}})){_NO_WORD}[^\s\"'-][^\s\"']{{0,200}}",
    ),
    "new_user": Place(
        ("net user", "htpasswd", "chpasswd", "wpa_passphrase", "radtest", "samba-tool", "rclone obscure"),
        r"(?P<keep>\bnet\s{1,3}user\s{1,3}\S{1,60}\s{1,3}|\bhtpasswd\s{1,3}-\w{0,4}b\w{0,4}\s{1,3}\S{1,100}\s{1,3}\S{1,60}"
        r"\s{1,3}|\bwpa_passphrase\s{1,3}\S{1,60}\s{1,3}|\bradtest\s{1,3}(?:-\w{1,6}\s{1,3}){0,4}\S{1,60}\s{1,3}"
        r"|\bsamba-tool\s{1,3}user\s{1,3}(?:create|add)\s{1,3}\S{1,60}\s{1,3}|\brclone\s{1,3}obscure\s{1,3}"
        r"|\bchpasswd\b[^\r\n]{0,40}\s{1,20}[\w.-]{1,40}:(?=[^\s:]{1,200}\s)"
        r"|\becho\s{1,3}[\"']?[\w.-]{1,40}:(?=[^\r\n|]{1,200}\|[^\r\n]{0,20}chpasswd))(?!/)[^\s\"'|]{1,200}",
    ),
    "login_flag": Place(
        ("docker", "podman", "buildah", "skopeo", "helm", "crane", "oc login", "az login", "cf login", "twine", "mongo", "redis-cli", "ldap", "sqlcmd", "bcp ", "secret set", "kadmin", "openssl", "snmp"),
        r"(?P<keep>\b(?:(?:docker|podman|buildah|skopeo|nerdctl|helm|crane|oc|az|cf)\b[^\r\n|;]{0,60}?[\s\"']login\b"
        r"[^\r\n|;]{0,200}?[\s\"']-p|(?:twine|mongo(?:sh|dump|restore|import|export)?)\b[^\r\n|;]{0,200}?[\s\"']-p"
        r"|redis-cli\b[^\r\n|;]{0,200}?[\s\"'](?:-a|--pass)|(?:ldap[a-z]{2,8}|kadmin)\b[^\r\n|;]{0,200}?[\s\"']-w"
        r"|gh\s{1,3}secret\s{1,3}set\b[^\r\n|;]{0,200}?\s(?:-b|--body)"
        r"|openssl\b[^\r\n|;]{0,200}?[\s\"'](?-i:-k)|snmp[a-z]{2,9}\b[^\r\n|;]{0,200}?[\s\"'](?-i:-[cAX])"
        rf"|(?:sqlcmd|bcp)\b[^\r\n|;]{{0,200}}?[\s\"'](?-i:-P)){_NEXT})(?!\[redacted){_NO_WORD}[^\s\"'-][^\s\"']{{0,200}}",
    ),
    "net_use": Place(
        ("/user:", "/u:"),
        r"(?P<keep>\bnet\s{1,3}use\s[^\r\n|;]{0,200}?(?:\s/u(?:ser)?:\S{1,100}\s{1,3}"
        r"|\\{2,4}[^\s\\]{1,100}\\{1,2}\S{1,100}\s{1,3}(?=\S{1,200}\s{1,3}/u)))"
        r"(?!(?:fail(?:s|ed)|returned|exited|gave|with|and|on|is|was|in|at|error)\b)[^\s\"'/*][^\s\"']{0,200}",
    ),
    # Whatever the program: who it is for, and then a flag that is the password's after that one.
    "flags": Place(
        (" -p ", " -p:", " -pw ", " -w ", " -a ", " /p ", " /p:", " /rp "),
        r"(?P<keep>(?<!\S)(?:(?-i:-[uUlDn]|--?user(?:name)?|--?login|/u(?:ser)?|/ru)[ =:]{1,3}|user\s{1,3})"
        r"[\"']?[A-Za-z][^\s|;]{0,100}"
        r"(?:\s{1,3}(?!(?-i:-[pPwa]|/r?p)[\s:])[^\s|;]{1,100}){0,8}?\s{1,3}(?-i:-[pPwa]|-pw|/r?p)(?:\s{1,3}|:)[\"']?)"
        r"(?![0-9]{1,5}(?:[\s:]|$))(?P<plausible>(?!/|\w{1,12}://)[^\s|\"']{3,200})",
    ),
    # Whoever it is for: letters of both sizes, with digits in two places.
    "flag_drawn": Place(
        (" -p", " -t ", " -k ", "--licen", " /p:"),
        r"(?P<keep>(?<!\S)(?-i:-p[ ]?|-[tk][ ]|-pw[ ]|--licen[cs]e[ =]|/p:)[\"']?)(?=[0-9]{0,40}(?:[A-Za-z]{1,40}[0-9]{1,40}){2})"
        r"(?-i:(?=[a-z0-9]{0,100}[A-Z])(?=[A-Z0-9]{0,100}[a-z]))(?P<scrambled>[A-Za-z0-9]{8,200})(?![\w./:=-])",
    ),
    "user_flag": Place(
        (" -u", "'-u", '"-u', "--user", "-proxy-user", "--cert"),
        rf"(?P<keep>(?<![\w-])(?:-u|--user|--proxy-user|--cert){_NEXT}[^\s:\"'<]{{1,100}}:)"
        r"(?!\$[A-Z_{(]|[<{]|[0-9]{1,6}(?:[\s\"']|$))[^\s\"']{1,400}",
    ),
    "samba": Place((" -u", "'-u", '"-u'), r"(?P<keep>(?<![\w-])-U[ =]?[\"']?[A-Za-z][\w./\\-]{0,60}%)[^\s\"']{1,200}"),
    "piped": Place(
        ("-stdin", "--with-token", "sudo -s", "kinit", "cryptsetup", "passwd"),
        r"(?P<keep>\b(?:echo|printf)\s{1,3}(?:-n\s{1,3})?[\"']?)[^\s\"'|]{1,4000}(?=[\"']?\s{0,3}\|[^\r\n]{0,200}"
        r"(?:-stdin|--with-token|sudo\s{1,3}-S|\bkinit|\bcryptsetup|\b(?:smb)?passwd))",
    ),
    "network": Place(
        ("-server ", "isakmp key ", "-psk ", "password ", "secret ", "key "),
        r"(?P<keep>\b(?:snmp-server\s{1,3}community|(?:tacacs|radius)-server\s(?:host\s\S{1,60}\s)?key|isakmp\skey"
        r"|wpa-psk\sascii|password\s0)\s{1,3}(?:[07]\s)?)(?P<likely>[^\s\"']{3,200})"
        r"|(?P<kept>\b(?:password|secret|key)\s[045789]\s)(?:[0-9A-F]{6,200}(?![\w-])|\$\S{6,200})",
    ),
    "mail": Place(
        ("auth ", " login "),
        r"(?P<keep>(?-i:\bAUTH (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5) ))[A-Za-z0-9+/]{12,4000}={0,2}"
        r"|(?P<kept>(?:(?-i:\b(?:[A-Za-z]{1,6}[0-9]{1,6} )?LOGIN )|(?:^|[\r\n])[\w.]{1,8} login )\S{1,100} (?P<mark>\")?)"
        r"(?(mark)(?P<likely>[^\"\r\n]{3,200})|(?P<plausible>[^\s\"]{1,200}))",
    ),
    "pass_command": Place(
        ("pass ",),
        r"(?P<keep>(?-i:(?:^|[\r\n'\">]|\bsen[td]:?)[ ]{0,2}PASS ))(?P<plausible>[^\s'\"/]{3,4000})"
        r"(?=['\"]|\\r|\s{0,3}(?:[\r\n]|$))",
    ),
    # Code.
    "login_given": Place(
        ("login(", "logon(", "sign_in(", "signin(", "authenticate(", "auth(", "bind(", "bind_s(", "credential(", "credentials(",
         "connect(", "connection(", "__construct("),
        r"(?P<keep>\b(?:\w{0,20}(?:log_?[io]n|sign_?in|authenticate|basic_?auth|(?<![A-Za-z])auth|simple_bind(?:_s)?|ldap_bind)\("
        r"(?:[\"'][^\"'\r\n]{1,100}[\"']|[A-Za-z_][\w.]{0,40}),\s?"
        r"|(?:\w{0,30}connect(?:ion)?|__construct)\([\"'][^\"'\r\n]{0,200}[\"'],\s?(?:[\"']?[0-9]{1,5}[\"']?,\s?)?"
        r"[\"'][^\"'\r\n]{1,100}[\"'],\s?"
        r"|\w{0,20}credentials?\((?:[\"'][^\"'\r\n]{1,100}[\"'],\s?){1,3}(?=[\"'][^\"'\r\n]{1,200}[\"']\s?\)))"
        r"b?(?P<quote>[\"']))(?P<likely>[^\s\"']{3,200})(?=(?P=quote)(?:\.{3})?\s?[),])",
    ),
    "pair": Place(
        ("auth", "credential", "creds", "login"),
        r"(?P<keep>\b\w{0,20}(?:auth(?:entication|orization)?|credentials?|creds|login)\b[\"']?[^\r\n\"'()<>\[\]{}]{0,20}"
        r"(?:(?P<round>\()|[\[,])\s?(?:<<)?(?P<quote>[\"'])[^\"'\s]{1,60}(?P=quote)(?:>>)?,\s{0,3}(?:<<)?(?P=quote))"
        r"(?:(?(round)(?P<likely>[^\"'\r\n\s]{3,200})|(?P<plausible>[^\"'\r\n\s]{4,200})))(?=(?P=quote)(?:>>)?\s?[)\]},])",
    ),
    # A name as a value itself: `{"name": "DB_PASSWORD", "value": …}`, and in the parts of a form and the rows of a table.
    "named": Place(
        (),
        rf"(?P<keep>(?<![A-Za-z])(?:name|key|field|header|variable|parameter){_Q}\s{{0,3}}[:=]\s{{0,3}}{_Q}(?P<name>[\w.$:/-]{{2,100}}+)"
        rf"{_Q}[,;]?\s{{0,20}}{_Q}value{_Q}\s{{0,3}}[:=]\s{{0,3}}{_Q})(?P<likely>[^\s\"'\\,;{{}}\[\]]{{3,4000}})",
    ),
    "form": Place(
        (),
        r"(?P<keep>\bname=\\{0,3}[\"']?(?P<name>[\w.\[\]-]{1,80}+)\\{0,3}[\"']?(?:\r?\n|(?:\\r)?\\n){2})(?P<likely>[^\r\n\\]{1,4000})",
    ),
    "row": Place(
        (), r"(?P<keep>[|│][ `]{0,40}(?P<name>[\w.-]{2,60})[ `]{0,40}[|│][ `]{0,40})(?P<plausible>[^\s|│`]{6,400})(?=[ `]{0,40}[|│])"
    ),
    # What RouterOS says of an argument: the value stands before the name.
    "argument": Place(
        ("invalid value ",),
        r"(?P<keep>\binvalid value [\"'`]?)(?P<likely>[^\s\"'`]{3,400})(?=[\"'`]? (?:for|of) (?:the )?(?:argument )?[\"'`]?(?P<name>[\w.-]{2,60}))",
    ),
    # Requests.
    "header": Place(
        ("authorization",),
        r"(?P<keep>(?<![A-Za-z0-9])(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}+(?:[bfru](?=[\"']))?+(?P<quote>[\"'])?+"
        r"(?:(?:bearer|basic|digest|token|negotiate|ntlm|apikey|aws4-hmac-sha256|key)\s{1,3}+)?+)"
        r"(?!(?:the|a|an|no|not|header|is|was|must|required|missing|failed|error|denied|invalid|expected)\b|[<{$\[*.]"
        r"|your[-_ ])(?:(?<=\w\s)|(?<=\w\s\s)|(?![a-z]{1,20}(?:[.,;]|$|\s{1,3}(?:[a-z]{1,20}\b|$))))"
        r"(?(quote)[^\r\n\"']{1,4000}|(?:[^\r\n\"']|\"[^\"\r\n]{0,400}\"|'[^'\r\n]{0,400}'){1,4000})",
    ),
    "scheme": Place(
        ("bearer", "basic", "ssws", "geniekey"),
        r"(?P<keep>(?<![A-Za-z0-9])(?:bearer|basic|ssws|geniekey)\s{1,3})"
        r"(?=[A-Za-z0-9._~+/-]{0,60}[0-9=+/]|dXN|YWR|cm9|YXBp|Z3V)[A-Za-z0-9._~+/-]{8,4000}={0,2}(?![A-Za-z0-9=])",
    ),
    "cookie": Place(
        ("cookie",),
        r"(?P<keep>(?<![A-Za-z0-9])(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?!(?:samesite|path|domain|expires|max-age|secure|httponly)\b))"
        r"(?=[^\r\n\"']{0,400}(?:sess|sid|auth|tok|jwt|csrf|xsrf|key|secret|user|remember|login|pass|cred|sso|ticket)"
        r"|[^\r\n\"']{0,400}=[^\s;\"']{0,60}[0-9][^\s;\"']{8})(?=[^\s=;\"']{1,100}=)[^\r\n\"']{1,4000}",
    ),
    "query_key": Place(
        ("key=", "appid=", "app_id=", "license=", "licence=", "sign=",
         *(f"{lead}{name}=" for lead in "?&" for name in ("k", "t", "ak", "sk", "st"))),
        r"(?P<keep>[?&](?:[\w.-]{0,40}key|app_?id(?!=[0-9a-f]{8}-)|licen[sc]e|sign|k|t|ak|sk|st)=)"
        r"(?P<drawn>[A-Za-z0-9_-]{16,400})(?=[&#\s\"')>,;]|$)",
    ),
    "encoded": Place(
        ("%3d", "%3a"),
        r"(?P<keep>(?:token|secret|password|passwd|pwd|key|signature|sig)(?:%22)?(?:%3D|%3A)(?:%22)?)"
        r"(?:[^&\s\"'%<>]|%(?!0[AD]|2[026C]|3[BCE]|5D|7[CD])[0-9A-F]{2}){1,4000}",
    ),
    # Statements and files.
    "sql": Place(
        ("password", "identified", "encryption key", "_decrypt(", "_encrypt(", "crypt(", "pragma "),
        r"(?P<keep>\b(?:(?:password|(?:encryption|master|symmetric)\s{1,3}key"
        r"|(?:(?-i:IDENTIFIED)|(?<=[\"'`]\s)identified|user\s{1,3}\S{1,60}\s{1,3}identified)"
        r"(?:\s{1,3}with\s{1,3}\S{1,60})?\s{1,3}by)\s{1,3}|(?-i:PASSWORD)\(|set\s{1,3}password\s{1,3}for\s{1,3}"
        r"[^=\r\n]{1,100}=\s{0,3}|(?:pgp_sym|aes)_(?:en|de)crypt\([^'\r\n]{1,100},\s{0,3}|\bcrypt\("
        r"|pragma\s{1,3}(?:hex)?(?:re)?key\s{0,3}=\s{0,3})[\"'](?:x')?)(?P<likely>[^\"'\r\n]{1,400})",
    ),
    "sql_bare": Place(
        ("identified",), r"(?P<keep>(?-i:\bIDENTIFIED)\s{1,3}by\s{1,3})(?P<likely>[^\s\"';]{4,200})(?=[\s;]|$)"
    ),
    "netrc": Place(
        ("password", "passphrase", " pass ", " psk "),
        r"(?P<keep>\b(?:login|user|connect|modify)\s{1,3}[^\s|,;]{1,100}\s{1,3}(?:[\w-]{1,30}-)?"
        r"(?:password|passphrase|pass|psk)\s{1,3}[\"']?)(?P<likely>[^\s|\"']{3,400})",
    ),
    "putty": Place(
        ("private-",), r"(?P<keep>Private-(?:Lines|MAC|Hash)[^\r\n]{0,20})(?:\s{1,2}[A-Za-z0-9+/=]{16,80}){1,200}"
    ),
    "crypt": Place(
        ("$1", "$2", "$5$", "$6$", "$7$", "$y$", "$apr1$", "$argon2", "pbkdf2", "scram-sha-", "scrypt:", "{s", "{md5}"),
        r"\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2(?:i|d|id))\$[A-Za-z0-9./=,$+]{20,200}"
        r"|\b(?:grub\.pbkdf2\.sha[0-9]{1,3}\.[0-9]{1,9}\.|pbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$|SCRAM-SHA-[0-9]{1,3}\$[0-9]{1,9}:"
        r"|(?:scrypt|pbkdf2):[\w:]{1,40}\$)[A-Za-z0-9+/=$:.]{20,600}|\{(?:SSHA|SHA|SMD5|MD5)[\w-]{0,12}\}[A-Za-z0-9+/=$.]{16,300}",
    ),
    "wifi": Place(("wifi:",), r"(?P<keep>\bWIFI:[^\r\n]{0,200};P:)[^;\r\n]{1,100}"),
    # What people say.
    "said_key": Place(
        ("token", "key ", 'key"', "key'", "key:", "key="),
        r"(?P<keep>(?:(?:api|access|secret|auth|license|encryption|signing|master|integration|product)[ _-]?key|token)[\"']?\s"
        r"(?:(?:is|was)\s)?(?:(?:not\s)?(?:valid|invalid|rejected|expired|revoked|refused|unknown|wrong))?[:=]?\s{0,2}[\"'(]?)"
        # The number of a key is no key.
        r"(?!0x[0-9a-fA-F]{8,40}\b|(?-i:[0-9A-F]{16,40})\b)(?P<drawn>[0-9A-Za-z_-]{16,4000})",
    ),
    "said_login": Place(
        ("login", "auth", "credential", "creds"),
        r"(?P<keep>\b(?:login|auth(?:enticat(?:ion|e))?|credentials?|creds)\b(?:\s(?:failed|error|rejected|refused|denied|for|as"
        r"|with|user)){0,4}:?\s[(\"']?[A-Za-z][\w.@+\\-]{1,60}(?::|\s?/\s?))(?P<plausible>[^\s\"')/\\:][^\s\"')/]{5,200})",
    ),
    "said_number": Place(
        ("otp", "pin", "cvv", "cvc", "passcode", "2fa", "mfa", "sms", "one-time", "one time", "your code", "r code is",
         *(f"{word}{gap}code" for word in ("verification", "login", "auth") for gap in ("", " ", "_", "-"))),
        r"(?P<keep>\b(?:(?:otp|totp|pin|passcode|(?:2fa|mfa|otp|sms|pin|verification|login|auth|one[- ]time)[ _-]?(?:pass)?code"
        r"|your(?:\s[a-z-]{1,20}){0,2}\scode(?=\s(?:is|:)\s))[\"']?"
        r"(?:\s(?:is|was|code|number|you|entered|provided|supplied|given|typed)){0,3}\s{0,2}[:=#]?\s{0,2}[\"'(]{0,2}(?=[0-9]{4})"
        r"|cv[vc]2?[\"']?\s{0,2}[:=#]?\s{0,2}[\"'(]{0,2}))[0-9]{3,8}(?![\w%-]|\.\w)",
    ),
    "phrase": Place(
        ("mnemonic", "seed", "recovery phrase"),
        r"(?P<keep>\b(?:mnemonic|seed phrase|recovery phrase|seed)[\"']?\s{0,3}(?:(?:is|was|are):?|[:=]|(?=[\"']))"
        r"\s{0,3}[\"']?)(?:[a-z]{3,8}\s){11,23}[a-z]{3,8}",
    ),
    # In other scripts the words of a sentence stand close together.
    "foreign": Place(
        FOREIGN,
        rf"(?P<keep>(?:{'|'.join(FOREIGN)})[^\x00-\x7f\s{_OPENING}：]{{0,6}}\s{{0,2}}"
        rf"(?:(?P<set>[:：=])|[—–-]|[^\x00-\x7f\s{_OPENING}：]{{1,4}})?\s{{0,2}}(?:(?P<quote>[「«„『“])|[\"']?))"
        r"(?(quote)(?P<likely>[!-&(-~]{3,200})(?=[」»“”』])|(?P<plausible>[!-&(-~]{5,200}))",
    ),
}  # fmt: skip

# A long value with every sort of character in it, set to any name at all but these.
ENTROPIC: Final = pattern(
    r"(?P<keep>(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,60})[\"']?\s{0,2}[=:]\s{0,2}[\"']?)"
    r"(?P<value>[A-Za-z0-9+/_-]{32,200}={0,2})(?![A-Za-z0-9+/_=-]|(?<==)\[redacted)"
    r"(?:%(?:2[BFbf]|3[Dd])[A-Za-z0-9+/_-]{0,200}){0,20}"
)
HARMLESS_NAME: Final = pattern(
    r"(?:sha-?\d*|hash|md5|etag|digest|checksum|integrity|commit|rev(?:ision)?|version|image|thumbnail|icon|avatar|logo|preview|"
    r"png|gif|jpe?g|webp|svg|cursor|next|page|id|uid|guid|uuid|path|file|name|url|uri|href|fingerprint|public|pub"
    r"|pub(?:lic)?[-_]?key|address|ssh|arn|object|trace|span|request|correlation|nonce|id-[0-9]|boundary|peer|contract"
    r"|references|cert(?:ificate)?|crt|evaluated_?key|after|before|marker|continuation|offset|scroll|position|state|found"
    r"|exists?|gclid|fbclid|debug|(?<![A-Za-z])(?:h1|bh|to|from)"
    r"|(?:next|page|prev|previous|continuation|cursor|sync|delta|resume|start|scroll)[-_]?token)$",
    re.IGNORECASE,
)
HARMLESS_VALUE: Final = pattern(
    r"sha(?:1|224|256|384|512)[-_:]|(?:0x)?[0-9a-fA-F-]{32,200}$|iVBOR|R0lGOD|/9j/|UklGR|PHN2Zy|Qk[0-9A-Za-z]|AAAAB3"
    r"|AAAAC3|JVBER|UEsDB"
    # Certificates and public keys, as they are and in base64 again.
    r"|LS0tLS1CRUdJTiBDRVJU|LS0tLS1CRUdJTiBQVUJM|MI[GI]\w{1,4}A0GCSqGSIb3DQEBAQUAA4|MIIBIjANBgkq|MFkwEwYHKoZIzj0|MCowBQYDK2Vw"
)
# Identifiers that say by their first letters what they identify.
TYPED_ID: Final = pattern(
    r"(?:cs|pi|pm|cus|ch|in|sub|price|prod|evt|req|msg|seti|src|acct|txn|file|run|thread|asst|chatcmpl|resp|batch|call|toolu"
    r"|org|proj|ord|inv|pk)[-_](?:test[-_]|live[-_])?[A-Za-z0-9]{8,128}$"
)


@cache
def place(name: str) -> re.Pattern[str]:
    rule = PLACES[name]
    return re.compile(rule.source, rule.flags)


@cache
def shape(number: int) -> re.Pattern[str]:
    return re.compile(f"{_LEFT}(?:{SHAPES[number][1]})", re.ASCII)


# Whose name has a word for a secret in it.
NAMED_PLACES: Final = ("named", "form", "row")
PLACE_WORDS: Final = tuple((word, name) for name, rule in PLACES.items() for word in rule.words)
SHAPE_WORDS: Final = tuple((word, number) for number, (words, _) in enumerate(SHAPES) for word in words)
