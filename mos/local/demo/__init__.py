"""`mos demo`: real jobs on the local stack, real faults, and a verdict that means it (§5.3)."""
