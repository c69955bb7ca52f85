"""Excel workbooks and JSON files: the same votes as in CSV."""

import io
import json
import zipfile
from xml.sax.saxutils import escape

import pytest

import veritally as vt

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = f'<Relationships xmlns="{PACKAGE}/relationships">{{}}</Relationships>'
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(**sheets):
    """The bytes of a workbook with sheets of rows."""
    buffer = io.BytesIO()
    parts = [
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{TYPE}.worksheet+xml"/>'
        for k in range(1, len(sheets) + 1)
    ]
    names = [f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>' for k, name in enumerate(sheets, 1)]
    links = [
        f'<Relationship Id="r{k}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(sheets) + 1)
    ]
    book = f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    default = f'<Default Extension="rels" ContentType="{PACKAGE}/relationships+xml"/>'.replace(
        "http://schemas.openxmlformats.org/package/2006/", "application/vnd.openxmlformats-package."
    )
    own = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">{default}{book}{"".join(parts)}</Types>',
        "_rels/.rels": RELATIONS.format(own),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets>{"".join(names)}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": RELATIONS.format("".join(links)),
    }
    files |= {f"xl/worksheets/sheet{k}.xml": _sheet(rows) for k, rows in enumerate(sheets.values(), 1)}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return buffer.getvalue()


def _sheet(rows):
    text = "".join(
        f'<row r="{i}">{"".join(_cell(f"{chr(65 + j)}{i}", cell) for j, cell in enumerate(row))}</row>'
        for i, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{SHEET}"><sheetData>{text}</sheetData></worksheet>'


def _cell(at, cell):
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f'<c r="{at}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{at}"><v>{cell}</v></c>'


TIDY = [["voter", "alternative", "value", "count"], ["u", "A", 1.5, 3], ["u", "B", 2, 1], ["v", "A", -1, 2]]
TEXT = "".join(",".join(map(str, row)) + "\n" for row in TIDY)


def test_the_first_sheet_is_read(same_as_tidy):
    same_as_tidy(workbook(Votes=TIDY, Notes=[["x"]]), TEXT, "votes.xlsx")
    same_as_tidy(workbook(Votes=TIDY), TEXT, "votes")  # by the content
    same_as_tidy(workbook(Votes=[*TIDY, [None, None], [None, None]]), TEXT, "votes.xlsx")


def test_reviews_in_a_workbook(same_as_tidy):
    header = ["#", "submission #", "member name", "number", "version", "scores", "total score"]
    rows = [[1, 5, "Ann", 1, 1, "Overall evaluation: 2\nReviewer's confidence: 4", 2]]
    rows += [[2, 6, "Ann", 1, 1, "Overall evaluation: -1\nReviewer's confidence: 3", -1]]
    rows += [[3, 6, "Bo", 2, 1, "Overall evaluation: 1\nReviewer's confidence: 5", 1]]
    tidy = "voter,alternative,value,confidence\nAnn,5,2,4\nAnn,6,-1,3\nBo,6,1,5\n"
    same_as_tidy(workbook(Reviews=[header, *rows]), tidy, "review.xlsx")


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        (
            {"Cover": [], "Votes": TIDY},
            "the first sheet, Cover, has no table, and only that is read; the others are Votes",
        ),
        ({"Votes": TIDY[:1]}, "the first sheet, Votes, has no table, and only that is read; the others are none"),
        ({"Votes": [["voter", "voter"], ["u", "v"]]}, "the column voter appears twice"),
        ({"Votes": [*TIDY, ["v", "B", "x", 1]]}, "votes.xlsx, row 5: 'x' in the column value is not a number"),
    ],
)
def test_bad_workbooks(votes, sheets, sentence):
    with pytest.raises(vt.InputError, match=sentence):
        votes(workbook(**sheets), "votes.xlsx")


def test_damaged_workbooks(votes):
    for data in (b"PK\x03\x04 and so on", b"voter,alternative\n", workbook(Votes=TIDY)[:400]):
        with pytest.raises(vt.InputError, match=r"votes.xlsx: is not a readable workbook \(.*\); save it as CSV"):
            votes(data, "votes.xlsx")


# JSON files

ROWS = [dict(zip(TIDY[0], row, strict=True)) for row in TIDY[1:]]


def test_an_array_of_objects(same_as_tidy):
    same_as_tidy(json.dumps(ROWS), TEXT, "votes.json")
    same_as_tidy("\ufeff" + json.dumps(ROWS, indent=2), TEXT, "votes")
    same_as_tidy(json.dumps({"votes": ROWS, "title": "Panel"}), TEXT, "votes.json")
    same_as_tidy("\n".join(map(json.dumps, ROWS)), TEXT, "votes.json")  # one object a line after all


def test_json_files_are_written_too(tmp_path):
    profile = vt.Profile(values=[[1.0, 2.0]], counts=[[1, 5]])
    vt.write(profile, tmp_path / "votes.json")
    assert vt.read(tmp_path / "votes.json").counts.tolist() == [[1, 5]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[{"voter": 1}, 2]', "holds no array of JSON objects; give one object for each row"),
        ("[]", "holds no array of JSON objects"),
        ("7", "holds no array of JSON objects"),
        ('[{"voter": 1', "is not a well-formed JSON file"),
        ('{"voter": 1', "is not one JSON object a line"),
        ("[" * 100 + "]" * 100, "is nested more than 32 deep"),
    ],
)
def test_bad_json(votes, text, sentence):
    with pytest.raises(vt.InputError, match=sentence) as caught:
        votes(text, "votes.json")
    assert "\n" not in str(caught.value)
