"""Well-formed files of every form, from which the broken ones are made."""

import io
import json
import zipfile
from typing import NamedTuple

import polars as pl

TIDY = """\
decision,voter,alternative,rank,value,count,multiplicity
d1,u,A,1,2.5,40,1
d1,u,B,2,1.5,3,1
d1,u,C,,,0,1
d1,v,A,2,-1,5,2
d1,v,B,1,0.5,7,2
d2,u,X,1,3,1,1
d2,u,Y,2,2,9,1
d2,w,X,1,1e3,2.5,1
d2,w,Y,,,12,1
"""
PLAIN = "voter,alternative,value\nu,A,1.5\nu,B,-2\nv,A,0.25\nv,B,3\nw,B,1\n"
RANKED = "Voter,Alternative,Rank,Count,colour\nu,A,1,3,red\nu,B,2,3,blue\nv,A,2,1,\nv,B,1,9,red\n"
EUROPEAN = "voter;alternative;value;count\nu;A;1,5;3\nu;B;2,25;1\nv;A;0,5;2\nv;B;1;4\n"
WIDE = (
    "decision,voter,A,B,C,A_count,B_count,C_count\nd,u,1,2,,5,5,0\nd,v,,1,2,2,3,1\ne,u,3,1,2,1,1,1\ne,v,1,2,3,4,4,4\n"
)
BARE = "voter,A,B,C\nu,-1.5,2,0\nv,3,2.5,\nw,1,,2\n"
COUNTS = "voter,A,B,C\nw,3,0,1\nu,1,2,3\nv,4,5,6\n"
ORDER_TABLE = 'decision,voter,order,multiplicity\nd,u,A > B = C,1\nd,v,"B > A, or so",2\ne,u,X > Y,1\ne,w,Y > X,3\n'
ORDERS = "# Of a panel\nA (5) > B (5)\n\n2: B (3) > C (1) > A (2)  # twice\nC (1) = B (2)\n"
PLAIN_ORDERS = "A > B > C\nB = C > A\n3: C > A\n"
COMPARISONS = """\
decision,judge,model_a,model_b,winner,times,multiplicity
d,u,A,B,model_a,2,1
d,u,B,C,tie (bothbad),1,1
d,v,A,C,C,1,3
e,v,C,A,b,1,1
e,u,A,B,left,4,1
"""
CROWD = "worker,left,right,winner\nu,A,B,A\nu,B,C,left\nv,A,C,C\n"
LOOKS = """\
decision,voter,alternative,item,value,group
d,u,A,p1,1.5,lab
d,u,A,p2,2,lab
d,u,B,p1,0.5,lab
d,v,A,p1,1,
d,v,B,p1,3,
d,v,B,p2,-1,
e,u,A,p1,2,lab
e,u,B,p1,1,lab
"""
ROLES = """\
voter,alternative,rank,confidence,group,role
u,A,1,3,lab,left
u,B,2,5,lab,right
v,A,2,1,,right
v,B,1,2,,
"""
REVIEWS = """\
reviewer name,reviewer email,paper id,title,overall_merit,Reviewer's confidence,decision,version
ann,a@x,1,One,6: weak accept,3: fairly confident,Accept (poster),1
ann,a@x,2,Two,3: reject,4: confident,Reject,1
bo,b@x,1,One,8: accept,4: confident,Accept (poster),1
bo,b@x,1,One,7: accept,5: certain,Accept (poster),2
"""
EASYCHAIR = """\
#,submission #,member #,member name,number,version,text,scores,total score,reviewer first name,reviewer last name,\
date,time
1,5,1,Ann,1,1,Good,"Overall evaluation: 2
Reviewer's confidence: 4",2,,,2024-05-01,10:00
2,6,1,Ann,1,1,Bad,"Overall evaluation: -2
Reviewer's confidence: 3",-2,Eve,Eff,2024-05-01,10:00
3,6,2,Bo,2,1,Fine,"Overall evaluation: 1
Reviewer's confidence: 5",1,,,2024-05-02,11:00
"""
HOTCRP = """\
paper,title,review,reviewername,email,Overall merit,Reviewer expertise,Paper summary
1,One,1A,Ann,a@x,4,3,Text
1,One,1B,,,2,2,Text
2,Two,2A,Ann,a@x,5,4,Text
"""
BATTLES = """\
question_id,model_a,model_b,winner_model_a,winner_model_b,winner_tie,judge_hash
1,A,B,1,0,0,u
2,B,C,0,0,1,u
3,A,C,0,1,0,v
"""
CHOICES = "annotator,option 1,option 2,choice\nu,A,B,first\nu,B,C,both_bad\nv,A,C,2\n"
FORM = """\
Timestamp,Email Address,How good? [A],How good? [B],Comments
1/2/2024 10:00:00,a@x,5 - Excellent,3 - Fair,no
1/2/2024 10:00:01,b@x,4 - Good,1 - Poor,
"""
PLACES = "ID,Start time,Name,A,B,C\n1,1/2/24,u,1st choice,2nd choice,3rd choice\n2,1/2/24,v,2nd choice,1st choice,\n"
JUDGED = "judge,model,prompt,score\nj,A,p1,4/5\nj,B,p1,7/10\nj,A,p2,3/5\nk,A,p1,2/5\nk,B,p1,9/10\n"
NOTES = [
    {
        "forum": forum,
        "number": number,
        "signatures": [f"X.cc/2024/Conference/Submission{number}/Reviewer_{name}"],
        "content": {"rating": {"value": rating}, "confidence": {"value": "3: fairly"}, "title": {"value": "Review"}},
    }
    for number, (forum, name, rating) in enumerate(
        [("f", "ab12", "6: good"), ("f", "cd34", "3: bad"), ("g", "ef56", "8: yes")]
    )
]
SCORES = [{"judge": judge, "item": item, "scores": {"A": 7, "B": 5.5}} for judge in "jk" for item in "pq"]
RANKINGS = [{"judge": judge, "item": item, "ranking": ["B", "A", "C"]} for judge in "jk" for item in "pq"]
WINNERS = [{"judge": j, "item": i, "candidates": ["A", "B", "C"], "winner": "B"} for j in "jk" for i in "pq"]
LOGS = (NOTES, SCORES, RANKINGS, WINNERS)
EXPORTS = (REVIEWS, EASYCHAIR, HOTCRP, BATTLES, CHOICES, FORM, PLACES, JUDGED)
TRUTH = "decision,alternative,truth\nd1,A,1\nd1,B,0.5\nd1,C,-2\nd2,X,0\nd2,Y,1e3\n"

_HEADER = """\
# FILE NAME: fuzz.{kind}
# TITLE: A panel
# DESCRIPTION:
# DATA TYPE: {kind}
# MODIFICATION TYPE: original
# RELATES TO:
# RELATED FILES:
# PUBLICATION DATE: 2020-01-01
# MODIFICATION DATE: 2020-01-01
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: A
# ALTERNATIVE NAME 2: B
# ALTERNATIVE NAME 3: C
"""
PREFLIB = {
    "soc": _HEADER.format(kind="soc", voters=5) + "3: 1,2,3\n2: 3,1,2\n",
    "soi": _HEADER.format(kind="soi", voters=4) + "3: 1,2\n1: 3\n",
    "toc": _HEADER.format(kind="toc", voters=4) + "3: 1,{2,3}\n1: {1,2,3}\n",
    "toi": _HEADER.format(kind="toi", voters=4) + "3: {1,2}\n1: 3,{1,2}\n",
}


def workbook(text: str) -> bytes:
    """Return a workbook with the rows of a CSV, all as text."""
    kinds = "http://schemas.openxmlformats.org"
    sheet = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in line.split(",")) + "</row>"
        for line in text.split()
    )
    link = '<Relationship Id="r1" Type="{0}/officeDocument/2006/relationships/{1}" Target="{2}"/>'
    links = '<Relationships xmlns="{0}/package/2006/relationships">' + link + "</Relationships>"
    main = f'xmlns="{kinds}/spreadsheetml/2006/main"'
    names = '<sheets><sheet name="Votes" sheetId="1" r:id="r1"/></sheets>'
    files = {
        "_rels/.rels": links.format(kinds, "officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{kinds}/officeDocument/2006/relationships">{names}</workbook>',
        "xl/_rels/workbook.xml.rels": links.format(kinds, "worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{sheet}</sheetData></worksheet>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


class Seed(NamedTuple):
    """A well-formed file: its suffix and content, and what has to be said of it to read it."""

    suffix: str
    data: bytes
    options: dict[str, str]


def _seed(suffix: str, text: str, **options: str) -> Seed:
    return Seed(suffix, text.encode(), options)


def table(text: str) -> pl.DataFrame:
    """Return the table of a CSV, numbers as numbers."""
    return pl.read_csv(io.BytesIO(text.encode()))


def json_lines(text: str) -> str:
    """Return the rows of a CSV as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in table(text).rows(named=True))


TABLES = (TIDY, PLAIN, RANKED, WIDE, BARE, ORDER_TABLE, COMPARISONS, CROWD, LOOKS, ROLES)
SAID = {WIDE: {"ballots": "rank"}, BARE: {"ballots": "value"}, FORM: {"ballots": "value"}}

VOTES = (
    *(_seed(".csv", text, **SAID.get(text, {})) for text in (*TABLES, EUROPEAN, *EXPORTS)),
    *(_seed(".jsonl", "".join(json.dumps(row) + "\n" for row in rows)) for rows in LOGS),
    *(_seed(".json", json.dumps(rows)) for rows in LOGS),
    Seed(".xlsx", workbook(PLAIN), {}),
    *(_seed(".tsv", text.replace(",", "\t"), **SAID.get(text, {})) for text in (TIDY, WIDE, COMPARISONS)),
    *(_seed(".jsonl", json_lines(text), **SAID.get(text, {})) for text in TABLES),
    *(_seed(suffix, text) for suffix in (".orders", ".txt") for text in (ORDERS, PLAIN_ORDERS)),
    *(_seed(f".{kind}", text, unranked="below") for kind, text in PREFLIB.items()),
    _seed(".txt", PREFLIB["toi"], unranked="unknown"),
)
TRUTHS = (_seed(".csv", TRUTH), _seed(".jsonl", json_lines(TRUTH)))  # of TIDY
