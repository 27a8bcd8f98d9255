"""Measures how deep JSON of others stands in itself, without going down: more than can be handled is told."""


def depth_of(value: object) -> int:
    """Says how deep objects and lists stand in one another."""
    depth, level = 0, [value]
    while level:
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(inner, dict | list)
        ]
        depth += 1
    return depth
