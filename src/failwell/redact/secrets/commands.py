"""Secrets that are given to programs: on command lines, in lists of arguments, in protocols, and on devices."""

from __future__ import annotations

from typing import Final

from .row import Row

# What stands between a flag and its value, on a command line and in a list of arguments.
_NEXT_ARGUMENT: Final = r"(?:[ =]{1,3}[\"']?|[\"'],?\s{0,3}[\"'])"

# What is said of a flag, rather than given to it.
_NO_WORD: Final = (
    r"(?!(?:requires?|needs?|options?|arguments?|takes|expects?|flags?|switch|is|was|must|and|or|not|without|with|to|but"
    r"|if|cannot|can)\b)"
)

# A word and a number is what things are called.
_NUMBERED: Final = r"(?!(?-i:[a-z]{1,20}[-_]?[0-9]{0,3})(?:[\s\"']|$))"

COMMANDS: Final[dict[str, Row]] = {
    "client_flag": Row(
        ("mysql", "mariadb", "sshpass"),
        r"(?P<keep>\b(?:(?:mysql|mariadb)(?:-?[a-z]{1,10})?|sshpass)\b(?:[\"',\s]{1,4}(?!(?-i:-p))[^\s\"',|;]{1,60}){0,8}"
        r"[\"',\s]{1,4}(?-i:-p))[^\s\"',-][^\s\"',]{0,200}",
    ),
    # With a space in between the password is asked for, and the word is the name of a database; but not always.
    "client_flag_apart": Row(
        ("mysql", "sshpass"),
        r"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|sshpass)\b(?:[ ]-{1,2}[A-Za-z][^\s-]{0,40}){0,6}[ ](?-i:-p)[ ])"
        r"[^\s-]\S{0,200}",
    ),
    "archive_flag": Row(
        ("zip", "7z", "rar ", "ssh-keygen", "mosquitto_", "psexec", "winrm", "freerdp", "rdesktop"),
        r"(?P<keep>\b(?:(?:zip|unzip|zipcloak)\b[^\r\n|;]{0,100}?\s(?-i:-P)\s{1,3}|7z[a-z]{0,2}\b(?:(?!switch|option|unknown|usage)[^\r\n|;]){0,100}?\s(?-i:-p)"
        r"|(?:un)?rar\s[^\r\n|;]{0,100}?\s(?-i:-h?p)|ssh-keygen\b[^\r\n|;]{0,100}?\s(?-i:-[NP])\s{1,3}|(?:psexec|(?:evil-)?winrm|rdesktop)\b[^\r\n|;]{0,100}?\s(?-i:-p)\s{1,3}|[xw]?l?freerdp\b[^\r\n|;]{0,100}?\s/p:|mosquitto_[a-z]{2,8}\b[^\r\n|;]{0,100}?\s(?-i:-P)\s{1,3}))"
        rf"{_NO_WORD}[^\s\"'-][^\s\"']{{0,200}}",
    ),
    "new_user": Row(
        ("net user", "htpasswd", "chpasswd", "wpa_passphrase", "radtest", "samba-tool", "rclone obscure", ".logon"),
        r"(?P<keep>\bnet\s{1,3}user\s{1,3}\S{1,60}\s{1,3}|\bhtpasswd\s{1,3}-\w{0,4}b\w{0,4}\s{1,3}\S{1,100}\s{1,3}\S{1,60}"
        r"\s{1,3}|\bwpa_passphrase\s{1,3}\S{1,60}\s{1,3}|\bradtest\s{1,3}(?:-\w{1,6}\s{1,3}){0,4}\S{1,60}\s{1,3}"
        r"|\bsamba-tool\s{1,3}user\s{1,3}(?:create|add)\s{1,3}\S{1,60}\s{1,3}|\brclone\s{1,3}obscure\s{1,3}"
        r"|\.LOGON\s{1,3}[^\s,]{1,100},|\bchpasswd\b[^\r\n]{0,40}\s{1,20}[\w.-]{1,40}:(?=[^\s:]{1,200}\s)"
        r"|\becho\s{1,3}[\"']?[\w.-]{1,40}:(?=[^\r\n|]{1,200}\|[^\r\n]{0,20}chpasswd))(?!/)[^\s\"'|]{1,200}",
    ),
    "login_flag": Row(
        (
            "login",
            "twine",
            "mongo",
            "redis-cli",
            "ldap",
            "sqlcmd",
            "bcp ",
            "secret set",
            "kadmin",
            "snowsql",
            "openssl",
            "snmp",
        ),
        r"(?P<keep>\b(?:(?:docker|podman|buildah|skopeo|nerdctl|helm|crane|oc|az|cf)\b"
        r"[^\r\n|;]{0,60}?[\s\"']login\b"
        r"[^\r\n|;]{0,200}?[\s\"']-p|(?:twine|mongo(?:sh|dump|restore|import|export)?)\b[^\r\n|;]{0,200}?[\s\"']-p"
        r"|redis-cli\b[^\r\n|;]{0,200}?[\s\"'](?:-a|--pass)|(?:ldap[a-z]{2,8}|kadmin)\b[^\r\n|;]{0,200}?[\s\"']-w"
        r"|gh\s{1,3}secret\s{1,3}set\b[^\r\n|;]{0,200}?\s(?:-b|--body)"
        r"|openssl\b[^\r\n|;]{0,200}?[\s\"'](?-i:-k)|snmp[a-z]{2,9}\b[^\r\n|;]{0,200}?[\s\"'](?-i:-[cAX])"
        # Here the flag is the port's, so a number stays.
        r"|snowsql\b[^\r\n|;]{0,200}?\s-p(?![ =]{1,3}[0-9]{1,5}(?:\s|$))"
        rf"|(?:sqlcmd|bcp)\b[^\r\n|;]{{0,200}}?[\s\"'](?-i:-P)){_NEXT_ARGUMENT})(?!\[redacted){_NO_WORD}[^\s\"'-][^\s\"']{{0,200}}",
    ),
    "login_pair": Row(
        ("sqlplus", "sqlldr", "expdp", "impdp", "rman ", "imp ", "sqlcl"),
        r"(?P<keep>\b(?:sqlplus|sqlcl|sqlldr|expdp|impdp|rman|exp|imp)\s{1,3}(?:-\w{1,10}\s{1,3}|target\s{1,3}){0,3}"
        r"[^\s/@\"'-]{1,60}/)(?:\"[^\"\r\n]{1,200}\"|[^\s@\"']{1,4000})(?=[@\s\"']|$)",
    ),
    "net_use": Row(
        ("/user:", "/u:"),
        r"(?P<keep>\bnet\s{1,3}use\s[^\r\n|;]{0,200}?(?:\s/u(?:ser)?:\S{1,100}\s{1,3}"
        r"|\\{2,4}[^\s\\]{1,100}\\{1,2}\S{1,100}\s{1,3}(?=\S{1,200}\s{1,3}/u)))"
        r"(?!(?:fail(?:s|ed)|returned|exited|gave|with|and|on|is|was|in|at|error)\b)[^\s\"'/*][^\s\"']{0,200}",
    ),
    "argument": Row(
        tuple(f"{quote}-{flag}{quote}" for quote in "\"'" for flag in ("p", "a", "w", "pw")),
        r"(?P<keep>[\"'](?-i:-u|-U|--user(?:name)?|-D|-h|--host)[\"'],[^\r\n\[\]()]{0,200}?[\"'](?-i:-[pPaw]|-pw)[\"'],\s{0,3}[\"'])"
        r"(?![0-9]{1,5}[\"'])(?P<likely>[^\"'\r\n/:\s]{3,200})(?=[\"'])",
    ),
    # What opens a key, after what opens the account.
    "argument_key": Row(
        ("'-k'", '"-k"'),
        r"(?P<keep>[\"'](?-i:-[pPw]|-pw)[\"'],\s{0,3}[\"'][^\"'\r\n]{1,200}[\"'],\s{0,3}[\"'](?-i:-k)[\"'],\s{0,3}[\"'])"
        r"(?P<likely>[^\"'\r\n/:\s]{3,200})(?=[\"'])",
    ),
    # In capitals both are what they seem; only of one client the second is how to print.
    "flags_in_capitals": Row(
        (" -p ",),
        r"(?P<keep>(?<!\S)(?-i:-U)[ =][\"']?[A-Za-z][^\s|;]{0,100}(?:\s{1,3}(?!(?-i:-P)\s)[^\s|;]{1,100}){0,4}?\s{1,3}"
        r"(?-i:-P)\s{1,3}[\"']?)(?![0-9]{1,5}(?:[\s:]|$)|(?:border|columns|expanded|x|fieldsep|footer|format|linestyle|null|numericlocale|pager"
        r"|recordsep|tableattr|title|tuples_only|unicode)\w{0,20}(?:[=\s\"']|$))(?P<likely>(?!/|\w{1,12}://)[^\s|\"']{3,200})",
    ),
    # Whatever the program: who it is for, and then a flag that is the password's after that one.
    "flags": Row(
        (" -p ", " -p:", " -pw ", " -w ", " -a ", " /p ", " /p:", " /rp "),
        r"(?P<keep>(?<!\S)(?:(?-i:-[uUlDn]|--?user(?:name)?|--?login|/u(?:ser)?|/ru)[ =:]{1,3}|user\s{1,3})"
        r"[\"']?[A-Za-z][^\s|;]{0,100}"
        r"(?:\s{1,3}(?!(?-i:-[pPwa]|/r?p)[\s:])[^\s|;]{1,100}){0,8}?\s{1,3}(?-i:-[pPwa]|-pw|/r?p)(?:\s{1,3}|:)[\"']?)"
        r"(?![0-9]{1,5}(?:[\s:]|$))(?P<login>(?!/|\w{1,12}://)[^\s|\"']{3,200})",
    ),
    # Where a login has failed, what stands after such a flag, and what a call is given after a place and a name.
    "flag_of_login": Row(
        (
            "authentication failed",
            "login failed",
            "access denied",
            "unauthorized",
            "incorrect password",
            "login incorrect",
        ),
        rf"(?P<keep>(?<!\S)(?-i:-pw?)\s{{1,3}}[\"']?|\b[A-Za-z_.]{{2,40}}\((?:[\"'][^\"'\r\n]{{1,60}}[\"'],\s?){{2}}[\"'])"
        rf"{_NUMBERED}(?P<plausible>(?!/|\w{{1,12}}://)[^\s|\"']{{6,200}})",
    ),
    "driver": Row(
        ("driver(", "ftp("),
        r"(?P<keep>\b(?:\w{0,20}driver|FTP(?:_TLS)?)\((?:[\"'][^\"'\r\n]{1,60}[\"'],\s?){2}[\"'])(?P<likely>[^\s\"']{3,200})",
    ),
    # What was typed after a prompt for it.
    "typed": Row(
        ("password:",),
        r"(?P<keep>\bsen[dt]:?\s{1,2}(?:--\s)?b?[\"'])(?P<likely>[^\"'\\\r\n]{3,200})(?=\\[rn]|[\"'])",
    ),
    "shared_key": Row((": psk ", ": eap ", ": xauth "), r"(?P<keep>:\s(?-i:PSK|EAP|XAUTH)\s[\"'])[^\"'\r\n]{1,200}"),
    "given_last": Row(
        ("+login ", "secret-set-value", "-setcookie", "task.setvariable"),
        r"(?P<keep>\+login\s{1,3}\S{1,60}\s{1,3}|\bsecret-set-value\s[^\r\n|;]{0,100}--base64\s{1,3}|-setcookie\s{1,3}"
        r"|##vso\[task\.setvariable\s[^\]\r\n]{0,60}(?:token|secret|password|key)[^\]\r\n]{0,60}\])(?![+-])[^\s\"']{4,400}",
    ),
    "flag_glued": Row(
        ("sqlcmd", "bcp ", "isql", "osql"),
        r"(?P<keep>\b(?:sqlcmd|bcp|[io]sql|tsql)\b[^\r\n|;]{0,200}?\s(?-i:-P))(?P<likely>[^\s\"'-][^\s\"']{2,200})",
    ),
    "ftp": Row(("ftp",), r"(?P<keep>\bs?ftp>\s{0,3}user\s{1,3}\S{1,60}\s{1,3})[^\s\"']{1,200}"),
    # A long random word after a flag of one letter is a token or a key.
    "flag_token": Row(
        ("codecov", "doctl", "netlify", "vercel", "snyk", "ngrok", "glab", "logcli", "signtool", "certutil"),
        r"(?P<keep>\b(?:(?:codecov|doctl|netlify|vercel|glab|logcli)\b[^\r\n|;]{0,100}?\s-t\s{1,3}|snyk\s{1,3}auth\s{1,3}"
        r"|ngrok\s{1,3}(?:config\s{1,3}add-)?authtoken\s{1,3}|(?:signtool|certutil)\b[^\r\n|;]{0,200}?\s[-/]p\s{1,3}))"
        rf"{_NO_WORD}[^\s\"'-][^\s\"']{{5,400}}",
    ),
    "flag_random": Row(
        (" -p ", " -pw ", " -pass "),
        r"(?P<keep>(?<!\S)-(?:pw?|pass)\s{1,3}[\"']?)(?P<random>[A-Za-z0-9]{8,200})(?![\w./:-])",
    ),
    # Glued to its flag, as the clients of databases have it; but no option that begins with the letter.
    "flag_random_glued": Row(
        (" -p", "'-p", '"-p', "/p:"),
        r"(?P<keep>(?<!\S)(?:(?-i:-p)(?!ack|age|ara|art|ath|attern|er|hp|lat|lug|oint|ool|ort|re|ri|ro|thread|ub|ull|ush|y)|/p:))"
        r"(?P<random>[A-Za-z0-9]{8,200})(?![\w./:=-])",
    ),
    # Of most programs this is a tag, a time or the name of a test: so there are digits in three places, and both cases.
    "flag_drawn": Row(
        (" -t ", "'-t'", '"-t"'),
        r"(?P<keep>(?<!\S)(?-i:-t)\s{1,3}[\"']?)(?=[0-9]{0,40}(?:[A-Za-z]{1,40}[0-9]{1,40}){3})"
        r"(?-i:(?=[a-z0-9]{0,100}[A-Z])(?=[A-Z0-9]{0,100}[a-z]))(?P<random>[A-Za-z0-9]{10,200})(?![\w./:=-])",
    ),
    # With digits in fewer places it must make no words; and so behind the flag for a key, which may be anything, too.
    "flag_scrambled": Row(
        (" -t ", "'-t'", '"-t"', " -k ", "'-k'", '"-k"'),
        r"(?P<keep>(?<!\S)(?-i:-[tk])\s{1,3}[\"']?)(?P<scrambled>[A-Za-z0-9]{10,200})(?![\w./:=-])",
    ),
    # The names of licences have one number at most; a key is drawn, or in groups.
    "flag_licence": Row(
        ("--licen",),
        r"(?P<keep>(?<!\S)--licen[cs]e[ =]{1,3}[\"']?)(?=[0-9]{0,40}(?:[A-Za-z]{1,40}[0-9]{1,40}){2})"
        r"(?P<random>[A-Za-z0-9]{10,200})(?![\w./:=-])",
    ),
    "flag_licence_groups": Row(
        ("--licen",),
        r"(?P<keep>(?<!\S)--licen[cs]e[ =]{1,3}[\"']?)"
        r"(?-i:(?=[A-Z-]{0,40}[0-9])[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,9})(?![\w./:=-])",
    ),
    "settings": Row(
        ("http-basic", "bundle config", "setuser", "service install", "http -a ", "https -a ", "xh -a "),
        r"(?P<keep>\bhttp-basic\.\S{1,100}\s{1,3}\S{1,60}\s{1,3}|\bbundle\s{1,3}config\s[^\r\n|;:]{1,200}\s[\w.-]{1,60}:"
        r"|\bACL\s{1,3}SETUSER\s[^\r\n>]{0,200}?\s[>#]|\bcloudflared\s{1,3}service\s{1,3}install\s{1,3}"
        r"|\b(?:https?|xh)\s{1,3}-a\s{1,3}[\w.@-]{1,60}:)(?P<likely>[^\s\"']{3,4000})",
    ),
    "transfer": Row(("lftp",), r"(?P<keep>\blftp\b[^\r\n|;]{0,100}?\s-u\s{1,3}[^\s,\"']{1,60},)[^\s\"']{1,200}"),
    "secure_string": Row(
        ("securestring",), r"(?P<keep>\bConvertTo-SecureString\s{1,3}(?:-String\s{1,3})?[\"'])[^\"'\r\n]{1,400}"
    ),
    "samba": Row(("-u",), r"(?P<keep>(?<![\w-])-U[ =]?[\"']?[A-Za-z][\w./\\-]{0,60}%)[^\s\"']{1,200}"),
    "piped": Row(
        ("-stdin", "--with-token", "sudo -s", "password-command", "kinit", "cryptsetup", "passwd", "passphrase-fd"),
        r"(?P<keep>password-command[ =]{1,3}[\"']?echo\s{1,3}|\b(?:echo|printf)\s{1,3}(?:-n\s{1,3})?[\"']?)"
        r"[^\s\"'|]{1,4000}"
        r"(?:(?<=\S)(?=[\"']\s{0,3}$)|(?=[\"']?\s{0,3}\|[^\r\n]{0,200}(?:-stdin|--with-token|sudo\s{1,3}-S|\bkinit|\bcryptsetup|\b(?:smb)?passwd|passphrase-fd)))",
    ),
    "rabbit": Row(
        ("rabbitmqctl",),
        r"(?P<keep>\brabbitmqctl\b[^\r\n|;]{0,60}\s(?:add_user|change_password"
        r"|authenticate_user)\s{1,3}\S{1,60}\s{1,3})"
        r"[^\s\"']{1,200}",
    ),
    "workflow": Row(
        ("::add-mask", "::set-output", "::save-state"),
        r"(?P<keep>::add-mask::|::(?:set-output|save-state) name=[\w-]{0,40}(?:token|secret|password|key)"
        r"[\w-]{0,20}::)"
        r"[^\s\"']{1,4000}",
    ),
    "environment": Row(
        ("pass", "secret", "token", "_key"),
        r"(?P<keep>(?:^|[\r\n])[ \t]{0,8}(?-i:[A-Z][A-Z0-9_]{0,60})(?<=PASSWORD|..PASSWD|..SECRET|...TOKEN"
        r"|...._KEY|....PASS)"
        r"(?:[ ]{2,60}|\t{1,4}))(?![0-9]{4}-[0-9]{2}-)(?=\S{0,100}[0-9])[^\s|]{6,20000}(?=[ \t]{0,40}(?:[\r\n]|$))",
    ),
    # Where the place alone says which of the words is the password.
    "positional": Row(
        ("chap-secrets", "pap-secrets", "sqlconnectinfo", " using ", "auth-user-pass", "password-command", "identify "),
        r"(?P<keep>\b[cp]h?ap-secrets\b[^\r\n]{0,20}?[\s:]\s{0,3}[^\s:]{1,60}\s{1,8}[^\s:]{1,60}\s{1,8}"
        r"|(?-i:\bIDENTIFY)\s{1,3}(?:[A-Za-z][\w-]{0,30}\s{1,3}(?=\S{6,60}(?:\s|$)))?"
        r"|\bconnect\sto\s\S{1,60}\suser\s\S{1,60}\susing\s{1,3}|\bdblogin\b[^\r\n]{0,60}?\bpassword\s{1,3}"
        r"|\bSQLConnectInfo\s{1,3}\S{1,100}\s{1,3}\S{1,60}\s{1,3}|(?-i:\bUSER\s{1,3}\S{1,60}\s{1,3}USING\s{1,3})[\"']?"
        r"|\bauth-user-pass\b[^\r\n]{0,40}?\s[^\s]{1,60}\r?\n|password-command[ =]{1,3}[\"']?echo\s{1,3})"
        r"(?P<likely>[^\s\"']{3,200})",
    ),
    "procedure": Row(
        ("login ", "password "),
        r"(?P<keep>\b(?:exec(?:ute)?|call)\s{1,3}[\w.]{0,60}(?:login|password)\s{0,3}\(?\s{0,3}N?'[^'\r\n]{0,100}',\s{0,3}N?')"
        r"(?P<likely>[^'\r\n]{3,200})",
    ),
    "wallet": Row(
        ("createcredential", "modifycredential"),
        r"(?P<keep>-(?:create|modify)Credential\s{1,3}[^\s\"']{1,200}\s{1,3}[^\s\"']{1,100}\s{1,3}[\"']?)[^\s\"']{1,200}",
    ),
    "pass_after_user": Row(
        ("pass ",),
        r"(?P<keep>(?-i:(?:^|[\r\n>])[^\w\r\n]{0,4}(?:\w{1,8}[:>] )?USER \S{1,100}\s{1,4}[^\r\n]{0,100}\s?"
        r"[^\w\r\n]{0,4}(?:\w{1,8}[:>] )?PASS ))[^\s'\"]{1,400}",
    ),
    "cisco": Row(
        ("password ", "secret ", "key "),
        r"(?P<keep>\b(?:password|secret|key)\s[045789]\s)(?:[0-9A-F]{6,200}(?![\w-])|\$\S{6,200})",
    ),
    "network": Row(
        ("-server ", "isakmp key ", "-psk ", "password 0 "),
        r"(?P<keep>\b(?:snmp-server\s{1,3}community|(?:tacacs|radius)-server\s(?:host\s\S{1,60}\s)?key|isakmp\skey|wpa-psk\sascii"
        r"|password\s0)\s{1,3}(?:[07]\s)?)(?P<likely>[^\s\"']{3,200})",
    ),
    "redis_args": Row(
        ("name: 'auth'", 'name: "auth"'),
        r"(?P<keep>args: \[ ?(?:[\"'][^\"'\r\n]{1,60}[\"'], ?)?[\"'])[^\"'\r\n]{1,400}"
        r"(?=[\"'] ?\][^\r\n]{0,40}name: [\"']auth)",
    ),
    "redis_auth": Row(
        ('"auth"', "'auth'"),
        r"(?P<keep>[\"']AUTH[\"']\s{1,3}(?:[\"'][^\"'\r\n]{1,60}[\"']\s{1,3})?[\"'])[^\"'\r\n]{1,400}",
    ),
    "redis_command": Row(
        ("auth ",),
        r"(?P<keep>(?-i:(?:^|[\r\n>(])[ ]{0,2}AUTH )(?!(?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5)\b)(?:[a-z][\w.-]{1,40} )?)"
        r"(?P<plausible>[^\s'\"()]{6,400})(?=\s{0,3}(?:[\r\n()]|$))",
    ),
    "mail_auth": Row(
        ("auth ",), r"(?P<keep>(?-i:\bAUTH (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5) ))[A-Za-z0-9+/]{12,4000}={0,2}"
    ),
    # What a mail server was told when it refused the login.
    "mail_refused": Row(
        ("535", "5.7.8", "4.7.0"),
        r"(?P<keep>\b(?:command|response\sto|reply\sto):?\s[\"'`(])(?-i:(?=[A-Z0-9+/]{0,200}[a-z])(?=[a-z0-9+/]{0,200}[A-Z]))[A-Za-z0-9+/]{12,400}={0,2}"
        r"(?=[\"'`)])",
    ),
    "mail_dialogue": Row(
        ("334 ",),
        r"(?P<keep>\b334 (?:UGFzc3dvcmQ6|VXNlcm5hbWU6)?[^\r\n]{0,8}(?:\r?\n|\\r\\n|\\n)"
        r"[^\r\n\w]{0,6}(?:\w{1,12}[:>] )?)"
        r"[A-Za-z0-9+/]{8,400}={0,2}(?=\s|\\|$)",
    ),
    "mail_login": Row(
        (" login ",),
        r"(?P<keep>(?:(?-i:\b(?:[A-Za-z]{1,6}[0-9]{1,6} )?LOGIN )|(?:^|[\r\n])[\w.]{1,8} login )\S{1,100} "
        r"(?P<mark>\")?)"
        r"(?(mark)(?P<likely>[^\"\r\n]{3,200})|(?P<plausible>[^\s\"]{1,200}))",
    ),
    "pass_command": Row(
        ("pass ",),
        r"(?P<keep>(?-i:(?:^|[\r\n'\">]|\bsen[td]:?)[ ]{0,2}PASS ))"
        r"(?:(?P<plausible>[^\s'\"/]{3,4000})|(?P<drawn>[^\s'\"]{3,4000}))(?=['\"]|\\r|\s{0,3}(?:[\r\n]|$))",
    ),
    "login_token": Row(
        ("login ",),
        r"(?P<keep>\b(?:cargo|npm|heroku|wandb|huggingface-cli|hf|fly|doctl|railway|vercel)\s{1,3}(?:auth\s{1,3})?login\s{1,3})"
        r"(?P<drawn>[A-Za-z0-9_.-]{16,400})",
    ),
    "stored": Row(
        ("secret set ", "secrets set ", "secret put ", "secrets put ", "secret add ", "secrets add ", "secret create "),
        r"(?P<keep>\bsecrets?\s{1,3}(?:set|put|add|create)\s{1,3}[\"']?[\w.:/-]{1,100}[\"']?[ =]{1,3}[\"']?)"
        r"(?P<plausible>[^\s\"'-][^\s\"']{5,400})",
    ),
    "object_store": Row(
        ("alias set ", "host add "),
        r"(?P<keep>\bmc\s{1,3}(?:alias\s{1,3}set|config\s{1,3}host\s{1,3}add)\s{1,3}\S{1,60}\s{1,3}\S{1,200}\s{1,3}\S{1,100}\s{1,3})"
        r"[^\s\"']{6,200}",
    ),
    "user_pass": Row(
        ("user-pass ",), r"(?P<keep>\buser-pass\s{1,3}[\w.@\\-]{1,60}\s{1,3})(?P<plausible>[^\s\"'()]{4,200})"
    ),
    # A line of a file with secrets, which a shell took for a command.
    "taken_for_command": Row(
        (": line ", "command not found", "/sh: ", "sh: 1: "),
        r"(?P<keep>\b(?:line\s[0-9]{1,6}:\s|(?:ba|da|z|k)?sh:\s[0-9]{1,6}:\s|command\snot\sfound:\s))"
        r"(?P<random>[A-Za-z0-9][A-Za-z0-9+/=_-]{19,400})(?=:\s(?:(?:command\s)?not\sfound|no\ssuch\sfile)|\s{0,3}$|[\r\n])",
    ),
    "user_flag": Row(
        ("-u", "-user", "--cert"),
        r"(?P<keep>(?<![\w-])(?:-u|--user|--proxy-user|--cert)[ =][\"']?[^\s:\"'<]{1,100}:)"
        r"(?!\$[A-Z_{(]|[<{]|[0-9]{1,6}(?:[\s\"']|$))[^\s\"']{1,400}",
    ),
    "short_login": Row(
        (" pass ", " -p ", " /p "),
        r"(?P<keep>(?:\buser\s{1,3}[^\s|,;]{1,100}\s{1,3}pass|(?<!\S)-u\s{1,3}[^\s|,;]{1,100}\s{1,3}-p"
        r"|(?<!\S)/u\s{1,3}[^\s|,;]{1,100}\s{1,3}/p)\s{1,3}[\"']?)(?P<plausible>[^\s|\"']{1,400})",
    ),
}
