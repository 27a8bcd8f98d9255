"""How fast the gateway is, beside what could have been built instead: `./run bench --help`.

Contestants (`contestants.py`) answer the same works (`works.py`) over the same seeded data (`data.py`); a process of
its own asks them (`load.py`), in interleaved rounds (`measure.py`), after their answers were found equal
(`answers.py`).
"""
