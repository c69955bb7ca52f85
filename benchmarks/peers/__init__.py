"""Other libraries beside our rules, on the same votes; ``make peers`` measures and reports.

In benchmarks/, ``python -m peers`` measures what is not there yet and writes docs/peers; ``python -m peers report``
does not measure.
"""
