"""Where a value stands in a JSON text."""

from __future__ import annotations

from runtime_core.repo.position import locate

TEXT = """\
{
  "a": [1, {"b": "}"},
    {"b\\"": 2, "c": null}
  ], "d": {"a": 3}
}
"""


def test_members_are_found_at_their_key_and_elements_where_they_begin() -> None:
    assert locate(TEXT, ()) == (1, 1)
    assert locate(TEXT, ("a",)) == (2, 3)
    assert locate(TEXT, ("a", 1)) == (2, 12)
    assert locate(TEXT, ("a", 2, 'b"')) == (3, 6)
    assert locate(TEXT, ("a", 2, "c")) == (3, 16)
    assert locate(TEXT, ("d", "a")) == (4, 12)


def test_a_path_that_ends_early_points_at_the_nearest_parent() -> None:
    assert locate(TEXT, ("d", "missing", 3)) == (4, 6)
    assert locate(TEXT, ("a", 9)) == (2, 3)
    assert locate(TEXT, ("a", "b")) == (2, 3)
    assert locate("\ufeff {}", ("x",)) == (1, 3)
