"""What results depend on beside this package."""

import importlib

from veritally.origins import code_of


def test_what_a_rule_of_ones_own_imports_from_beside_it_counts_as_its_code(tmp_path, monkeypatch):
    (tmp_path / "beside_it.py").write_text("SIGN = 1\n")
    (tmp_path / "own_rule.py").write_text("import beside_it\n\nclass Own:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    own_rule = importlib.import_module("own_rule")
    before = code_of(own_rule.Own)
    assert set(before) == {"own_rule", "beside_it"}
    (tmp_path / "beside_it.py").write_text("SIGN = -1\n")
    assert code_of(own_rule.Own) != before
