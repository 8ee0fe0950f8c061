"""The slow, obvious twins of the algorithms: what tests compare with."""
