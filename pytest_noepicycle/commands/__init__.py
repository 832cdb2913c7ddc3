"""The words of ``noepi``, one file each: its arguments, and the one function behind it."""
