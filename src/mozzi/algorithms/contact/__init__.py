"""Bodies that touch: gaps, rows, and the step with impacts, friction and limits."""
