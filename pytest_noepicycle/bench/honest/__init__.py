"""Honest work before the court: faults planted in sound programs, and their true fixes offered as patches."""
