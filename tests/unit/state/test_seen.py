from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inbox_app.state.seen import Seen

STRETCH = st.tuples(st.integers(0, 60), st.integers(0, 60))


@given(st.lists(STRETCH), st.integers(0, 50))
def test_what_is_missing_is_what_was_in_no_stretch(stretches: list[tuple[int, int]], height: int) -> None:
    seen = Seen()
    shown: set[int] = set()
    for top, bottom in stretches:
        seen.add(top, bottom)
        shown |= set(range(top, bottom))
    gaps = seen.missing(height)
    missing = [at for start, end in gaps for at in range(start, end)]
    assert missing == [at for at in range(height) if at not in shown]
    assert all(start < end for start, end in gaps)
