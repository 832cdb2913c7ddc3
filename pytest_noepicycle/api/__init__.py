"""The Python API: a supervisor over tests, a scorer and inner loops of the caller's own."""
