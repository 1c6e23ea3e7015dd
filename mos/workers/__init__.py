"""Workers: plain processes that never lose a message (§2)."""
