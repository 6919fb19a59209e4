"""Labels and conditions on them, of few keys and values, so that they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from extender.core.model.labels import Operator, Requirement

KEYS, VALUES = ("app", "tier"), ("a", "b", "c")

some_values = st.frozensets(st.sampled_from(VALUES), min_size=1)
requirements = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from((Operator.IN, Operator.NOT_IN)),
        some_values,
    ),
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from((Operator.EXISTS, Operator.DOES_NOT_EXIST)),
    ),
)
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
