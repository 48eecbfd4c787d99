"""Answers to rows one by one, joined: each half stays what it is."""

import numpy as np

from rigpact.reference_runtime.network_rounding.rounding_of_network import BoundedAnswer


def test_joined_answers_keep_the_numbers_apart_from_their_bounds() -> None:
    """With the bounds in place of the numbers, an honest engine whose model has a batch of 1 fails its gate."""
    answers = [
        BoundedAnswer([np.array([[first, 2.0]])], lambda bound=bound: [np.array([[bound, 0.5]])])
        for first, bound in ((1.0, 0.1), (3.0, 0.2))
    ]
    joined = BoundedAnswer.joined(answers)
    np.testing.assert_array_equal(joined.exact[0], [[1.0, 2.0], [3.0, 2.0]])
    np.testing.assert_array_equal(joined.bound[0], [[0.1, 0.5], [0.2, 0.5]])
