"""splitwood beside other packages and plain numpy, in one run.

    make compare                                         everything: half an hour
    make compare COMPARE_ARGS=--quick                    the short run: under three minutes
    make compare COMPARE_ARGS="--only predict"           a part
    make compare COMPARE_ARGS="--cases 1m-depth6 --peers YDF LightGBM"

A whole run is written to docs/benchmarks, and its figures to the pages that name them; a part of
one is written to target/compare.
"""

from compare.command import main

if __name__ == "__main__":
    main(__doc__)
