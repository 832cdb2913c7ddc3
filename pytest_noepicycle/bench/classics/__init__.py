"""Small classical programs with typical slips: how many of them the local search mends, and how soon."""
