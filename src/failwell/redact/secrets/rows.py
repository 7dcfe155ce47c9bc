"""Places where a secret stands, whatever it looks like: one row per place, with the words that ask for it.

A row is tried only where one of its words stands, in lower case: asking for a word is far cheaper than a pattern.
Every repetition is bounded. The group `keep` is what stays in front of the secret; a group `drawn` must look drawn at
random, a group `random` even where nothing but a word before it speaks for a secret, a group `plausible` like something
that somebody thought of, a group `likely` like any word but those about secrets, a group `login` the same where a login
is spoken of, a group `thought` the same in a sentence, and not all of `cookies` may be settings.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from failwell.model import pattern

from .commands import COMMANDS
from .row import Row
from .secret_names import FOREIGN, PASSWORDS

_SCHEME_LEFT: Final = r"(?:(?<![A-Za-z0-9+.-])|(?<=%[0-9A-F][0-9A-F])|(?<=%25[0-9A-F][0-9A-F]))"
_KEYS_OF: Final = (
    "api", "access", "secret", "auth", "license", "subscription", "encryption", "signing", "master", "fernet",
    "integration", "hmac", "instrumentation", "product", "stream",
)  # fmt: skip
_OPENING: Final = "「«„『“"
ROWS: Final[dict[str, Row]] = {
    "private_key": Row(
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]|-(?!----END )){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?",
    ),
    "url_password": Row(
        ("://", ":\\/\\/"),
        rf"(?P<keep>{_SCHEME_LEFT}"
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}:(?:\\?/){2}[^\s/:@\"'<>]{0,200}:)"
        r"(?![0-9]{1,5}(?:[/?#\s]|$))(?:(?!://)[^\s\"<>]){1,20000}(?=@)",
    ),
    "share_password": Row(
        (" //", "'//", '"//'),
        r"(?P<keep>(?:^|(?<=[\s\"']))//[\w.;\\%-]{1,60}:)(?P<plausible>[^\s\"'<>@/]{1,200})(?=@[\w.-]{1,100}/)",
    ),
    "url_encoded": Row(
        ("%3a", "%2f", "%40", "%253a", "%252f", "%2540"),
        rf"(?P<keep>{_SCHEME_LEFT}"
        r"(?![a-zA-Z0-9+.-]{2,31}://[^\s/:@\"'<>&%]{0,200}:)"
        r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2}(?!\[|%(?:25)?5B)"
        r"(?:(?!%(?:25)?(?:3A|2F|40))[^\s/:@\"'<>&]){0,200}(?::|%(?:25)?3A))"
        r"(?![0-9]{1,5}(?:[/?#&\s\"']|%(?:25)?(?:2F|3F|23|26)|$))"
        r"(?:(?!(?::|%(?:25)?3A)(?:/|%(?:25)?2F){2})[^\s\"'<>&@]){1,20000}(?=@|%(?:25)?40)",
    ),
    "dsn": Row(("@tcp(", "@unix("), r"(?P<keep>(?<![\w:/])[\w.-]{1,60}:)[^\s:@/\"'<>]{1,200}(?=@(?:tcp|unix)\()"),
    **COMMANDS,
    "registry": Row((":_auth", ":_password"), r"(?P<keep>:_(?:auth|authToken|password)\s{1,3})[^\s\"']{6,400}"),
    "construct": Row(
        ("__construct(", "connect(", "bind", "login(", "authenticate(", "auth(", "credential"),
        r"(?P<keep>(?:__construct|(?:real_|mysqli_)?connect|ldap_bind|simple_bind_s?|login|authenticate"
        r"|[A-Za-z.]{0,30}(?:auth|credentials?))\("
        r"(?:(?:'[^'\r\n]{0,200}'|\"[^\"\r\n]{0,200}\"|[^\s'\",()]{1,60}), ?){1,3}(?P<mark>[\"']?))(?P<plausible>"
        r"[^\"'\r\n(),=]{1,200})(?=[\"']?\))",
    ),
    # A name and a password side by side, after a word that says that they are.
    "pair": Row(
        ("auth", "credential", "creds", "login"),
        r"(?P<keep>\b\w{0,20}(?:auth(?:entication|orization)?|credentials?|creds|login)\b[\"']?[^\r\n\"'()<>\[\]{}]{0,20}"
        r"(?:(?P<round>\()|[\[,])\s?(?:<<)?"
        r"(?P<quote>[\"'])[^\"'\s]{1,60}(?P=quote)(?:>>)?,\s{0,3}(?:<<)?(?P=quote))(?:(?(round)(?P<likely>[^\"'\r\n\s]{3,200})|(?P<plausible>[^\"'\r\n\s]{4,200})))"
        r"(?=(?P=quote)(?:>>)?\s?[)\]},])",
    ),
    # What a call by such a name is given after who it is for; a place may stand before that.
    "login_given": Row(
        (
            "login",
            "logon",
            "sign_in",
            "signin",
            "authenticate",
            "auth(",
            "bind",
            "credential",
            "connect",
            "__construct(",
            "password(",
        ),
        r"(?P<keep>\b(?:\w{0,20}(?:log_?[io]n|sign_?in|authenticate|basic_?auth|(?<![A-Za-z])auth|simple_bind(?:_s)?|ldap_bind)\("
        r"(?:[\"'][^\"'\r\n]{1,100}[\"']|[A-Za-z_][\w.]{0,40}),\s?"
        r"|(?:\w{0,30}connect(?:ion)?|__construct)\([\"'][^\"'\r\n]{0,200}[\"'],\s?(?:[\"']?[0-9]{1,5}[\"']?,\s?)?"
        r"[\"'][^\"'\r\n]{1,100}[\"'],\s?"
        r"|\w{0,20}credentials?\((?:[\"'][^\"'\r\n]{1,100}[\"'],\s?){1,3}(?=[\"'][^\"'\r\n]{1,200}[\"']\s?\))"
        r"|\w{0,40}password\((?:[A-Za-z_][\w.]{0,40},\s?)?[\"'][^\"'\r\n]{1,100}[\"'],\s?)"
        r"b?(?P<quote>[\"']))(?P<likely>[^\s\"']{3,200})(?=(?P=quote)(?:\.{3})?\s?[),])",
    ),
    # A call in a stack trace, by what it is called: of what it was given, the first is a name or a place.
    "frame": Row(
        ("__construct(", "connect", "login", "user(", "createinstance(", "authenticat", "password("),
        r"(?P<keep>\b\w{0,30}(?:__construct|connect(?:ion)?|login|authenticate|createInstance|get_?user|check_?password"
        r"|verify_?password|password)\((?:'[^'\r\n]{0,200}'|\"[^\"\r\n]{0,200}\"|Array|null|true|false|Object\([\w\\]{1,80}\)),\s?"
        r"(?:(?:'[^'\r\n]{0,100}'|\"[^\"\r\n]{0,100}\"|[\w()]{1,40}),\s?){0,4}?[\"'])"
        r"(?=[^\"'\r\n]{0,60}[A-Za-z])(?=[^\"'\r\n]{0,60}[0-9@#$%^&!+~*])[^\"'\r\n]{6,200}(?=[\"'][,)])",
    ),
    "pgpass": Row(
        (":5432:", ":*:", ":5433:", ":6432:"),
        r"(?P<keep>(?<![\w.:/*-])(?=[\w.-]{0,60}[A-Za-z*])[\w.*-]{1,100}:(?:[0-9]{2,5}|\*):[\w.*-]{1,60}:"
        r"[\w.*-]{1,60}:)"
        r"(?P<likely>[^\s:\"']{3,4000})(?=[\s\"']|$)",
    ),
    "host_password": Row(
        ("@1", "@2", "@3", "@4", "@5", "@6", "@7", "@8", "@9"),
        r"(?P<keep>(?<![\w:/.-])[A-Za-z][\w./\\-]{0,60}:)(?P<likely>[^\s\"'@/:]{3,200})(?=@[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w.]))",
    ),
    "login_setting": Row(
        ("login=", "auth=", "userpwd=", "credentials=", "creds=", "userinfo="),
        r"(?P<keep>\b(?:login|auth|userpwd|credentials|creds|userinfo)=[\"']?[\w.@\\-]{1,60}:)(?P<likely>[^\s\"'/:]{3,200})",
    ),
    "login_by_token": Row(("login=",), r"(?P<keep>\blogin=[\"']?)[0-9a-f]{32,64}(?![\w-])"),
    "routing_key": Row(
        ("routing_key",), r"(?P<keep>routing_key[\"']?\s{0,2}[:=]\s{0,2}[\"']?)[0-9a-f]{32}(?![0-9a-z-])"
    ),
    "told": Row(
        ("password", "passphrase", "passcode", "passwort", "kennwort"),
        r"(?P<keep>\b(?:password|passphrase|passcode|passwort|kennwort)[ \t](?:(?:is|was|to|set to|is set to):?\s)?"
        r"[\"'“]?)"
        r"(?P<drawn>[^\s\"'”]{5,4000}[^\s\"'”.,;:!?)])",
    ),
    "told_password": Row(
        ("password", "passphrase", "passcode", "passwort", "kennwort", " pin "),
        r"(?P<keep>\b(?:(?:temporary|initial|default|generated|one-time|new)\s(?:password|passcode|pin)\s"
        r"(?:is|:)\s|(?:password|passphrase|passcode|passwort|kennwort)(?:\s(?:is|was|ist):?\s"
        r"|\s(?:for|of)\s(?:(?:key|user)\s)?(?:'[^'\r\n]{1,200}'|\"[^\"\r\n]{1,200}\"|[^\s:=\"']{1,100})(?::|\s?=)"
        r"[ ]{1,3}))[\"'“]?)"
        r"(?=[^\s\"'”]{0,60}(?:[0-9]|\w[@#$%^&!+~][\w@#$%^&!+~]))"
        r"(?![0-9+-]{1,7}\s[a-z]|[0-9]{1,3}-(?:char|digit|letter|bit|byte|day|month|year)|[<>=({$*]|[a-z_]{2,40}[<>=(]"
        r"|base64|(?:sha|utf|pbkdf|argon|md|ipv|rfc)[ _-]?[0-9])"
        r"[^\s\"'”]{3,4000}[^\s\"'”.,;:!?)]",
    ),
    "told_login": Row(
        ("login:", "login for", "credentials:", "credentials for"),
        r"(?P<keep>\b(?:invalid|incorrect|bad|wrong|failed|rejected)\s(?:login|credentials)(?::|\sfor:?)\s"
        r"[\"'(]?[\w.@+\\-]{1,100}(?:\s?/\s?|:))(?P<drawn>[^\s\"')/\\][^\s\"')]{5,200})",
    ),
    "told_pair": Row(
        ("login", "auth", "credential", "creds"),
        r"(?P<keep>\b(?:login|auth(?:enticat(?:ion|e))?|credentials?|creds)\b(?:\s(?:failed|error|rejected|refused|denied|for|as|with|user"
        r")){0,4}:?\s[(\"']?[A-Za-z][\w.@+\\-]{1,60}(?::|\s?/\s?))(?P<plausible>[^\s\"')/\\:][^\s\"')/]{5,200})",
    ),
    "told_both": Row(
        (
            " / ",
            "login",
            "credentials",
            "zugangsdaten",
            "anmeldedaten",
            "identifiants",
            "credenciales",
            "inloggegevens",
        ),
        r"(?P<keep>\b(?:user(?:name)?|zugangsdaten|anmeldedaten|identifiants|credenciales|credenziali|inloggegevens|credentials(?:\s(?:are|is|were))?|(?:log|sign)\s?in\s(?:with|as|using)):?\s[\"']?"
        r"[A-Za-z][\w.@+\\-]{1,60}[\"']?\s/\s[\"']?|(?:^|(?<=[\s\"'(]))[A-Za-z][\w.@+\\-]{1,60}:"
        r"(?=[^\s\"']{6,200}[\"')]?\s(?:is|are|was|were)\s(?:not\s)?(?:an?\s|the\s)?(?:\w{1,12}\s)?(?:login|credentials)\b))"
        r"(?P<plausible>[^\s\"'/:][^\s\"'/]{5,200})",
    ),
    "told_using": Row(
        ("log in", "logged in", "login", "sign in", "signed in", "authenticate"),
        r"(?P<keep>\b(?:log(?:ged)?[ -]?in|sign(?:ed)?[ -]in|authenticated?)\s(?:(?:as|for)\s)?(?:user\s)?"
        r"[\"']?[\w.@+\\-]{1,60}[\"']?\s(?:using|with)\s[\"']?)(?P<drawn>[^\s\"',()]{6,200})(?=[\s\"',.()]|$)",
    ),
    "failed_with": Row(
        ("failed for ", "rejected for ", "denied for "),
        r"(?P<keep>\b(?:login|authentication|auth|password)\)?\s(?:failed|rejected|denied)\sfor\s(?:user\s)?[\"']?[\w.@+\\-]{1,60}"
        r"[\"']?\s(?:using|with)\s(?:password\s)?[\"'(])(?P<likely>[^\s\"'()]{3,200})",
    ),
    # A name of which only the end is left, as pydantic shows a long object.
    "cut_name": Row(
        ("...", "…"),
        r"(?P<keep>(?:\.{3}|…)(?:\w{0,20}(?:sword|swd|ecret|oken|_key|pikey)|\w{0,6}(?:phrase|edentials?))"
        r"[\"']?\s?[:=]\s{0,2}[\"'])[^\"'\r\n]{1,400}",
    ),
    "filled": Row(
        ("....",),
        r"(?P<keep>\b[\w-]{0,40}(?:password|passwd|secret|token|api_?key)\.{4,80}\s?)(?P<likely>[^\s.\"'][^\s\"']{2,400})",
    ),
    "cloud_pair": Row(
        ("akia", "asia"),
        r"(?P<keep>(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[\s,:;|/]{1,6}[\"']?)(?P<drawn>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    "twilio_pair": Row(
        ("twilio",), r"(?P<keep>(?-i:\bAC[0-9a-f]{32})[\"']?[\s,:/]{1,3}[\"']?)[0-9a-f]{32}(?![0-9a-f])"
    ),
    # What a key is made from, and what wraps a secret to keep it from being shown.
    "wrapped": Row(
        ("fernet(", "keyspec(", "secret(", "password(", "apikey(", "sensitive("),
        r"(?P<keep>\b(?:Fernet|SecretKeySpec)\(b?[\"'](?=[\w+/=-]{16,400}[\"'])"
        r"|\b\w{0,20}(?:Secret|Password|ApiKey|Sensitive)\((?=[^\s\"'()]{6,200}\)))(?P<plausible>[^\s\"'()]{6,400})",
    ),
    "braintree": Row(("access_token$",), r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"),
    "salesforce": Row(("00d",), r"\b00D[A-Za-z0-9]{9,15}![A-Za-z0-9._]{40,200}"),
    "ansible_vault": Row(
        ("$ansible_vault",), r"(?P<keep>\$ANSIBLE_VAULT;[^\r\n]{1,60})(?:\s{1,10}[0-9a-f]{40,100}){1,400}"
    ),
    "told_phrase": Row(
        ("password", "passphrase", "passwort", "pass phrase"),
        r"(?P<keep>(?:password|passphrase|pass phrase|passwort)[\"']?\s{0,3}[:=]\s{1,3})(?P<phrase>"
        r"[a-z]{3,12}(?:[ ][a-z]{3,12}){3,7})(?=[.,;]?\s{0,3}(?:[\r\n]|$))",
    ),
    "told_words": Row(
        ("password:", "passphrase:", "passwort:", "kennwort:"),
        r"(?P<keep>\b(?:with|using|mit)\s(?:the\s|dem\s)?(?:password|passphrase|passwort|kennwort):\s{1,3})(?P<phrase>"
        r"[A-Za-z]{2,16}(?:[ ][A-Za-z0-9]{1,16}){1,7})(?=[.,;]?\s{0,3}(?:[\r\n]|$))",
    ),
    # Of a password of their own people tell which one it is, rather than what it is like.
    "told_own": Row(
        ("password is ", "passphrase is "),
        r"(?P<keep>\b(?:my|our|his|her|their)(?:\s[\w-]{1,12})?\s(?:password|passphrase)\sis\s(?:(?:definitely|really|still|certainly"
        r"|actually|just|probably|simply|surely|now|exactly|literally)\s)?[\"']?)"
        r"(?![a-z]{1,30}(?:ic|able|ible|ed|ing|ive|ory|ent|ant|ous|ful|less|al|ly|ward|ect)\b)(?P<thought>[^\s\"'(),]{12,200})",
    ),
    # In other scripts the words of a sentence stand close together.
    "foreign": Row(
        FOREIGN,
        rf"(?P<keep>(?:{'|'.join(FOREIGN)})[^\x00-\x7f\s{_OPENING}：]{{0,6}}\s{{0,2}}(?:(?P<set>[:：=])|[—–-]|[^\x00-\x7f\s{_OPENING}：]{{1,4}})?\s{{0,2}}"
        r"(?:(?P<quote>[「«„『“])|[\"']?))(?(quote)(?P<likely>[!-&(-~]{3,200})(?=[」»“”』])|(?(set)(?P<set_to>[!-&(-~]{3,200})"
        r"|(?P<plausible>[!-&(-~]{5,200})))",
    ),
    "told_key": Row(
        ("token", "key"),
        rf"(?P<keep>(?:(?:{'|'.join(_KEYS_OF)})[ _-]?key|token)[\"']?\s"
        r"(?:(?:is|was)\s)?"
        r"(?:(?:not\s)?(?:valid|invalid|rejected|expired|revoked|refused|unknown|wrong))?[:=]?\s{0,2}[\"'(]?)"
        # The number of a key is no key.
        r"(?!0x[0-9a-fA-F]{8,40}\b|(?-i:[0-9A-F]{16,40})\b)(?P<drawn>[0-9A-Za-z_-]{16,4000})",
    ),
    # Whatever the key is for, if it is long and has letters of both cases and digits.
    "key": Row(
        ("key ", "keys "),
        r"(?P<keep>(?<!public )(?<![\w-])keys?\s[\"'(]?)(?-i:(?!MII|AAAA)"
        r"(?=[A-Z0-9]{0,100}[a-z])(?=[a-z0-9]{0,100}[A-Z])(?=[A-Za-z]{0,100}[0-9])"
        r"[A-Za-z0-9]{20,128}(?![\w./-]))",
    ),
    "told_code": Row(
        ("code is ", "code: ", "code for "),
        r"(?P<keep>\b(?:verification|security|login|sign-?in|one[- ]time|sms|auth(?:entication)?|access"
        r"|confirmation|2fa|mfa|otp)"
        r"\s(?:pass)?code(?:\sfor\s[\w@.+-]{1,40}(?:\s[\w@.+-]{1,40}){0,3}?)?\s{0,2}(?:is|:)\s{1,2})[0-9]{4,8}\b",
    ),
    # The same in other languages, by what the code is for: others are those of errors.
    "code_abroad": Row(
        (
            *(
                "подтверждени",
                "одноразов",
                "проверочн",
                "de verifica",
                "de vérif",
                "de seguri",
                "de sécurit",
                "de confirma",
            ),
            *("de acc", "d'accès", "de valid", "di verifica", "di sicurezza", "di accesso", "weryfikac"),
            *("jednorazow", "doğrulama", "onay kodu", "verifikasi", "xác ", "vahvistuskoodi", "verificatiecode"),
            *(
                "einmalcode",
                "sicherheitscode",
                "anmeldecode",
                "einmalpasswort",
                "验证码",
                "驗證碼",
                "校验码",
                "認証コード",
            ),
            *("freischaltcode", "aktivierungscode", "zugangscode", " tan ", "mtan ", "activeringscode", "aktywacyjny"),
            *("d'activation", "de activaci", "di attivazione"),
            *("確認コード", "인증번호", "인증 코드", "ยืนยัน", "التحقق", "engångskod", "usage unique"),
        ),
        r"(?P<keep>(?:(?:одноразов|проверочн)\w{1,3}\s(?:код|пароль)|код\sподтверждения"
        r"|(?:c[óo]digo|code|codice)\s(?:de|d'|di)\s?(?:verifica\w{0,4}|vérification|seguri\w{3,5}|sécurité|confirma\w{3,5}"
        r"|acc\w{2,5}|validation|activation|activación|attivazione|sicurezza)|code\sà\susage\sunique|kod\s(?:weryfikacyjny|aktywacyjny)|\bm?tan|jednorazowy\skod"
        r"|(?:doğrulama|onay)\skodu|kode\sverifikasi|mã\sxác\s\w{3,5}|vahvistuskoodi|engångskod"
        r"|(?:bestätigungs|einmal|sicherheits|anmelde|verificatie|freischalt|aktivierungs|zugangs|activerings)(?:code|passwort)"
        r"|验证码|驗證碼|校验码|(?:認証|確認)コード|인증\s?(?:번호|코드)|รหัสยืนยัน|رمز\sالتحقق)"
        r"(?:\s(?:lautet|ist|est|es|is|é|è|jest|adalah|là|är))?\s{0,2}[:：—–-]?\s{0,2}(?:は|是|为|為|은|는)?\s?[\"'«「]?)"
        r"[0-9]{4,8}(?![\w%-]|[.,]\d)",
    ),
    "told_codes": Row(
        ("codes",),
        r"(?P<keep>\b(?:recovery|backup|one[- ]time|scratch|mfa|2fa|otp)[ _-]?(?:pass)?codes\b[^\r\n\"'\[\]():=]{0,60}"
        r"[\"']?(?:[:=]\s{0,2}|\s)[\[(\"']{0,3})(?=[a-z-]{0,12}[0-9])[a-z0-9-]{6,24}(?:[\"']?(?:,\s{0,3}|\s)[\"']?"
        r"(?=[a-z-]{0,12}[0-9])[a-z0-9-]{6,24}){0,20}(?![\w%])",
    ),
    "told_one_code": Row(
        (
            "backup code ",
            "backup code: ",
            "recovery code ",
            "recovery code: ",
            "scratch code ",
            "time code ",
            "time code: ",
        ),
        r"(?P<keep>\b(?:backup|recovery|scratch|one[- ]time)\scode:?\s(?:is\s|was\s)?[\"'(]?)(?=[a-z-]{0,12}[0-9])"
        r"[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,5}(?![\w%-])",
    ),
    "told_entry_code": Row(
        ("access code ", "invite code ", "invitation code ", "unlock code ", "door code ", "activation code "),
        r"(?P<keep>\b(?:access|invite|invitation|unlock|door|activation)\scode\s(?:is\s|was\s)?[\"'(]?)"
        r"(?P<drawn>[A-Za-z0-9][A-Za-z0-9-]{7,80})(?![\w.-])",
    ),
    "use_code": Row(
        ("use code ", "enter code ", "use the code ", "enter the code ", "with code "),
        r"(?P<keep>\b(?:use|enter|with)\s(?:the\s)?code:?\s)[0-9]{4,8}(?=[,.]?\s(?:to|for|as|when|within|on)\b)",
    ),
    "your_code": Row(
        (" is your ",), r"\b(?:[A-Z]-)?[0-9]{4,8}(?=\sis\syour\s[\w ]{0,40}\b(?:code|otp|pin|passcode)\b)"
    ),
    "phrase": Row(
        ("mnemonic", "seed", "recovery phrase"),
        r"(?P<keep>\b(?:mnemonic|seed phrase|recovery phrase|seed)[\"']?\s{0,3}(?:(?:is|was|are):?|[:=]|(?=[\"']))"
        r"\s{0,3}[\"']?)(?:[a-z]{3,8}\s){11,23}[a-z]{3,8}",
    ),
    # Of which some words are missing.
    "phrase_in_part": Row(
        ("mnemonic", "seed phrase", "recovery phrase"),
        r"(?P<keep>\b(?:mnemonic|seed phrase|recovery phrase)\b[^\r\n\"']{0,20}?[:\s]\s{0,2}[\"']?)"
        r"(?P<phrase>[a-z]{3,8}(?:\s[a-z]{3,8}){7,23})",
    ),
    "putty": Row(
        ("private-",), r"(?P<keep>Private-(?:Lines|MAC|Hash)[^\r\n]{0,20})(?:\s{1,2}[A-Za-z0-9+/=]{16,80}){1,200}"
    ),
    "crypt": Row(
        (
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
        r"\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2(?:i|d|id))\$[A-Za-z0-9./=,$+]{20,200}"
        r"|\bgrub\.pbkdf2\.sha[0-9]{1,3}\.[0-9]{1,9}\.[0-9A-Fa-f]{20,300}\.[0-9A-Fa-f]{20,300}"
        r"|\bpbkdf2_sha[0-9]{1,3}\$[0-9]{1,9}\$[A-Za-z0-9+/=$]{20,200}|\bSCRAM-SHA-[0-9]{1,3}\$[0-9]{1,9}:"
        r"[A-Za-z0-9+/=$:]{20,300}"
        r"|\b(?:scrypt|pbkdf2):[\w:]{1,40}\$[A-Za-z0-9]{1,64}\$[0-9a-f]{32,256}"
        r"|\{(?:SSHA|SHA|SMD5|MD5|CRYPT|PBKDF2)[\w-]{0,12}\}[A-Za-z0-9+/=$.]{16,300}",
    ),
    "own_scheme": Row(("ssws", "geniekey"), r"(?P<keep>\b(?:SSWS|GenieKey)\s{1,3})[A-Za-z0-9_-]{16,100}"),
    "wordpress": Row(("wordpress_",), r"(?P<keep>\bwordpress_(?:logged_in|sec)_\w{0,40}=)[^\s;\"',&]{8,400}"),
    "url_token": Row(
        ("://",), r"(?P<keep>(?<![A-Za-z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)[A-Za-z0-9_-]{24,400}(?=[:@])"
    ),
    "oracle": Row(("jdbc:oracle",), r"(?P<keep>jdbc:oracle:[a-z0-9]{2,8}:[^/\s@]{1,100}/)[^\s@]{1,4000}(?=@)"),
    "easy_connect": Row(
        (
            "@//",
            "@(desc",
            *(f"ora-{n}" for n in "01236"),
            "cx_oracle",
            "oracledb",
            "ezconnect",
            "dpy-",
            "tns:",
            "userid=",
        ),
        r"(?P<keep>(?<![\w./@:-])[A-Za-z][\w$#.-]{0,60}/)(?:[^\s@\"'/]{1,200}(?=@//)|(?P<likely>[^\s@\"'/()]{5,200})"
        r"(?=@(?!sha256)(?:\(|[A-Za-z][\w.-]{0,100}(?:[:/\s,;\"').]|$))))",
    ),
    # What a vendor calls its key, where it looks like one.
    "query_key": Row(
        (
            "key=",
            "appid=",
            "app_id=",
            "license=",
            "licence=",
            "sign=",
            *(f"{lead}{name}=" for lead in "?&" for name in ("k", "t", "ak", "sk", "st")),
        ),
        r"(?P<keep>[?&](?:[\w.-]{0,40}key|app_?id(?!=[0-9a-f]{8}-)|licen[sc]e|sign|k|t|ak|sk|st)=)(?P<drawn>[A-Za-z0-9_-]{16,400})(?=[&#\s\"')>,;]|$)",
    ),
    # In the address of a login even a key of words is one.
    "login_query": Row(
        ("login?", "login/?", "signin?", "sign-in?", "unlock?", "sso?"),
        r"(?P<keep>/[\w.-]{0,40}(?:login|sign-?in|unlock|sso)/?\?(?:[\w.-]{1,40}=[^&\s\"']{0,200}&){0,6}(?:key|k|hash|ticket)=)"
        r"(?P<plausible>[^&\s\"'<>#]{6,400})",
    ),
    "cipher_key": Row(
        ("decrypt", "encrypt", "cipher", "hmac", "aes "),
        r"(?P<keep>(?:decrypt|encrypt|cipher|hmac|\baes)[^\r\n]{0,60}?\bkey(?:[\"']?\s?[:=]\s?[\"']?|\s[\"']))"
        r"(?:[0-9a-f]{32,128}|[A-Za-z0-9+/]{22,88}={1,2})(?![\w-])",
    ),
    # What a source of packages is called, with two strokes for a dot.
    "package_source": Row(
        ("bundle_",),
        r"(?P<keep>\bBUNDLE_(?=\w{1,60}__)\w{1,120}[\"']?\s{0,2}[:=]\s{0,2}[\"']?)"
        r"(?:[^\s:\"'/]{1,100}:[^\s\"'/]{4,200}|(?P<drawn>[A-Za-z0-9_-]{10,200}))",
    ),
    # What was put in for a variable, and a variable for which something was put in.
    "put_in": Row(
        ("${", "{{", ' for "$', " for '$", " for $", "expanded to", "resolved to"),
        r"(?P<keep>\b(?:value|substituted|replaced|using|put)\s[\"'])(?P<likely>[^\"'\r\n]{3,200})(?=[\"']\s(?:(?:was|is|has\sbeen)\s)?"
        r"(?:\w{3,12}\s)?for\s[\"']?(?:\$|\{\{)\{?\s?[\w.-]{0,60}(?:password|passwd|passphrase|pwd|secret|token|api_?key)\b)",
    ),
    "put_in_after": Row(
        ("${", "{{", "expanded to", "resolved to"),
        r"(?P<keep>(?:\$\{?|\{\{)\s?[\w.-]{0,60}(?:password|passwd|passphrase|pwd|secret|token|api_?key)\s?\}{0,2}[\"']?\s(?:was\s|is\s)?"
        r"(?:\w{3,14}\s)?(?:to|with|by)\s[\"'])(?P<likely>[^\"'\r\n]{3,200})(?=[\"'])",
    ),
    "header": Row(
        ("authorization",),
        r"(?P<keep>(?<![A-Za-z0-9])(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}+(?:[bfru](?=[\"']))?+(?P<quote>[\"'])?+"
        r"(?:(?:bearer|basic|digest|token|negotiate|ntlm|apikey|aws4-hmac-sha256|key)\s{1,3}+)?+)"
        r"(?!(?:the|a|an|no|not|header|is|was|must|required|missing|failed|error|denied|invalid|expected)\b|[<{$\[*.]"
        r"|your[-_ ])(?:(?<=\w\s)|(?<=\w\s\s)|(?![a-z]{1,20}(?:[.,;]|$|\s{1,3}(?:[a-z]{1,20}\b|$))))"
        r"(?(quote)[^\r\n\"']{1,4000}|(?:[^\r\n\"']|\"[^\"\r\n]{0,400}\"|'[^'\r\n]{0,400}'){1,4000})",
    ),
    "signature": Row(
        ("-signature",),
        r"(?P<keep>\b[\w-]{1,40}-signature(?:-256)?[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:t=[0-9]{1,12},\s?)?(?:v[0-9]|sha[0-9]{1,3})=)"
        r"[0-9A-Za-z+/=_-]{20,400}",
    ),
    "login_call": Row(
        ("login", "signin", "sign_in", "authenticate"),
        r"(?P<keep>[\"'][\w./-]{0,40}(?:login|sign_?in|authenticate)[\"'][^\[\]{}\r\n]{0,60}[\"'](?:params|args|arguments)[\"']"
        r"\s{0,2}:\s{0,2}\[\s{0,2}[\"'][^\"'\r\n]{1,100}[\"']\s{0,2},\s{0,2}[\"'])[^\"'\r\n]{1,200}",
    ),
    "cookie": Row(
        ("cookie",),
        r"(?P<keep>(?<![A-Za-z0-9])(?:set-)?cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
        r"(?!(?:samesite|path|domain|expires|max-age|secure|httponly)\b)(?=[^\s=;\"']{1,100}=)(?P<cookies>[^\r\n\"']{1,4000})",
    ),
    "scheme": Row(
        ("bearer", "basic"),
        r"(?P<keep>(?<![A-Za-z0-9])(?:bearer|basic)\s{1,3})"
        r"(?=[A-Za-z0-9._~+/-]{0,60}[0-9=+/]|dXN|YWR|cm9|YXBp|Z3V)[A-Za-z0-9._~+/-]{8,4000}={0,2}(?![A-Za-z0-9=])",
    ),
    "scheme_token": Row(
        ("bearer",),
        r"(?P<keep>(?<![A-Za-z0-9])bearer(?:\stoken\s|,\s)[\"']?)(?P<drawn>[A-Za-z0-9._~+/-]{6,4000}={0,2})",
    ),
    "azure_account": Row(
        ("account.key",),
        r"(?P<keep>\bfs\.azure\.account\.key(?:\.[\w-]{1,60}){0,8}[\"']?\s{0,3}[=:,\s]\s{0,3}[\"']?)"
        r"[A-Za-z0-9+/]{16,200}={0,2}",
    ),
    "netrc": Row(
        ("password", "passphrase", " pass ", " psk "),
        r"(?P<keep>\b(?:login|user|connect|modify)\s{1,3}[^\s|,;]{1,100}\s{1,3}(?:[\w-]{1,30}-)?(?:password|passphrase|pass|psk)"
        r"\s{1,3}[\"']?)(?P<likely>[^\s|\"']{3,400})",
    ),
    # Who it is for, and then what is said to be the password.
    "told_after_user": Row(
        PASSWORDS,
        r"(?P<keep>\b(?:(?:log(?:ged|ging)?|sign(?:ed|ing)?)[ -]?in\b[^\r\n\"'.;:]{0,60}?"
        r"\s(?:with|using)\s(?:the\s)?(?:password|passphrase)\s"
        rf"|(?:user(?:name)?|benutzer|login|utilisateur|usuario|utente)[:=]?\s[\"']?[\w.@+\\-]{{1,60}}[\"']?,\s(?:{'|'.join(PASSWORDS)})\s))"
        r"(?P<thought>[^\s\"'()]{4,200})",
    ),
    "first_password": Row(
        ("password", "passwort", "kennwort"),
        r"(?P<keep>\b(?:temporary|initial|first|one-time|generated|temporäres|vorläufiges)\s(?:password|passcode|passwort|kennwort)"
        r"(?:\sfor\s(?:\w{1,20}\s){0,2}[\w.@+-]{1,60})?\s(?:is|was|ist|lautet):?\s"
        r"|\b(?:password|passphrase)\sfor\s(?:user\s)?[\w.@\\/+-]{1,60}:[ ](?=\S{1,200}(?:[\r\n]|$)))"
        r"(?P<thought>[^\s\"'()]{4,200})(?=[.,;!]?(?:\s|$))",
    ),
    "influx": Row(("&p=", "&pw="), r"(?P<keep>[?&]u(?:ser)?=[^&\s\"']{1,60}&pw?=)(?P<likely>[^&\s\"'<>]{3,400})"),
    "digest": Row(
        ("response=",), r"(?P<keep>\bnonce=[^\r\n]{1,400}?\bresponse=\\{0,2}[\"']?)[0-9a-fA-F]{32,64}(?![0-9a-zA-Z])"
    ),
    "webhook_path": Row(
        ("/services/t",),
        r"(?P<keep>(?-i:/services/)(?=T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/(?!X{8})))(?-i:[A-Za-z0-9/]{30,100})",
    ),
    "path_token": Row(
        tuple(
            "token/ reset/ reset- /magic magic/ /invit /verif /activat /confirm "
            "login/ unlock/ /unsubscribe/ /join/ /accept".split()
        ),
        r"(?P<keep>/(?:[\w-]{0,20}(?:token|reset|magic|login|unlock)|invit\w{0,5}|verif\w{0,8}|activat\w{0,3}|confirm\w{0,5}|join"
        r"|unsubscribe|accept)(?:-[\w-]{1,20})?/(?:[\w-]{1,12}/)?)"
        r"(?P<drawn>[A-Za-z0-9_-]{20,400})(?![\w.-])",
    ),
    "sql": Row(
        ("password", "identified", "encryption key", "_decrypt(", "_encrypt(", "crypt("),
        r"(?P<keep>\b(?:(?:password|(?:encryption|master|symmetric)\s{1,3}key"
        r"|(?:(?-i:IDENTIFIED)|(?<=[\"'`]\s)identified|user\s{1,3}\S{1,60}\s{1,3}identified)"
        r"(?:\s{1,3}with\s{1,3}\S{1,60})?\s{1,3}by)"
        r"\s{1,3}|(?-i:PASSWORD)\(|set\s{1,3}password\s{1,3}for\s{1,3}[^=\r\n]{1,100}=\s{0,3}|(?:pgp_sym|aes)_(?:en|de)crypt"
        r"\([^'\r\n]{1,100},\s{0,3}|\bcrypt\()"
        r"[\"'])(?P<likely>[^\"'\r\n]{1,400})",
    ),
    "sql_key": Row(
        ("pragma ",), r"(?P<keep>\bpragma\s{1,3}(?:hex)?(?:re)?key\s{0,3}=\s{0,3}(?:[\"'](?:x')?))[^\"'\r\n]{1,400}"
    ),
    "sql_bare": Row(
        ("identified",),
        r"(?P<keep>(?-i:\bIDENTIFIED)\s{1,3}by\s{1,3})(?P<likely>[^\s\"';]{4,200})(?=[\s;]|$)",
    ),
    # Of digits alone: so many that it is no count.
    "told_number": Row(
        # Not by "code", which stands in every error that is written as JSON.
        (
            "otp",
            "pin",
            "cvv",
            "cvc",
            "passcode",
            "2fa",
            "mfa",
            "sms",
            "verification",
            "login",
            "auth",
            "one-time",
            "one time",
            "your",
        ),
        r"(?P<keep>\b(?:(?:otp|totp|pin|passcode|(?:2fa|mfa|otp|sms|pin|verification|login|auth|one[- ]time)[ _-]?"
        r"(?:pass)?code"
        r"|your(?:\s[a-z-]{1,20}){0,2}\scode(?=\s(?:is|:)\s))"
        r"[\"']?(?:\s(?:is|was|code|number|you|entered|provided|supplied|given|typed|saisi|inserito|introducido|digitado)){0,3}\s{0,2}[:=#]?\s{0,2}[\"'(]{0,2}(?=[0-9]{4})|cv[vc]2?[\"']?\s{0,2}[:=#]?\s{0,2}"
        r"[\"'(]{0,2}))[0-9]{3,8}(?![\w%-]|\.\w)",
    ),
    "encoded": Row(
        ("%3d", "%3a"),
        r"(?P<keep>(?:token|secret|password|passwd|pwd|key|signature|sig)(?:%22)?(?:%3D|%3A)(?:%22)?)"
        r"(?:[^&\s\"'%<>]|%(?!0[AD]|2[026C]|3[BCE]|5D|7[CD])[0-9A-F]{2}){1,4000}",
    ),
    "wifi": Row(("wifi:",), r"(?P<keep>\bWIFI:[^\r\n]{0,200};P:)[^;\r\n]{1,100}"),
}


@cache
def rows() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """The rows and the words that ask for them, each compiled when the first text comes along that has one of these."""
    return tuple((row.words, pattern(row.source, re.IGNORECASE)) for row in ROWS.values())


@cache
def _asking() -> tuple[tuple[str, int], ...]:
    return tuple((word, number) for number, row in enumerate(ROWS.values()) for word in row.words)


def asked(lower: str) -> list[re.Pattern[str]]:
    """The patterns of the rows that a text, in lower case, has a word of, in their order."""
    # One loop over all words: asking row by row takes longer than asking.
    numbers = {number for word, number in _asking() if word in lower}
    return [rows()[number][1] for number in sorted(numbers)]


@cache
def commands() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Those of them that are about command lines."""
    return tuple(row for name, row in zip(ROWS, rows(), strict=True) if name in COMMANDS)
