"""What a candidate costs: every way to run one test, side by side."""
