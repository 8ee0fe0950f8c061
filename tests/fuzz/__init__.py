"""A fuzzer of the three formats: files are grown, broken and judged by the peers."""
