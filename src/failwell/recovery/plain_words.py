"""The words of a failure that name no other thing than the one that is missing."""

from __future__ import annotations

import re
from typing import Final

_SMALL: Final = """
    a an the this that these those it its your you we our i there here no not any some such which who whose and or but
    so to of for from in on at by with within under as into is are was were be been being am does do did don doesn didn
    isn wasn couldn can cannot could may might must will would should has have had t s yet longer never please sorry
    want wanted requested request specified provided given supplied called named titled using used referenced entered
    following currently anymore anywhere nowhere now all
"""
# That something is not there, and that it was looked for.
_LACK: Final = """
    found find finding exist exists existing existent nonexistent missing unknown unable available known recognized
    registered configured located locate gone lookup lookups look looking up search searched searching match matches
    matched matching resolve resolved get got load read fetch fetched retrieve retrieved retrieving loading fetching
    access query see visible permission deleted removed invalid nothing zero none returned returns notfound locally
    exact valid
"""
# They say no more than the value beside them does, or are no things at all.
_GENERIC: Final = """
    record records entry entries item items object objects resource resources entity entities element row rows result
    results thing things id ids uuid guid key keys name names number numbers value values reference identifier code url
    uri relation column argument arguments parameter parameters param params input type kind line refspec
    pathspec src
"""
# How failures are announced, and by whom: nobody in particular.
_LABELS: Final = """
    error errors err exception exceptions failed failure fails fail fatal fault problem warning traceback status http
    https response respond responded server client api mcp rpc grpc graphql jsonrpc sql db database sqlite postgres
    postgresql mysql docker daemon remote tool tools runtime os errno bad internal e ns desc description message msg
    detail details reason cause info ok false true null occurred raised happened validation check aborted rest
    operation unsuccessful enoent graph ql g sq lite my postgre
"""
# Where things are that a tool looks for: to be missing there is to be missing.
_PLACES: Final = """
    ledger system store storage registry catalog catalogue inventory list records books workspace account project
    repository repositories repo organization organisation org team tenant namespace cluster bucket folder directory
    schema collection dataset site space region zone environment table server host machine
"""

PLAIN: Final = frozenset(" ".join((_SMALL, _LACK, _GENERIC, _LABELS)).split())
"""Words that may stand anywhere."""

PLACES: Final = frozenset(_PLACES.split())
"""Words that may stand after an "in"."""
IN: Final = frozenset("in on at within from under for".split())

# "in repository octo/hello", whether that was sent or not.
IN_NAMED: Final = re.compile(
    rf"(?i) (?:in|on|at|within|from|under|for) (?:the |this )?(?:{'|'.join(_PLACES.split())}) "
    r"(?-i:[\"'`][^\"'`\n]{1,80}[\"'`]|[\w./-]{0,80}[A-Z\d/_-][\w./-]{0,80})(?=[\s.,;)]|$)"
)

BEFORE: Final = PLAIN | frozenset(
    "when while during trying executing running calling requesting complete handle perform execute".split()
)
"""Words that may stand in front of the clause that says what is missing."""

LACKING: Final = re.compile(
    r"(?i)not[ _-]?(?:be )?(?:exact )?(?:found|find|exist|locate|resolve|available|known|match|registered|configured)"
    r"|n['’]t (?:exist|find|match|be found)|cannot (?:find|locate|resolve|be found)|\bno\b|unknown|missing|gone\b"
    r"|non-?exist|unable to|failed to (?:find|locate|resolve|get|load|fetch|retrieve)|enoent|[^\x00-\x7f]{2}"
)
"""That something is missing. What is said in other scripts is not looked at."""

# What programs say with more words than they mean; what is no group says nothing at all.
AT_LENGTH: Final = re.compile(
    r"(no such file or directory(?:, [a-z]{1,20}(?= ))?"
    r"|did not match any file\(s\) known to git|does not match any\b"
    r"|recipient address rejected: user unknown(?: in (?:virtual |local )?(?:mailbox |alias |recipient )?table)?)"
    r"|\brequest(?: id)?:? [\w-]{0,60}\d[\w-]{0,60}|the request to the \w{1,30} api failed"
    r"|\b(?:get|post|put|patch|delete) (?=https?://)"
    r"|\b(?:sqlalchemy|botocore|boto3|stripe|requests|httpx|urllib3|aiohttp|django|asyncpg|psycopg2?|pymongo|werkzeug"
    r"|googleapiclient|github|kubernetes|docker|starlette|fastapi)(?:\.\w{1,40}){0,4}\.(?=\w{1,80}:)"
    # The group of a kind in Kubernetes, and all of an ARN but the thing itself: arn:aws:lambda:eu:1:function:resize.
    r"|(?<=[a-z])\.(?:apps|batch|core|networking\.k8s\.io)\b|\barn:[\w-]{0,20}:[\w-]{0,40}:[\w-]{0,40}:\d{0,20}:",
    re.IGNORECASE,
)
