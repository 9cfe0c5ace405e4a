"""Parts of the benchmarks against other packages, which the scripts beside this folder put together."""
